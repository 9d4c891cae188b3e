"""What every target takes over time: as a picture in a file, and as a line per target on the terminal."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType

from controlplane.cli.errors import CliError
from controlplane.commands.previews.drain_figures import targets_over_time
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from planner.drain.model.plan import Schedule
from planner.drain.model.state import ClusterState, Floats, Int64s

SUFFIXES = (".png", ".svg")
BLOCKS = " ▁▂▃▄▅▆▇█"
DIGITS = ".123456789"
"""For streams that take no block characters: 9 is all the broker may take."""

_BINS = 60
_MOST_LINES = 24
_MOST_LABELS = 40


def ingress_lines(
    state: ClusterState, schedule: Schedule, makespan_s: float, *, blocks: bool
) -> Iterator[RenderableType]:
    """A line per target; nothing where nothing is copied."""
    taken = targets_over_time(state, schedule, makespan_s, bins=_BINS)
    if taken is None:
        return
    rows, series = taken
    marks = BLOCKS if blocks else DIGITS
    share = series / state.brokers.ingress_bytes_per_s[rows][:, None]
    steps = np.clip(np.ceil(share * (len(marks) - 1) - 1e-6), 0, len(marks) - 1).astype(int)
    yield ""
    yield f"ingress per target from 0 to {human_seconds(makespan_s)}; `{marks[-1]}` is all that migration may use"
    ids = state.brokers.id[rows].tolist()
    width = max(len(str(broker)) for broker in ids)
    for broker, line in list(zip(ids, steps, strict=True))[:_MOST_LINES]:
        yield styled(f"{broker:>{width}}  {''.join(marks[step] for step in line)}")
    if len(ids) > _MOST_LINES:
        yield f"and {len(ids) - _MOST_LINES} more: --plot FILE.svg shows all"


def check_plot_path(path: Path) -> None:
    """Before anything is computed. Raises CliError."""
    if path.suffix.lower() not in SUFFIXES:
        from controlplane.cli.state_inputs import usage

        raise usage(
            f"{path} is not a picture", why=f"it ends in {path.suffix or 'nothing'}", next_step="FILE.svg or FILE.png"
        )


def draw(path: Path, state: ClusterState, schedule: Schedule, *, makespan_s: float, bound_s: float, title: str) -> bool:
    """Writes the picture: a row per target, colour for what it takes, a dashed line at the bound of the time.

    The same plan gives the same bytes. False, and no file, where nothing is copied. Raises CliError.
    """
    taken = targets_over_time(state, schedule, makespan_s, bins=240)
    if taken is None:
        return False
    import matplotlib

    matplotlib.use("agg" if path.suffix.lower() == ".png" else "svg")
    from matplotlib import pyplot

    rows, series = taken
    with matplotlib.rc_context({"svg.hashsalt": "kedge", "svg.fonttype": "none"}):
        height = min(12.0, 1.6 + 0.25 * len(rows))
        figure, axes = pyplot.subplots(figsize=(10, height), layout="constrained")
        image = _map(axes, state, rows, series, makespan_s)
        if math.isfinite(bound_s):
            axes.axvline(bound_s / 60, color="black", linestyle="--", linewidth=1)
        axes.set(title=title, xlabel="minutes since the first copy; dashed: no plan ends earlier", ylabel="target")
        figure.colorbar(image, ax=axes, label="MB/s taken")
        try:
            figure.savefig(
                path, metadata={"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}, dpi=120
            )
        except OSError as error:
            raise CliError("cannot write the picture", where=str(path), why=error.strerror or "") from None
        finally:
            pyplot.close(figure)
    return True


def _map(axes: Any, state: ClusterState, rows: Int64s, series: Floats, makespan_s: float) -> Any:
    top = float(state.brokers.ingress_bytes_per_s[rows].max()) / 1e6
    extent = (0, makespan_s / 60, len(rows), 0)
    image = axes.imshow(
        series / 1e6, aspect="auto", extent=extent, vmin=0, vmax=top, interpolation="nearest", rasterized=True
    )
    axes.set_xlim(0, makespan_s / 60 * 1.01)
    if len(rows) <= _MOST_LABELS:
        axes.set_yticks(np.arange(len(rows)) + 0.5, [str(b) for b in state.brokers.id[rows].tolist()])
    return image
