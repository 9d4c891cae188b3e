"""The growth plot: the same points give the same bytes, so a new commit of it means new figures."""

from pathlib import Path

from benchmarks.growth.chart import draw

POINTS = [
    {"partitions": n, "plan_s": n / 1e6, "bounds_s": 0.0, "replay_s": 0.1, "peak_mib": 200 + n / 1e4, "drawn_mib": 200}
    for n in (10_000, 100_000)
]


def test_the_plot_is_the_same_every_time_and_changes_with_its_points(tmp_path: Path) -> None:
    first, again = (draw(POINTS, tmp_path / name).read_bytes() for name in ("first", "again"))
    other = draw([*POINTS[:1], {**POINTS[1], "plan_s": 9.0}], tmp_path / "other").read_bytes()
    assert first == again
    assert first != other
