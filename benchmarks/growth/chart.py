"""The growth plot: seconds and memory against partitions, both axes logarithmic."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


def draw(points: Sequence[dict[str, Any]], directory: Path = IMAGES) -> Path:
    """Writes growth.svg and returns its path. The same points give the same bytes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "kedge"
    from matplotlib import pyplot

    partitions = [point["partitions"] for point in points]
    figure, (seconds, memory) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for key, label in (("plan_s", "plan"), ("bounds_s", "bounds"), ("replay_s", "replay")):
        seconds.plot(partitions, [max(point[key], 1e-3) for point in points], marker="o", label=label)
    memory.plot(partitions, [point["peak_mib"] for point in points], marker="o", label="peak of the process")
    memory.plot(partitions, [point["drawn_mib"] for point in points], marker="o", label="the cluster drawn, no plan")
    for axes, unit in ((seconds, "seconds, warm"), (memory, "MiB")):
        axes.set(xscale="log", yscale="log", xlabel="partitions of one cluster, RF 3", ylabel=unit)
        axes.grid(visible=True, which="both", alpha=0.25)
        axes.legend()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "growth.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path
