"""A disk that will be full is told in time, the more urgent the nearer; what is unknown is told of nobody."""

from datetime import date, timedelta

import pytest

from controlplane.background.anomalies.evidence import SeenCluster, evidence
from controlplane.background.anomalies.forecasts import forecasts_of, short_capacity
from controlplane.cluster.condition_severity import Severity, severity_of_anomaly
from planner.anomalies.kinds import Kind
from planner.forecasts.trend import Trend
from planner.observed import KafkaSnapshot, LogDirsSeen
from spark.metrics.read_trends import ClusterTrends
from tests.builders import NOW, a_snapshot, a_view, an_instance

GIB = 2**30
TODAY = date(2026, 3, 9)
BROKER = an_instance("brokers-a-0", 1)


def grown(per_day: float, *, made: date = TODAY, unknown: str = "") -> ClusterTrends:
    disk = Trend("disk", 20, 50.0 * GIB, per_day, per_day * 0.8, per_day * 1.25, unknown)
    return ClusterTrends(made, {BROKER.service_id: (disk, Trend("cpu", 3, unknown="3 of 7 days are known"))})


def kafka(*, free_gib: int = 50) -> KafkaSnapshot:
    disk = LogDirsSeen(10, 50 * GIB, total_bytes=100 * GIB, usable_bytes=free_gib * GIB)
    return a_snapshot(log_dirs={BROKER.service_id: disk})


@pytest.mark.parametrize(
    ("per_day", "subjects", "severity"),
    [
        (9 * GIB, ["brokers-a-0/disk/week"], Severity.CRITICAL),
        (2 * GIB, ["brokers-a-0/disk/month"], Severity.WARNING),
        (0.5 * GIB, [], None),
        (-GIB, [], None),
    ],
    ids=["this week", "this month", "in three months", "shrinks"],
)
def test_a_disk_is_told_by_how_soon_it_is_full(per_day: float, subjects: list[str], severity: Severity | None) -> None:
    view = a_view(BROKER)
    found = [*short_capacity(view, forecasts_of(view, kafka(), grown(per_day), TODAY))]
    assert [one.subject for one in found] == subjects
    for one in found:
        assert severity_of_anomaly(one.kind, one.subject) is severity
        assert one.reason.startswith("broker 1000, disk: full in about ")
        assert one.reason.endswith("by 20 days")


def test_room_is_what_is_free_now() -> None:
    view = a_view(BROKER)
    disk, _ = forecasts_of(view, kafka(free_gib=25), grown(2 * GIB), TODAY)[BROKER.service_id]
    assert (disk.earliest, disk.likely, disk.latest) == (pytest.approx(8), pytest.approx(10), pytest.approx(12.5))


@pytest.mark.parametrize(
    ("kafka", "trends"),
    [(None, grown(9 * GIB)), (kafka(), grown(9 * GIB, unknown="2 of 7 days are known"))],
    ids=["nobody has told the disk", "too young"],
)
def test_what_is_unknown_says_so_and_is_told_of_nobody(kafka: KafkaSnapshot | None, trends: ClusterTrends) -> None:
    view = a_view(BROKER)
    found = forecasts_of(view, kafka, trends, TODAY)
    assert all(one.unknown for one in found[BROKER.service_id])
    assert [*short_capacity(view, found)] == []


def test_old_trends_say_nothing_of_now() -> None:
    old = grown(9 * GIB, made=TODAY - timedelta(days=4))
    assert forecasts_of(a_view(BROKER), kafka(), old, TODAY) == {}


def test_without_a_forecast_nothing_is_over() -> None:
    """The lake may be away for a while."""
    view = a_view(BROKER)
    assert Kind.CAPACITY not in evidence(view, SeenCluster(now=NOW)).looked_at
    seen = SeenCluster(now=NOW, forecasts=forecasts_of(view, kafka(), grown(0), TODAY))
    assert Kind.CAPACITY in evidence(view, seen).looked_at
