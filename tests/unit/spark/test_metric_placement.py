"""Past placement from a Delta table, with no JVM on either side."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from deltalake import write_deltalake

from agent.metrics_message import PartitionFigures
from spark.metrics.columns import to_table
from spark.metrics.kernel import WindowFigures, windows_of_broker
from spark.metrics.placement import Held, read_placement
from spark.metrics.wire import decode
from tests.metric_messages import START_MS, a_message, a_partition

START = datetime.fromtimestamp(START_MS / 1000, UTC)


def told(
    *minutes: int, broker: int = 1001, width_s: int = 300, partitions: list[PartitionFigures]
) -> list[WindowFigures]:
    """The window of one broker."""
    messages = [decode(a_message(m, broker=broker, partitions=partitions).encode()) for m in minutes]
    return [w for w in windows_of_broker(messages, width_ms=width_s * 1000) if w.width_ms == width_s * 1000]


def lake_with(root: Path, *windows: list[WindowFigures]) -> str:
    rows = to_table([window for some in windows for window in some])
    write_deltalake(root / "windows", rows, partition_by=["width_s", "day"])
    return str(root)


LEADS = [a_partition(0, log_bytes=900), a_partition(1, log_bytes=70, in_bytes=None, out_bytes=None)]
FOLLOWS = [a_partition(0, log_bytes=880, in_bytes=None, out_bytes=None)]


def test_a_window_tells_who_held_who_led_and_how_large_the_log_was(tmp_path: Path) -> None:
    lake = lake_with(tmp_path, told(*range(5), partitions=LEADS), told(*range(5), broker=1002, partitions=FOLLOWS))
    found = read_placement(lake, "c1", at=START + timedelta(minutes=3))
    assert found.by_partition == {
        ("orders", 0): Held((1001, 1002), (1001,), 900),
        ("orders", 1): Held((1001,), (), 70),
    }
    assert (found.brokers, found.start, found.end) == ((1001, 1002), START, START + timedelta(minutes=5))
    assert (found.completeness, bool(found)) == (1.0, True)
    assert found.reason.startswith("2 partitions, told by 2 brokers from ")
    assert found.reason.endswith("100% complete: who held and who led each, not who was in sync")


def test_the_narrowest_window_that_covers_the_moment_counts(tmp_path: Path) -> None:
    hour = told(*range(60), width_s=3600, partitions=[a_partition(9)])
    five = told(*range(5), partitions=[a_partition(5)])
    minute = told(2, width_s=60, partitions=[a_partition(1)])
    lake = lake_with(tmp_path, hour, five, minute)
    at = {minutes: read_placement(lake, "c1", at=START + timedelta(minutes=minutes)) for minutes in (2, 3, 5)}
    assert [list(found.by_partition) for found in at.values()] == [[("orders", 1)], [("orders", 5)], [("orders", 9)]]


def test_a_moment_belongs_to_the_window_that_begins_with_it(tmp_path: Path) -> None:
    first, then = told(*range(5), partitions=[a_partition(0)]), told(*range(5, 10), partitions=[a_partition(1)])
    found = read_placement(lake_with(tmp_path, first, then), "c1", at=START + timedelta(minutes=5))
    assert list(found.by_partition) == [("orders", 1)]


def test_an_hour_that_began_before_midnight_is_found_after_it(tmp_path: Path) -> None:
    to_midnight = int((START.replace(hour=23, minute=0) - START).total_seconds() // 60)
    late = told(to_midnight + 59, width_s=3600, partitions=[a_partition(0)])
    lake = lake_with(tmp_path, late)
    assert read_placement(lake, "c1", at=START.replace(hour=23, minute=59))
    missed = read_placement(lake, "c1", at=START.replace(hour=0) + timedelta(days=1))
    assert not missed


def test_a_broker_that_said_nothing_is_not_among_those_who_told(tmp_path: Path) -> None:
    half = told(0, 1, partitions=LEADS)
    found = read_placement(lake_with(tmp_path, half), "c1", at=START)
    assert found.brokers == (1001,)
    assert found.completeness == 0.4


def test_what_is_not_kept_is_told_as_such(tmp_path: Path) -> None:
    lake = lake_with(tmp_path / "lake", told(*range(5), partitions=LEADS))
    for where, cluster, at in (
        (str(tmp_path / "nowhere"), "c1", START),
        (lake, "c2", START),
        (lake, "c1", START + timedelta(minutes=5)),
        (lake, "c1", START - timedelta(days=500)),
    ):
        found = read_placement(where, cluster, at=at)
        assert not found
        assert found.reason.startswith("not kept: ")
