"""Kafka 3.9 in ZooKeeper mode on real processes: the gateway, and an ensemble that changes below its brokers.

ZooKeeper servers 1, 2 and 3; brokers 1000 (az-1), 1001 (az-2), 1002 (az-3). The tests run in order: the ensemble
is grown and shrunk, then brokers end.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
from confluent_kafka import Producer

from controlplane.converger.questions.services.registrations import misregistered
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.gates import broker_is_empty, may_stop_broker
from controlplane.kafka.throttle import ThrottlePlan, throttle_for
from controlplane.kafka.zookeeper.ensemble import KazooEnsemble
from controlplane.kafka.zookeeper.errors import ZooKeeperRefused, ZooKeeperUnavailable
from controlplane.kafka.zookeeper.live_registry import KazooRegistry
from controlplane.kafka.zookeeper.members import EnsembleSeen, ZooKeeperMember
from controlplane.kafka.zookeeper.quorum import EnsembleRecord
from controlplane.kafka.zookeeper_gateway import ZooKeeperGateway
from planner.observed import PartitionSeen, TopicPartition
from planner.rollout.live_step import LiveStep
from planner.topics.step import Growth, NewTopic, TopicStep
from tests.builders import a_view, a_zookeeper_document, an_instance
from tests.cluster_defaults import defaults_of, set_defaults
from tests.kafka_topics import create_topic
from tests.waiting import until
from tests.zookeeper_processes import SUPER_PASSWORD, ZooKeeperProcesses

pytestmark = pytest.mark.kafka
MB = 10**6
CLUSTER_ID = "kedgeZooKeeperModeTest"
RACKS = {1000: "az-1", 1001: "az-2", 1002: "az-3"}


class Cluster:
    """The processes, and Kedge's hands on them."""

    def __init__(self, processes: ZooKeeperProcesses) -> None:
        self.processes = processes
        self.dialer = DirectDialer()
        self.ensemble = KazooEnsemble("live", self.members, password=SUPER_PASSWORD)
        self.registry = KazooRegistry("live", self.endpoints, password=SUPER_PASSWORD)
        self.gateway = self.gateway_with(self.registry)

    def gateway_with(self, registry: KazooRegistry | None) -> AdminGateway:
        look_up = registry.look if registry else None
        return AdminGateway(self.dialer, "live", lambda: self.processes.bootstrap, look_up=look_up)

    def members(self) -> list[ZooKeeperMember]:
        return [ZooKeeperMember(n.id, n.host) for n in self.processes.servers.values()]

    def endpoints(self) -> list[str]:
        return [m.endpoint for m in self.members()]

    def look(self, *wanted: int) -> EnsembleSeen:
        return self.ensemble.look([m for m in self.members() if m.id in wanted])

    def partitions(self, topic: str) -> list[PartitionSeen]:
        return [p for p in self.gateway.snapshot().partitions if p.name.topic == topic]

    def until(self, condition: Callable[[], object], what: str) -> None:
        def holds() -> object:
            try:
                return condition()
            except KafkaUnavailable:
                return False

        until(holds, what, timeout_s=40)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    processes = ZooKeeperProcesses(tmp_path_factory.mktemp("zookeeper-mode"), network="127.0.52", min_isr=2)
    made = Cluster(processes)
    try:
        processes.found((1, 2, 3))
        made.registry.found(CLUSTER_ID)
        for broker, rack in RACKS.items():
            processes.add_broker(broker, rack)
            processes.start_broker(broker, wait=False)
        made.until(lambda: made.gateway.snapshot().live_brokers() == set(RACKS), "three live brokers")
        yield made
    finally:
        made.dialer.close()
        processes.close()


