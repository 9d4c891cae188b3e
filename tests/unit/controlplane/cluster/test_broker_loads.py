"""What brokers' clients feel, from agents' reports and Kafka's metadata, look by look."""

from datetime import timedelta

from controlplane.cluster.observed.broker_loads import LoadWatch, loads_of
from controlplane.cluster.view import ClusterView
from planner.latency_brake import BrokerLoad
from planner.observed import KafkaSnapshot, PartitionSeen
from tests.builders import NOW, a_drain, a_partition, a_report, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view

METRICS = {
    "produce_p99_ms": 12.0,
    "produce_mean_ms": 2.0,
    "request_queue": 3.0,
    "request_handler_idle": 0.7,
    "disk_busy": 0.4,
    "disk_wait_ms": 6.0,
}
TOLD = BrokerLoad(
    at=NOW,
    produce_p99_ms=12.0,
    produce_mean_ms=2.0,
    request_queue=3.0,
    handlers_busy=1 - 0.7,
    disk_busy=0.4,
    disk_wait_ms=6.0,
)
BROKER = an_instance("brokers-a-0")
MOVING = a_partition("orders-0", (1010, 1000, 1001, 1002), leader=1000, adding=(1010,), removing=(1000,))


def the_view() -> ClusterView:
    return a_view()


def kafka(*partitions: PartitionSeen, seconds: int = 0) -> KafkaSnapshot:
    return a_snapshot(*partitions, brokers=(1000, 1001, 1002), at=NOW + timedelta(seconds=seconds))


def test_an_agents_figures_are_the_brokers_load() -> None:
    reports = {BROKER.key: a_report(BROKER, metrics=METRICS)}

    found = loads_of(the_view(), kafka(), reports, NOW)

    assert found[1000] == TOLD
    assert not found[1001].has_figures


def test_an_old_report_tells_nothing_of_now() -> None:
    old = NOW - timedelta(seconds=31)
    reports = {BROKER.key: a_report(BROKER, metrics=METRICS, received_at=old)}

    assert not loads_of(the_view(), kafka(), reports, NOW)[1000].has_figures


def test_a_replica_out_of_sync_counts_where_its_broker_serves_and_nothing_of_it_moves() -> None:
    behind = a_partition("orders-1", (1000, 1001, 1002), leader=1000, isr=(1000, 1001))  # min ISR is 2
    thin = a_partition("orders-2", (1000, 1001, 1002), leader=1000, isr=(1000,))
    away = a_partition("orders-3", (1001, 1002, 1009), leader=1001, isr=(1001, 1002))
    copied = a_partition(
        "orders-4", (1010, 1000, 1001, 1002), leader=1001, isr=(1001, 1002), adding=(1010,), removing=(1000,)
    )

    found = loads_of(the_view(), kafka(behind, thin, away, copied), {}, NOW)

    assert (found[1000].lagging, found[1000].endangered) == (2, 2)
    assert (found[1001].lagging, found[1001].endangered) == (0, 0)


def test_what_is_out_of_sync_on_a_broker_that_leaves_slows_nothing() -> None:
    """A failed disk is why it leaves: the drain is what brings those replicas back."""
    thin = a_partition("orders-2", (1000, 1001, 1002), leader=1000, isr=(1000,))
    other = a_partition("orders-3", (1000, 1001, 1002), leader=1000, isr=(1000, 1001))
    leaves = changed_view(the_view(), drain=a_drain(keys=("brokers-b-0.g1",)))
    found = loads_of(leaves, kafka(thin, other), {}, NOW)[1000]
    assert leaves.instances["brokers-b-0.g1"].service_id == 1001
    assert (found.lagging, found.endangered) == (2, 2), "1002 stays and is behind in both"
    gone = loads_of(
        changed_view(leaves, drain=a_drain(keys=("brokers-b-0.g1", "brokers-c-0.g1"))), kafka(thin), {}, NOW
    )
    assert (gone[1000].lagging, gone[1000].endangered) == (0, 0)


def test_figures_of_before_the_moves_stand_while_they_run() -> None:
    watch, slow = LoadWatch(), {**METRICS, "produce_p99_ms": 90.0}
    watch.see(the_view(), kafka(), {BROKER.key: a_report(BROKER, metrics=METRICS)}, NOW)
    later = NOW + timedelta(seconds=10)

    seen = watch.see(
        the_view(), kafka(MOVING, seconds=10), {BROKER.key: a_report(BROKER, metrics=slow, received_at=later)}, later
    )

    assert seen.at_rest[1000].produce_p99_ms == 12.0
    assert [x.produce_p99_ms for x in seen.recent[1000]] == [12.0, 90.0]
    assert (seen.since, seen.moved_at) == (NOW, later)


def test_reports_of_the_same_sample_are_kept_once_and_old_ones_forgotten() -> None:
    watch = LoadWatch()
    for second in range(0, 400, 2):
        at = NOW + timedelta(seconds=second)
        reports = {BROKER.key: a_report(BROKER, metrics=METRICS, received_at=at)}
        seen = watch.see(the_view(), kafka(seconds=second), reports, at)

    looks = seen.recent[1000]
    assert looks[-1].at == at
    assert timedelta(seconds=170) <= looks[-1].at - looks[0].at <= timedelta(minutes=3)
    assert len(looks) <= 60
