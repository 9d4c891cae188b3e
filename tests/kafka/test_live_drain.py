"""A drain on real brokers: sources put in charge, slots kept, throttles on what is open and gone at the end."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from planner.observed import TopicPartition
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.live_drain import OUTGOING, SUCCESSOR, LiveDrain
from tests.waiting import until

pytestmark = pytest.mark.kafka
BROKERS = {1000: "a", 1001: "b", 1002: "c"}
MB = 10**6


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("live-drain"), network="127.0.34")
    try:
        kafka.found(BROKERS)
        kafka.add_broker(SUCCESSOR, "a")
        yield kafka
    finally:
        kafka.close()


@pytest.fixture
def gateway(processes: KafkaProcesses) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    yield AdminGateway(dialer, "live-drain", lambda: processes.bootstrap)
    dialer.close()


def test_a_drain_follows_its_plan_on_real_brokers(processes: KafkaProcesses, gateway: AdminGateway) -> None:
    until(lambda: len(_live(gateway)) == 3, "three live brokers")
    create_topic(processes.bootstrap, "orders", partitions=24, rf=3, bytes_per_partition=2 * MB)
    processes.start(SUCCESSOR)
    until(lambda: SUCCESSOR in _live(gateway), "the successor")
    _lead_everything_from(gateway, OUTGOING)

    drain = LiveDrain.planned(gateway, bandwidth_bytes_per_s=5 * MB)
    # the planner reads from the leaver while nothing is scarce; here half is read from others: they are put in charge
    spread = [replace(m, source=m.before[n % 2]) if m.added else m for n, m in enumerate(drain.plan.moves)]
    drain.plan = replace(drain.plan, moves=tuple(spread))
    ticks = []
    for tick in drain.carried_out(tick_s=0.5, within_s=90):
        print(f"{tick.at_s:.1f} s: {tick.open_moves} open, {tick.sentence}")
        ticks.append(tick)

    seen = gateway.snapshot()
    assert seen.hosted_by(OUTGOING) == ()
    assert not seen.throttles.any
    assert all(p.isr and set(p.isr) == set(p.replicas) for p in seen.partitions)
    after = {m.name: m.after for m in drain.plan.moves}
    assert {p.name: p.replicas for p in seen.partitions if p.name in after} == after
    until(lambda: _led_as_planned(gateway, after), "the leaders of the plan")
    assert drain.elected > 0
    # 5 MB/s for a horizon of 3 s keep 15 of 48 MB open, and a quota lets the first second pass: never all at once,
    # and throttled is only what is open
    assert 1 <= max(t.open_moves for t in ticks) < 24
    assert drain.most_throttled < 24


def _lead_everything_from(gateway: AdminGateway, broker: int) -> None:
    """Makes the plan move sources: all partitions are led by the broker that leaves."""
    orders = {
        p.name: (broker, *(b for b in p.replicas if b != broker))
        for p in gateway.snapshot().partitions
        if broker in p.replicas
    }
    assert gateway.reassign(orders) == {}
    gateway.elect_preferred(list(orders))
    until(lambda: _led_as_planned(gateway, orders), f"broker {broker} to lead")


def _led_as_planned(gateway: AdminGateway, after: dict[TopicPartition, tuple[int, ...]]) -> bool:
    return all(p.leader == after[p.name][0] for p in gateway.snapshot().partitions if p.name in after)


def _live(gateway: AdminGateway) -> frozenset[int]:
    try:
        return gateway.snapshot().live_brokers()
    except KafkaUnavailable:
        return frozenset()