def test_a_snapshot_tells_the_mode_the_controller_and_the_disks_but_no_quorum_and_no_features(cluster: Cluster) -> None:
    until(lambda: set(cluster.gateway.snapshot().log_dirs) == set(RACKS), "every broker to tell of its disks")
    snapshot = cluster.gateway.snapshot()
    assert (snapshot.mode, snapshot.cluster_id) == ("zookeeper", CLUSTER_ID)
    assert {b.id: b.rack for b in snapshot.brokers.values()} == RACKS
    assert snapshot.controller == cluster.registry.look().controller
    assert (snapshot.quorum.leader, snapshot.quorum.members, dict(snapshot.features)) == (-1, (), {})
    assert set(snapshot.log_dirs) == set(RACKS)
    assert all(d.total_bytes >= d.usable_bytes > 0 for d in snapshot.log_dirs.values())
    assert not snapshot.throttles.any
    without_zookeeper = cluster.gateway_with(None).snapshot()
    assert (without_zookeeper.mode, without_zookeeper.controller) == ("zookeeper", snapshot.controller)


def test_a_broker_that_came_back_in_another_rack_is_told_with_both(cluster: Cluster) -> None:
    """The documents' side is made; where the broker says it is, ZooKeeper has from the broker."""
    places = {1000: ("brokers-a-0", "az-1"), 1001: ("brokers-b-0", "az-2"), 1002: ("brokers-c-0", "az-1")}
    hosts = {b: node.host for b, node in cluster.processes.brokers.items()}
    there = [an_instance(n, service_id=b, rack=rack, address=hosts[b]) for b, (n, rack) in places.items()]
    told = misregistered(a_view(*there, document=a_zookeeper_document()), cluster.gateway.snapshot())
    assert {b: (a.fault, a.words) for b, a in told.items()} == {
        1002: ("WrongRack", "broker 1002 is registered in rack az-3, not az-1")
    }


def test_the_cluster_id_is_fixed_once(cluster: Cluster) -> None:
    cluster.registry.found(CLUSTER_ID)
    with pytest.raises(ZooKeeperRefused, match="belongs to cluster kedgeZooKeeperModeTest"):
        cluster.registry.found("kedgeAnotherClusterAAA")


def test_a_picture_that_is_not_zookeepers_is_refused(cluster: Cluster) -> None:
    def look() -> object:
        told = cluster.registry.look()
        return replace(told, brokers={b: seen for b, seen in told.brokers.items() if b != 1002})

    gateway = AdminGateway(cluster.dialer, "live", lambda: cluster.processes.bootstrap, look_up=look)  # type: ignore[arg-type]
    with pytest.raises(KafkaUnavailable, match=r"in ZooKeeper there are \[1000, 1001\]"):
        gateway.snapshot()


def test_what_only_kraft_has_is_refused_in_words(cluster: Cluster) -> None:
    with pytest.raises(KafkaRefused, match=r"inter\.broker\.protocol\.version"):
        cluster.gateway.update_feature("metadata.version", 21, validate_only=True)
    with pytest.raises(KafkaRefused, match="no quorum of controllers"):
        cluster.gateway.add_voter(100, "CSnKsACqWL2QdNr26bSUNw", host="127.0.52.9", port=9093)


def test_topics_are_made_grown_set_and_deleted_by_the_controller_whoever_is_asked_first(cluster: Cluster) -> None:
    """Each was answered NOT_CONTROLLER, unless it happened to be sent to the one broker that leads."""
    names = [f"declared-{n}" for n in range(4)]
    made = TopicStep(create={n: NewTopic(((1000, 1001, 1002),), {"min.insync.replicas": "2"}) for n in names})
    more = TopicStep(grow={n: Growth(2, ((1001, 1002, 1000),)) for n in names})
    values = TopicStep(configure={n: {"retention.ms": "1000"} for n in names})

    def counts() -> set[int]:
        return {len(cluster.partitions(n)) for n in names}

    for step in (made, more, values, TopicStep(delete=tuple(names))):
        assert cluster.gateway.topic_refusals(step) == {}
        assert cluster.gateway.change_topics(step) == {}
        if step.create:
            cluster.until(lambda: counts() == {1}, "the topics")
        if step.grow:
            cluster.until(lambda: counts() == {2}, "the second partitions")
        if step.configure:
            told = cluster.gateway.topic_configs(names)
            assert told == {n: {"min.insync.replicas": "2", "retention.ms": "1000"} for n in names}
    cluster.until(lambda: counts() == {0}, "the topics to be gone")


