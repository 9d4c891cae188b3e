"""Brokers of Kafka 4.3 that leave, or are kept empty, are cordoned by the server and freed for certain, whatever became
of the server meanwhile. What was set and lifted is read from the controllers' own log, where Kafka keeps it."""

import re
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from controlplane.api.schemas import moves as move_api, nodes as node_api
from planner.observed import KafkaSnapshot
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

SPEC = ClusterSpec(
    name="cordoned",
    version="4.3.0",
    sizes={"one": 1, "two": 1, "three": 2},
    disk_gib=2,
    join_deadline_s=180,
)
WITHIN_S = 300.0

_TOLD = re.compile(rb"\x01\x04\x00\x04.(\d+)\x12cordoned\.log\.dirs(\x00|\x02\*)", re.DOTALL)
"""A ConfigRecord (frame 1, type 4, version 0) of a broker: its id, and `*` or nothing."""


def test_a_leaving_broker_is_cordoned_before_anything_is_moved_and_freed_before_it_stops(
    living_cluster: LivingCluster,
) -> None:
    cluster, old = living_cluster, living_cluster.instance("one-a-0").service_id
    told = _told(cluster)
    with traffic(cluster.bootstrap):
        before = cluster.head()
        cluster.declare(replace(cluster.spec.rolled("one"), throttle_mib_per_s=1))  # seen on a busy machine, too
        early = _until_it_moves(cluster)
        assert early.cordoned == {old}, "no move runs before the cordon is there"
        _create(cluster, "made-meanwhile")
        holders = _holders(cluster, "made-meanwhile")
        assert old not in {b for replicas in holders for b in replicas}, holders
        cluster.declare(replace(cluster.spec, throttle_mib_per_s=64))
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    assert [e.data["round"] for e in cluster.events(before) if e.type == "drain.requested"] == [1]
    assert _told(cluster)[len(told) :] == [(old, True), (old, False)], "freed under its own id, while it still lived"
    assert cluster.snapshot().cordoned == frozenset()


def test_a_server_killed_while_a_broker_is_cordoned_leaves_no_cordon_behind(living_cluster: LivingCluster) -> None:
    cluster, old = living_cluster, living_cluster.instance("two-b-0").service_id
    told = _told(cluster)
    with traffic(cluster.bootstrap):
        before = cluster.roll_slowly("two")
        cluster.server.kill()
        assert cluster.snapshot().cordoned == {old}, "Kafka keeps it while no server runs"
        _create(cluster, "made-without-a-server")
        holders = _holders(cluster, "made-without-a-server")
        assert old not in {b for replicas in holders for b in replicas}, holders
        cluster.start_server()
        cluster.declare(replace(cluster.spec, throttle_mib_per_s=64))
        cluster.event("instance.drained", before, within_s=WITHIN_S)
        cluster.restart_server()
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    assert [e.data["round"] for e in cluster.events(before) if e.type == "drain.requested"] == [1]
    now = _told(cluster)[len(told) :]
    assert {broker for broker, _ in now} == {old}
    assert now[-1] == (old, False), now
    assert cluster.snapshot().cordoned == frozenset()


def test_a_server_killed_while_cordoned_and_a_change_of_mind_leave_the_broker_free_to_receive(
    living_cluster: LivingCluster,
) -> None:
    """The roll is taken back while nothing answers: the broker that was to leave serves on, or its successor does."""
    cluster, usual = living_cluster, living_cluster.spec
    with traffic(cluster.bootstrap):
        cluster.roll_slowly("one")
        cluster.restart_server()
        cluster.declare(replace(usual, throttle_mib_per_s=64))
        settled(cluster, within_s=WITHIN_S)
    assert cluster.snapshot().cordoned == frozenset()
    assert set(_last_told(cluster).values()) == {False}
    _create(cluster, "made-afterwards", partitions=12)
    serving = {i.service_id for i in cluster.detail().instances if i.service == "broker"}
    assert {b for replicas in _holders(cluster, "made-afterwards") for b in replicas} == serving


def test_a_broker_that_is_kept_empty_is_cordoned_until_it_is_readmitted(living_cluster: LivingCluster) -> None:
    cluster, broker = living_cluster, living_cluster.instance("three-c-1").service_id
    before = cluster.head()
    with traffic(cluster.bootstrap):
        cluster.client.evacuate(cluster.spec.name, move_api.EvacuateIn(brokers=[broker], reason="noises"))
        cluster.event("evacuation.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
        assert cluster.snapshot().cordoned == {broker}
        _create(cluster, "made-past-it", partitions=12)
        assert broker not in {b for replicas in _holders(cluster, "made-past-it") for b in replicas}
        cluster.restart_server()
        settled(cluster, within_s=WITHIN_S)
        assert cluster.snapshot().cordoned == {broker}, "another server keeps it so"
        cluster.client.readmit(cluster.spec.name, node_api.BrokersIn(brokers=[broker]))
        cluster.until(lambda: not cluster.snapshot().cordoned or None, "no cordon", timeout_s=120)
        _create(cluster, "made-after-it", partitions=12)
        assert broker in {b for replicas in _holders(cluster, "made-after-it") for b in replicas}
        settled(cluster, within_s=WITHIN_S)
    assert set(_last_told(cluster).values()) == {False}


def _until_it_moves(cluster: LivingCluster) -> KafkaSnapshot:
    """The first metadata with a reassignment in it."""

    def look() -> KafkaSnapshot | None:
        snapshot = cluster.snapshot()
        return snapshot if snapshot.moving() else None

    return cluster.until(look, "a move to run", timeout_s=WITHIN_S, every_s=0.02)


def _told(cluster: LivingCluster) -> list[tuple[int, bool]]:
    """Cordons that were set (True) and lifted, in the order of the metadata log."""
    (controller,) = [i.key for i in cluster.detail().instances if i.node.startswith(CONTROLLERS)]
    logs = (cluster.vm(controller) / "volumes").glob("*/kafka/__cluster_metadata-0/*.log")
    text = b"".join(log.read_bytes() for log in sorted(logs))
    return [(int(broker), value != b"\x00") for broker, value in _TOLD.findall(text)]


def _last_told(cluster: LivingCluster) -> dict[int, bool]:
    """By broker that ever was cordoned, whether it still is, by the log."""
    return dict(_told(cluster))


def _create(cluster: LivingCluster, topic: str, *, partitions: int = 6) -> None:
    """A topic whose placement is Kafka's own choice."""
    admin = AdminClient({"bootstrap.servers": ",".join(cluster.bootstrap()), "log_level": 0})
    wanted = NewTopic(topic, partitions, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([wanted])[topic].result(30)
    cluster.until(lambda: len(_holders(cluster, topic)) == partitions or None, f"the topic {topic}", timeout_s=60)


def _holders(cluster: LivingCluster, topic: str) -> list[tuple[int, ...]]:
    return [p.replicas for p in cluster.snapshot().partitions if p.name.topic == topic]
