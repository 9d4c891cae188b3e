"""What only real brokers can show: a power cut under a reader, traffic that is audited, a gate that is right.

One cluster: 1 controller, brokers 1000 and 1001, cluster-wide min ISR 1 (two brokers cannot keep more through
a death).
"""

import threading
import time
from collections.abc import Iterator

import pytest

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gates import may_move
from controlplane.kafka.min_isr import MinIsrObserver
from controlplane.kafka.throttle import throttle_for
from controlplane.kafka.workload import Workload
from planner.observed import PartitionSeen, TopicPartition
from tests.kafka_processes import SOON_FENCED, KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = pytest.mark.kafka
MB = 10**6


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(
        tmp_path_factory.mktemp("kafka-live"),
        network="127.0.31",
        min_isr=1,
        replication=2,
        properties=SOON_FENCED,
    )
    try:
        kafka.found({1000: "az-1", 1001: "az-2"})
        yield kafka
    finally:
        kafka.close()


@pytest.fixture(scope="module")
def gateway(processes: KafkaProcesses) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    gateway = AdminGateway(dialer, "live", lambda: processes.bootstrap)
    until(lambda: _live(gateway) == {1000, 1001}, "two live brokers")
    yield gateway
    dialer.close()


def test_a_workload_reads_back_everything_that_was_acknowledged(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    for topic in ("traffic", "filled"):
        create_topic(processes.bootstrap, topic, partitions=3, rf=2)
    observer = MinIsrObserver(gateway.partitions, every_s=0.2)
    workload = Workload(lambda: processes.bootstrap, "traffic", records_per_s=400)
    observer.start()
    workload.start()
    assert workload.fill("filled", 5 * MB) == 500
    until(lambda: workload.acknowledged > 1000 and workload.consumed > 800, "traffic to flow both ways")
    workload.stop()
    report = observer.stop()

    audit = workload.audit()
    assert workload.error == ""
    assert audit.acknowledged > 1000
    assert (audit.read, audit.lost, audit.duplicated, audit.failed) == (audit.acknowledged, 0, 0, 0)
    assert (report.under_min_isr_s, report.by_partition) == (0.0, {})
    assert report.samples > 3
    sizes = [p.size_bytes for p in gateway.snapshot().partitions if p.name.topic == "filled"]
    assert sum(sizes) >= 5 * MB
    assert min(sizes) > 0


def test_topics_that_come_and_go_do_not_spoil_a_snapshot(processes: KafkaProcesses, gateway: AdminGateway) -> None:
    done = threading.Event()

    def churn() -> None:
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": ",".join(processes.bootstrap), "log_level": 0})
        for i in range(6):
            create_topic(processes.bootstrap, f"brief-{i}", partitions=2, rf=1)
            admin.delete_topics([f"brief-{i}"])[f"brief-{i}"].result(10)
        done.set()

    thread = threading.Thread(target=churn)
    thread.start()
    seen = 0
    while not done.is_set():
        snapshot = gateway.snapshot()
        assert set(snapshot.log_dirs) == {1000, 1001}
        seen += 1
    thread.join()
    assert seen > 2
    until(lambda: not any(p.name.topic.startswith("brief") for p in gateway.partitions()), "the topics to be gone")


def test_a_single_replica_with_a_larger_min_isr_refuses_writes_while_it_moves(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    """The fact behind the gate `may_move`, and that the observer sees it."""
    create_topic(processes.bootstrap, "lonely", partitions=1, rf=1, min_isr=2, bytes_per_partition=4 * MB)
    name = TopicPartition("lonely", 0)
    before = _partition(gateway, name)
    target = (1001,) if before.replicas == (1000,) else (1000,)
    assert (before.min_isr, before.configured_min_isr) == (1, 2)
    assert not may_move(before, target).open

    gateway.set_throttle(throttle_for([(name, before.replicas, target)], bytes_per_s=MB // 2))
    observer = MinIsrObserver(gateway.partitions)
    observer.sample()
    assert gateway.reassign({name: target}) == {}
    until(lambda: _partition(gateway, name).is_moving, "the move")
    with pytest.raises(KafkaUnavailable):
        Workload(lambda: processes.bootstrap, "lonely").fill("lonely", 1000, record_bytes=1000, timeout_s=1.5)
    observer.sample()
    assert observer.report().under_min_isr_s > 1.0
    assert _partition(gateway, name).min_isr == 2

    gateway.clear_throttles()
    until(lambda: not _partition(gateway, name).is_moving, "the move to end")
    assert Workload(lambda: processes.bootstrap, "lonely").fill("lonely", 1000, record_bytes=1000) == 1


def test_a_broker_without_power_is_missing_from_the_disks_and_nothing_hangs(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    processes.kill(1000)
    began = time.monotonic()
    snapshot = _snapshot_soon(gateway)
    assert set(snapshot.log_dirs) == {1001}
    changed = gateway.set_throttle(throttle_for([(TopicPartition("traffic", 0), (1000,), (1001,))], bytes_per_s=MB))
    assert changed == 3, "one rate on the live broker, two lists; nothing on the dead one"
    until(lambda: gateway.snapshot().brokers[1000].fenced, "the dead broker to be fenced")
    assert time.monotonic() - began < 30
    assert gateway.clear_throttles() == 3

    processes.start(1000)
    until(lambda: _live(gateway) == {1000, 1001}, "the broker to be back")
    until(lambda: set(gateway.snapshot().log_dirs) == {1000, 1001}, "its disks to be told")


def test_a_cluster_nobody_answers_for_is_unavailable_in_time() -> None:
    dialer = DirectDialer()
    began = time.monotonic()
    with pytest.raises(KafkaUnavailable, match=r"dialling at void failed: none of 127\.0\.31\.99:9092 answered"):
        AdminGateway(dialer, "void", ["127.0.31.99:9092"], limit_s=2.0).snapshot()
    assert time.monotonic() - began < 5
    dialer.close()


def _live(gateway: AdminGateway) -> frozenset[int]:
    try:
        return gateway.snapshot().live_brokers()
    except KafkaUnavailable:
        return frozenset()


def _snapshot_soon(gateway: AdminGateway):  # type: ignore[no-untyped-def]
    """A call may end with KafkaUnavailable when the broker it talked to dies under it; the next one has to
    work."""
    try:
        return gateway.snapshot()
    except KafkaUnavailable:
        return gateway.snapshot()


def _partition(gateway: AdminGateway, name: TopicPartition) -> PartitionSeen:
    return next(p for p in gateway.partitions() if p.name == name)