def test_moves_are_throttled_seen_cancelled_and_ended(cluster: Cluster) -> None:
    create_topic(cluster.processes.bootstrap, "moved", partitions=1, rf=2, min_isr=1, bytes_per_partition=10 * MB)
    name, before = TopicPartition("moved", 0), cluster.partitions("moved")[0]
    assert (before.min_isr, before.size_bytes >= 10 * MB) == (1, True)
    newcomer = next(b for b in RACKS if b not in before.replicas)
    target = (newcomer, before.replicas[1])
    cluster.gateway.set_throttle(throttle_for([(name, before.replicas, target)], bytes_per_s=1 * MB))
    assert cluster.gateway.snapshot().throttles.topics == {"moved"}

    assert cluster.gateway.reassign({name: target}) == {}
    cluster.until(lambda: cluster.partitions("moved")[0].adding == (newcomer,), "the move to be seen")
    assert not broker_is_empty(cluster.gateway.snapshot(), before.replicas[0]).open
    assert cluster.gateway.cancel([name]) == {}
    cluster.until(lambda: not cluster.partitions("moved")[0].is_moving, "the move to be gone")
    assert cluster.gateway.cancel([name]) == {}

    assert cluster.gateway.clear_throttles() > 0
    refused = cluster.gateway.reassign({name: target, TopicPartition("nowhere", 0): (1000,)})
    assert set(refused) == {TopicPartition("nowhere", 0)}
    cluster.until(lambda: cluster.partitions("moved")[0].replicas == target, "the move to end")
    assert not cluster.gateway.snapshot().throttles.any


def test_throttles_and_settings_become_exactly_what_is_wanted(cluster: Cluster) -> None:
    plan = ThrottlePlan({1000: 5 * MB}, {1001: 6 * MB}, {"moved": (("0:1000",), ("0:1001",))})
    assert cluster.gateway.set_throttle(plan) == 4
    cluster.until(lambda: cluster.gateway.snapshot().throttles == plan.seen, "the throttle")
    assert cluster.gateway.clear_throttles() == 4
    step = LiveStep({"message.max.bytes": "2000000"})
    assert cluster.gateway.setting_refusals(step) == dict.fromkeys(RACKS)
    cluster.gateway.change_settings(step)
    cluster.until(lambda: defaults_of(cluster.gateway) == {"message.max.bytes": "2000000"}, "the value to be set")
    set_defaults(cluster.gateway, {"message.max.bytes": None})


def test_an_ensemble_is_grown_to_four_and_shrunk_to_three_below_its_brokers(cluster: Cluster) -> None:
    create_topic(cluster.processes.bootstrap, "flow", partitions=3, rf=3, min_isr=2)
    producer = Producer({"bootstrap.servers": ",".join(cluster.processes.bootstrap), "acks": "all", "log_level": 0})
    sessions = {b.id: b.session for b in cluster.registry.look().brokers.values()}
    failed: list[object] = []

    def produce() -> None:
        for n in range(50):
            producer.produce("flow", f"{n}".encode(), callback=lambda error, _: failed.append(error) if error else None)
        producer.poll(0)

    cluster.processes.add_server(4, members=(1, 2, 3))
    produce()
    assert _converged(cluster, cluster.members()) == ["join 4"]
    produce()

    seen = cluster.look()
    assert seen.config is not None
    assert seen.leader is not None
    leader = seen.leader.id
    assert [m.id for m in seen.config.participants] == [1, 2, 3, 4]
    wanted = [m for m in cluster.members() if m.id != leader]
    assert set(_converged(cluster, wanted)) == {f"leave {leader}"}
    produce()
    cluster.processes.stop(cluster.processes.servers.pop(leader))
    cluster.until(lambda: cluster.look().leader is not None, "the three to go on")

    assert producer.flush(30) == 0
    assert failed == []
    cluster.until(lambda: set(cluster.registry.look().brokers) == set(RACKS), "every broker to be registered")
    assert {b.id: b.session for b in cluster.registry.look().brokers.values()} == sessions, "none had to register anew"


