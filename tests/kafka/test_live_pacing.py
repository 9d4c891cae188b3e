"""Throttles that follow traffic on real brokers: what logs grow by is what is written, copies get their promise."""

import time
from collections.abc import Iterator

import pytest

from controlplane.cluster.observed.traffic import APART, TrafficWatch
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.workload import Workload
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.live_drain import OUTGOING, SUCCESSOR, LiveDrain
from tests.waiting import until

pytestmark = pytest.mark.kafka
BROKERS = {1000: "a", 1001: "b", 1002: "c", 1010: "a"}
MB = 10**6
RECORDS_PER_S, RECORD_BYTES = 2000, 1000
PROMISE = 3 * MB
SETTLED_S = 6.0
"""The second look at the logs, and half a window of the quota (11 s), which lets a first burst pass."""


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("live-pacing"), network="127.0.36")
    try:
        kafka.found(BROKERS)
        yield kafka
    finally:
        kafka.close()


@pytest.fixture
def gateway(processes: KafkaProcesses) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    yield AdminGateway(dialer, "live-pacing", lambda: processes.bootstrap)
    dialer.close()


@pytest.mark.timeout(240)
def test_a_drain_under_traffic_keeps_its_promise_by_a_corrected_throttle(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    until(lambda: len(_live(gateway)) == 4, "four live brokers")
    create_topic(processes.bootstrap, "orders", partitions=2, rf=3, bytes_per_partition=16 * MB)
    _place(gateway)
    load = Workload(
        lambda: processes.bootstrap, "orders", records_per_s=RECORDS_PER_S, record_bytes=RECORD_BYTES, group="pacing"
    )
    load.start()
    try:
        watch = TrafficWatch()
        until(lambda: load.acknowledged > RECORDS_PER_S, "traffic to flow")
        watch.see(gateway.snapshot(), {})
        time.sleep(APART.total_seconds() + 0.5)
        seen = gateway.snapshot()
        watch.see(seen, {})
        written = sum(w for n, w in watch.traffic(seen.at).write_bytes_per_s.items() if n.topic == "orders")
        assert written == pytest.approx(RECORDS_PER_S * RECORD_BYTES, rel=0.2)

        drain = LiveDrain.planned(gateway, bandwidth_bytes_per_s=PROMISE)
        drain.watch = watch
        for tick in drain.carried_out(tick_s=0.5, within_s=90):
            print(f"{tick.at_s:.1f} s: {tick.open_moves} open, {tick.sentence}")
    finally:
        load.stop()

    assert gateway.snapshot().hosted_by(OUTGOING) == ()
    assert not load.error
    # Until the first copy has arrived all that the successor takes in are copies. Two followers fetch what is written
    # to the open partitions on the same quota, planned without it: uncorrected, copies get a third of what they are
    # promised while one partition is open and nothing while two are.
    steady = [t for t in drain.ticks if t.at_s >= SETTLED_S and " 0 of " in t.sentence]
    rate = (steady[-1].held_bytes - steady[0].held_bytes) / (steady[-1].at_s - steady[0].at_s)
    print(f"{rate / MB:.2f} MB/s copied, {PROMISE / MB:.1f} promised, {written / MB:.2f} written")
    assert 0.85 * PROMISE < rate < 1.15 * PROMISE


def _place(gateway: AdminGateway) -> None:
    """Everything is on the brokers that are to be drained or stay, and led by the one that leaves."""
    orders = {p.name: (OUTGOING, 1001, 1002) for p in gateway.snapshot().partitions if p.name.topic == "orders"}
    assert gateway.reassign(orders) == {}
    placed = orders.items()
    until(
        lambda: placed <= {p.name: p.replicas for p in gateway.snapshot().partitions if not p.is_moving}.items(),
        "the topic in its place",
    )
    gateway.elect_preferred(list(orders))
    assert all(SUCCESSOR not in p.replicas for p in gateway.snapshot().partitions if p.name in orders)


def _live(gateway: AdminGateway) -> frozenset[int]:
    try:
        return gateway.snapshot().live_brokers()
    except KafkaUnavailable:
        return frozenset()
