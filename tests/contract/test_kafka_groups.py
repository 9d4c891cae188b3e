"""What a gateway tells of consumer groups, asked of the in-memory fake and of a real broker alike.

A group with lag, a partition that nobody reads, a group that went away: with the classic protocol and with the one of
KIP-848.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.gateway import KafkaGateway
from planner.consumers.judgement import judged
from planner.consumers.reset import LogSpan, ResetWish, Whither, reset_plan
from planner.consumers.seen import GroupSeen
from planner.observed import TopicPartition
from planner.topics.step import Growth, TopicStep
from tests.fakes.kafka import FakeKafka
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until
from tests.zookeeper_processes import ZooKeeperProcesses

BROKER = 1000


class World(Protocol):
    """A gateway, and hands that write and read."""

    gateway: KafkaGateway

    def create_topic(self, name: str, *, partitions: int, rf: int) -> None: ...
    def produce(self, topic: str, partition: int, records: int) -> None: ...
    def join(self, group: str, topic: str, *, kind: str = "classic") -> None:
        """One member, which is given all there is and notices no new partition."""
        ...

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None: ...
    def leave(self, group: str) -> None: ...
    def until(self, condition: Callable[[], object], what: str) -> None: ...


class FakeWorld:
    def __init__(self) -> None:
        kafka = FakeKafka()
        kafka.add_controller(100)
        kafka.add_broker(BROKER, "a")
        self.gateway: KafkaGateway = kafka
        self.create_topic = kafka.create_topic
        self.produce, self.join = kafka.consumers.produce, kafka.consumers.join
        self.commit, self.leave = kafka.consumers.commit, kafka.consumers.leave

    def until(self, condition: Callable[[], object], what: str) -> None:
        assert condition(), what


class RealWorld:
    """A broker of `release`; before Kafka 4 it is in ZooKeeper mode."""

    def __init__(self, root: Path, release: str) -> None:
        self.processes: KafkaProcesses | ZooKeeperProcesses = (
            ZooKeeperProcesses(root, network="127.0.58", version=release)
            if release < "4"
            else KafkaProcesses(root, network="127.0.58", version=release, min_isr=1, replication=1)
        )
        self.dialer = DirectDialer()
        self.gateway: KafkaGateway = AdminGateway(self.dialer, "groups", lambda: self.processes.bootstrap)
        self._readers: dict[str, Consumer] = {}

    def start(self) -> None:
        self.processes.add_broker(BROKER, "a")
        if isinstance(self.processes, ZooKeeperProcesses):
            self.processes.found([1])
            self.processes.start_broker(BROKER)
        else:
            self.processes.found()
        admin = AdminClient({"bootstrap.servers": ",".join(self.processes.bootstrap)})

        def is_led() -> bool:
            """Kafka 3 listens before it has a controller, and answers to `CreateTopics` late until then."""
            with suppress(KafkaException):
                told = admin.list_topics(timeout=5)
                return BROKER in told.brokers and told.controller_id >= 0
            return False

        until(is_led, "the broker to have a controller", timeout_s=60)

    def create_topic(self, name: str, *, partitions: int, rf: int) -> None:
        create_topic(self.processes.bootstrap, name, partitions=partitions, rf=rf)

    def produce(self, topic: str, partition: int, records: int) -> None:
        producer = Producer({"bootstrap.servers": ",".join(self.processes.bootstrap), "acks": "all"})
        for _ in range(records):
            producer.produce(topic, b"x", partition=partition)
        assert producer.flush(20) == 0

    def join(self, group: str, topic: str, *, kind: str = "classic") -> None:
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": ",".join(self.processes.bootstrap),
            "group.id": group,
            "group.protocol": kind,
            "client.id": "client-1",
            "enable.auto.commit": False,
        }
        if kind == "classic":
            # With the new protocol the broker notices new partitions, and the client needs metadata to be assigned any.
            settings["topic.metadata.refresh.interval.ms"] = 3_600_000
        reader = self._readers[group] = Consumer(settings)
        reader.subscribe([topic])

        def has_some() -> bool:
            reader.poll(0.1)
            return bool(reader.assignment())

        until(has_some, f"an assignment of {group}", timeout_s=20)

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        told = self._readers[group].commit(offsets=[ClientPartition(topic, partition, offset)], asynchronous=False)
        assert told is not None
        assert all(p.error is None for p in told)

    def leave(self, group: str) -> None:
        self._readers.pop(group).close()

    def until(self, condition: Callable[[], object], what: str) -> None:
        until(condition, what, timeout_s=20)

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self.dialer.close()
        self.processes.close()


OTHERS = [pytest.param(release, marks=(pytest.mark.kafka, pytest.mark.soak)) for release in ("3.8.1", "3.9.1", "4.3.0")]


@pytest.fixture(params=["classic", "consumer"])
def kind(request: pytest.FixtureRequest, world: World) -> str:
    """The protocol of a group."""
    protocol: str = request.param
    if protocol == "consumer" and isinstance(world, RealWorld) and isinstance(world.processes, ZooKeeperProcesses):
        pytest.skip("does not apply: brokers in ZooKeeper mode have the classic protocol alone (KIP-848 is of KRaft)")
    return protocol


@pytest.fixture(scope="module", params=["fake", pytest.param("4.1.1", marks=pytest.mark.kafka), *OTHERS])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    real = RealWorld(tmp_path_factory.mktemp("kafka-groups"), request.param)
    try:
        real.start()
        yield real
    finally:
        real.close()


def test_a_group_is_told_with_its_members_its_offsets_and_the_ends_of_its_logs(world: World, kind: str) -> None:
    topic, group = f"clicks-{kind}", f"readers-{kind}"
    world.create_topic(topic, partitions=2, rf=1)
    world.produce(topic, 0, 10)
    world.produce(topic, 1, 5)
    world.join(group, topic, kind=kind)
    world.commit(group, topic, 0, 7)
    world.until(lambda: _one(world, group).members, "its member to be seen")

    seen = world.gateway.groups({group})
    (told,) = seen.groups
    assert (told.name, told.kind, told.state, told.coordinator) == (group, kind, "Stable", BROKER)
    (member,) = told.members
    assert (member.client, member.host, member.topics) == ("client-1", "127.0.0.1", (topic,))
    both = (TopicPartition(topic, 0), TopicPartition(topic, 1))
    assert tuple(sorted(member.partitions)) == both
    assert told.committed == {both[0]: 7}
    assert dict(seen.ends) == {both[0]: 10, both[1]: 5}
    assert dict(seen.partitions) == {topic: 2}
    assert (seen.silent, seen.left_out) == ((), 0)


def test_a_partition_that_no_member_was_given_is_among_those_the_group_should_read(world: World) -> None:
    world.create_topic("grown", partitions=1, rf=1)
    world.join("unaware", "grown")
    growth = TopicStep(grow={"grown": Growth(total=2, added=((BROKER,),))})
    assert world.gateway.change_topics(growth) == {}
    world.until(lambda: world.gateway.groups({"unaware"}).partitions.get("grown") == 2, "the new partition")

    seen = world.gateway.groups({"unaware"})
    (told,) = seen.groups
    new = TopicPartition("grown", 1)
    assert new in told.every_partition(seen.partitions)
    assert all(new not in m.partitions for m in told.members)
    assert seen.ends[new] == 0


def test_a_group_whose_members_left_keeps_its_offsets(world: World) -> None:
    world.create_topic("left", partitions=1, rf=1)
    world.produce("left", 0, 3)
    world.join("gone", "left")
    world.commit("gone", "left", 0, 1)
    world.leave("gone")
    world.until(lambda: _one(world, "gone").state == "Empty", "the group to be empty")

    seen = world.gateway.groups({"gone"})
    assert seen.groups[0].members == ()
    assert seen.groups[0].committed == {TopicPartition("left", 0): 1}
    assert seen.ends[TopicPartition("left", 0)] == 3


def test_all_groups_come_by_name_and_one_that_nobody_knows_is_missing(world: World) -> None:
    world.create_topic("listed", partitions=1, rf=1)
    for group in ("b-reader", "a-reader"):
        world.join(group, "listed")
    names = [g.name for g in world.gateway.groups().groups]
    assert names == sorted(names)
    assert {"a-reader", "b-reader"} <= set(names)
    assert world.gateway.groups({"nobody"}).groups == ()


def test_where_a_log_ends_is_told_by_its_leader(world: World) -> None:
    world.create_topic("written", partitions=2, rf=1)
    world.produce("written", 1, 7)
    world.until(lambda: _end(world, "written", 1) == 7, "the records")
    assert _end(world, "written", 0) == 0


def _end(world: World, topic: str, partition: int) -> int | None:
    logs = world.gateway.topic_logs(topic)
    return logs.partitions[partition].end if logs else None


def _one(world: World, group: str) -> GroupSeen:
    return world.gateway.groups({group}).groups[0]


# --- offsets put elsewhere --------------------------------------------------------------------------------------------


def test_offsets_of_a_group_without_members_are_put_where_they_are_wanted(world: World, kind: str) -> None:
    topic, group = f"again-{kind}", f"nightly-{kind}"
    world.create_topic(topic, partitions=2, rf=1)
    world.produce(topic, 0, 10)
    world.join(group, topic, kind=kind)
    world.commit(group, topic, 0, 7)
    world.leave(group)
    world.until(lambda: not _one(world, group).members, "the member to have left")
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    seen = world.gateway.group_offsets(group, [], None)
    assert seen is not None
    assert seen.group.committed == {first: 7}
    assert seen.spans[first] == LogSpan(0, 10)
    assert world.gateway.commit_offsets(group, {first: 2, second: 0}) == {}
    assert _one(world, group).committed == {first: 2, second: 0}


def test_an_offset_beyond_its_log_is_told_as_that_and_a_reset_counts_what_the_log_has(world: World) -> None:
    """A topic that was made anew, or a log that was cut short: Kafka keeps the offset, and takes any that comes."""
    world.create_topic("shorter", partitions=1, rf=1)
    world.produce("shorter", 0, 14)
    world.join("beyond", "shorter")
    world.commit("beyond", "shorter", 0, 7)
    world.leave("beyond")
    world.until(lambda: not _one(world, "beyond").members, "the member to have left")
    assert world.gateway.commit_offsets("beyond", {TopicPartition("shorter", 0): 1000}) == {}

    told = judged(world.gateway.groups({"beyond"}), None).groups[0]
    assert (told.word, [(p.committed, p.end, p.lag) for p in told.partitions]) == ("BeyondEnd", [(1000, 14, None)])
    seen = world.gateway.group_offsets("beyond", [], None)
    assert seen is not None
    plans = [reset_plan(seen, ResetWish(to=to)) for to in (Whither.LATEST, Whither.EARLIEST)]
    assert [(c.after, c.again, c.skipped) for plan in plans for c in plan.changes] == [(14, 0, 0), (0, 14, 0)]


def test_kafka_itself_takes_no_offsets_of_others_while_a_group_has_members(world: World, kind: str) -> None:
    topic, group = f"busy-{kind}", f"at-work-{kind}"
    world.create_topic(topic, partitions=1, rf=1)
    world.produce(topic, 0, 3)
    world.join(group, topic, kind=kind)
    world.commit(group, topic, 0, 3)
    refused = world.gateway.commit_offsets(group, {TopicPartition(topic, 0): 0})
    assert [str(p) for p in refused] == [f"{topic}-0"]
    assert "UnknownMemberIdError" in refused[TopicPartition(topic, 0)]
    assert _one(world, group).committed == {TopicPartition(topic, 0): 3}
    world.leave(group)


def test_a_time_finds_the_record_that_was_written_then_and_else_the_end(world: World) -> None:
    world.create_topic("timed", partitions=1, rf=1)
    world.produce("timed", 0, 2)
    world.join("by-time", "timed")
    world.commit("by-time", "timed", 0, 0)
    world.leave("by-time")
    name = TopicPartition("timed", 0)
    for at, offset in ((datetime(2000, 1, 1, tzinfo=UTC), 0), (datetime(2100, 1, 1, tzinfo=UTC), 2)):
        seen = world.gateway.group_offsets("by-time", [], at)
        assert seen is not None
        assert seen.spans[name] == LogSpan(0, 2, offset)


def test_of_a_group_nobody_knows_there_are_no_offsets(world: World) -> None:
    assert world.gateway.group_offsets("never-was", [], None) is None