def test_preferred_leaders_come_back_after_a_restart(cluster: Cluster) -> None:
    assert may_stop_broker(cluster.gateway.snapshot(), 1001).open
    cluster.processes.stop(cluster.processes.brokers[1001])
    cluster.until(lambda: 1001 not in cluster.gateway.snapshot().brokers, "the stopped broker to be gone")
    assert not cluster.gateway.unregister_broker(1001), "its registration went with its session"
    assert not may_stop_broker(cluster.gateway.snapshot(), 1000).open

    cluster.processes.start_broker(1001)
    cluster.until(lambda: all(1001 in p.isr for p in cluster.partitions("flow")), "the broker to be back in all ISRs")
    assert cluster.gateway.elect_preferred([TopicPartition("flow", 99)]) == 0
    assert cluster.gateway.elect_preferred(None) >= 1
    cluster.until(lambda: all(p.leader == p.replicas[0] for p in cluster.partitions("flow")), "preferred leaders")


def test_a_controller_is_elected_anew_only_in_place_of_the_one_that_is_named(cluster: Cluster) -> None:
    gateway = ZooKeeperGateway(
        cluster.dialer,
        "live",
        lambda: cluster.processes.bootstrap,
        ensemble=cluster.ensemble,
        registry=cluster.registry,
        roll=lambda: EnsembleRecord(tuple(cluster.members()), {}, {}),
    )
    before, registered = gateway.snapshot(), cluster.registry.look()
    stuck, epoch = before.controller, before.controller_epoch
    assert (stuck, epoch) == (registered.controller, registered.controller_epoch)
    other = next(b for b in RACKS if b != stuck)
    assert not gateway.reelect_controller(stuck, epoch - 1)
    assert not gateway.reelect_controller(other, epoch)
    assert cluster.registry.look().controller_epoch == epoch

    assert gateway.reelect_controller(stuck, epoch)
    cluster.until(lambda: gateway.snapshot().controller_epoch == epoch + 1, "a controller to be elected")
    assert not gateway.reelect_controller(stuck, epoch), "the next one is not meant"
    after = cluster.registry.look()
    assert after.controller_epoch == epoch + 1
    assert {b.id: b.session for b in after.brokers.values()} == {b.id: b.session for b in registered.brokers.values()}

    name = TopicPartition("moved", 0)
    holds = cluster.partitions("moved")[0].replicas
    assert gateway.reassign({name: tuple(reversed(holds))}) == {}
    cluster.until(
        lambda: cluster.partitions("moved")[0].replicas == tuple(reversed(holds)), "the new one to end a move"
    )
    with pytest.raises(KafkaRefused, match="no ZooKeeper is known"):
        cluster.gateway.reelect_controller(stuck, epoch + 1)


@pytest.mark.soak
def test_a_broker_that_died_is_registered_for_as_long_as_its_session_lives(cluster: Cluster) -> None:
    cluster.processes.kill(cluster.processes.brokers[1002])
    with pytest.raises(KafkaUnavailable, match="goes with its session"):
        cluster.gateway.unregister_broker(1002)
    cluster.until(partial(_is_forgotten, cluster, 1002), "its session to end")
    cluster.until(lambda: cluster.gateway.snapshot().live_brokers() == {1000, 1001}, "the two that are left")


def _converged(cluster: Cluster, wanted: list[ZooKeeperMember]) -> list[str]:
    """Looks, decides and acts until the ensemble is the wanted one; the acts. A leader that leaves may take the answer
    with it: whether the act was done is seen at the next look."""
    acts: list[str] = []

    def tick() -> bool:
        seen = cluster.ensemble.look(wanted)
        if seen.config is None or seen.leader is None:
            return False
        taking_part = {m.id for m in seen.config.participants}
        missing = [m for m in wanted if m.id not in taking_part]
        surplus = sorted(taking_part - {m.id for m in wanted})
        with suppress(ZooKeeperUnavailable):
            for member in (m for m in missing[:1] if seen.of(m.id).serves):
                acts.append(f"join {member.id}")
                cluster.ensemble.join(member, from_version=seen.config.version)
            for server in surplus[:1] if not missing else ():
                acts.append(f"leave {server}")
                cluster.ensemble.leave(server, from_version=seen.config.version)
        return not missing and not surplus

    cluster.until(tick, "the ensemble to be the wanted one")
    return acts


def _is_forgotten(cluster: Cluster, broker: int) -> bool:
    return not cluster.gateway.unregister_broker(broker)
