"""The pictures of docs/planning.md, drawn from real plans: `python -m benchmarks.drain.pictures`.

What each target takes over time, once as planned and once with the same targets, but every copy at once and read from
the leader of the moment, as a plan without sources and slots is executed.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.drain.ours import planned
from benchmarks.drain.states import state
from planner.drain.bounds import bounds_of
from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.state import NO_BROKER, ClusterState
from planner.drain.replay import ingress_series, replay

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
STATES = ("c60", "c60x")


def main() -> None:
    for name in STATES:
        print(draw(name))


def draw(name: str, directory: Path = IMAGES) -> Path:
    """Writes ingress-<name>.svg: two maps over one time axis, a row per target, the bound L2 as a line."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "kedge"
    from matplotlib import pyplot

    cluster = state(name)
    ours = planned(cluster)
    variants = {"as planned": ours, "same targets, all at once, read from the leaders": careless(ours)}
    bound_s = bounds_of(cluster).makespan_s
    ends_s = {title: replay(cluster, schedule).makespan_s for title, schedule in variants.items()}
    figure, rows = pyplot.subplots(len(variants), 1, figsize=(10, 6), sharex=True, layout="constrained")
    for axes, (title, schedule) in zip(rows, variants.items(), strict=True):
        image = _map(axes, cluster, schedule, ends_s[title])
        axes.axvline(bound_s / 3600, color="black", linestyle="--", linewidth=1)
        axes.set(title=f"{title}: {ends_s[title] / bound_s:.3f} times the bound", ylabel="target")
        figure.colorbar(image, ax=axes, label="MB/s taken")
    rows[-1].set(xlabel="hours since the first copy; dashed: the bound L2", xlim=(0, max(ends_s.values()) / 3600))
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"ingress-{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path


def careless(schedule: Schedule) -> Schedule:
    """The same lists without what a drain plan adds: no source, no slots, no throttle."""
    return replace(
        schedule,
        source=np.full_like(schedule.source, NO_BROKER),
        slots_in=np.full_like(schedule.slots_in, UNLIMITED_SLOTS),
        slots_out=np.full_like(schedule.slots_out, UNLIMITED_SLOTS),
        throttle_in_bytes_per_s=np.full_like(schedule.throttle_in_bytes_per_s, np.inf),
        throttle_out_bytes_per_s=np.full_like(schedule.throttle_out_bytes_per_s, np.inf),
    )


def _map(axes: Any, cluster: ClusterState, schedule: Schedule, makespan_s: float) -> Any:
    series = ingress_series(cluster, schedule, makespan_s)
    takes = series.bytes_per_s.max(axis=1) > 0
    top = float(cluster.brokers.ingress_bytes_per_s.max()) / 1e6
    extent = (0, makespan_s / 3600, int(takes.sum()), 0)
    return axes.imshow(series.bytes_per_s[takes] / 1e6, aspect="auto", extent=extent, vmin=0, vmax=top, rasterized=True)


if __name__ == "__main__":
    main()
