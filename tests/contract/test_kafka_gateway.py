"""What a KafkaGateway promises, asked of the in-memory fake and of real brokers alike.

One cluster per implementation: 1 controller, brokers 1000 (az-1), 1001 (az-2), 1002 (az-3), Kafka 4.1.1, cluster-wide
min ISR 2. The last test but one retires broker 1002.
"""

from collections.abc import Iterator, Mapping

import pytest

from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.features import next_feature_step
from controlplane.kafka.gates import broker_is_empty, is_following, may_stop_broker, may_stop_controller
from controlplane.kafka.gateway import KafkaGateway
from controlplane.kafka.throttle import FOLLOWER_RATE, LEADER_RATE, ThrottlePlan, throttle_for
from planner.broker_answers import ValueOrigin, ValueSeen
from planner.observed import PartitionSeen, SettingSeen, TopicPartition
from planner.rollout.live_step import LiveStep
from planner.topics.step import Growth, NewTopic, TopicStep
from tests.cluster_defaults import defaults_of, set_defaults
from tests.contract.kafka_worlds import CONTROLLER, RACKS, FakeWorld, World, real_world

MB = 10**6


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    with real_world(tmp_path_factory.mktemp("kafka-contract"), network="127.0.30") as real:
        yield real


def test_a_snapshot_tells_brokers_quorum_features_and_disks(world: World) -> None:
    snapshot = world.gateway.snapshot()
    assert {b.id: b.rack for b in snapshot.brokers.values()} == RACKS
    assert snapshot.live_brokers() == set(RACKS)
    assert snapshot.quorum.leader == CONTROLLER
    assert [m.id for m in snapshot.quorum.members if m.is_voter] == [CONTROLLER]
    assert snapshot.features["metadata.version"].finalised == 27
    assert snapshot.features["metadata.version"].max_supported == 27
    assert set(snapshot.log_dirs) == set(RACKS)
    assert all(d.total_bytes >= d.usable_bytes > 0 for d in snapshot.log_dirs.values())
    assert not snapshot.throttles.any


def test_min_isr_is_the_value_leaders_apply(world: World) -> None:
    world.create_topic("defaults", partitions=1, rf=3)
    world.create_topic("own", partitions=1, rf=3, min_isr=1)
    world.create_topic("single", partitions=1, rf=1)
    partitions = {t: _partition(world, t) for t in ("defaults", "own", "single")}
    assert {t: p.min_isr for t, p in partitions.items()} == {"defaults": 2, "own": 1, "single": 1}
    assert {t: p.configured_min_isr for t, p in partitions.items()} == {"defaults": 2, "own": 1, "single": 2}
    assert world.gateway.snapshot().under_min_isr() == ()


def test_the_default_quota_of_producers_is_read_set_and_taken_away(world: World) -> None:
    def reads(rate: float | None) -> bool:
        return world.gateway.producer_quota() == rate

    assert reads(None)
    world.gateway.set_producer_quota(None)  # nothing is there: no refusal
    world.gateway.set_producer_quota(1_500_000.0)
    world.until(lambda: reads(1_500_000.0), "the quota that was set")
    world.gateway.set_producer_quota(64_000.0)
    world.until(lambda: reads(64_000.0), "the lower one")
    world.gateway.set_producer_quota(None)
    world.until(lambda: reads(None), "no quota again")


def test_where_a_quorum_leads_no_controller_is_elected_by_zookeeper(world: World) -> None:
    assert world.gateway.snapshot().controller_epoch == -1
    with pytest.raises(KafkaRefused):
        world.gateway.reelect_controller(1000, 1)


def test_a_throttled_move_is_seen_while_it_runs_and_ends_with_the_target(world: World) -> None:
    world.create_topic("moved", partitions=1, rf=2, min_isr=1, bytes_per_partition=20 * MB)
    name = TopicPartition("moved", 0)
    before = _partition(world, "moved")
    newcomer = next(b for b in RACKS if b not in before.replicas)
    target = (newcomer, before.replicas[1])
    world.gateway.set_throttle(throttle_for([(name, before.replicas, target)], bytes_per_s=4 * MB))
    assert before.size_bytes >= before.leader_bytes >= 20 * MB

    assert world.gateway.reassign({name: target}) == {}
    world.until(lambda: _partition(world, "moved").is_moving, "the move to be seen")
    moving = _partition(world, "moved")
    assert moving.adding == (newcomer,)
    assert moving.removing == (before.replicas[0],)
    assert moving.target == target
    assert newcomer not in moving.isr
    assert not broker_is_empty(world.gateway.snapshot(), before.replicas[0]).open

    world.gateway.clear_throttles()
    world.until(lambda: _rests_on(world, "moved", target), "the move to end")
    after = _partition(world, "moved")
    assert after.replicas == target
    assert set(after.isr) == set(target)
    assert after.leader in target


def _rests_on(world: World, topic: str, replicas: tuple[int, ...]) -> bool:
    """The controller no longer lists a move a moment before a broker's metadata leaves the other replicas out."""
    seen = _partition(world, topic)
    return not seen.is_moving and set(seen.replicas) == set(replicas)


def test_refusals_come_back_by_partition_and_the_rest_is_taken(world: World) -> None:
    world.create_topic("half", partitions=2, rf=2, min_isr=1)
    good, bad, absent = (TopicPartition(t, p) for t, p in (("half", 0), ("half", 1), ("nowhere", 0)))
    target = (1002, 1000) if _partition(world, "half").replicas != (1002, 1000) else (1001, 1000)

    refused = world.gateway.reassign({good: target, bad: (1000, 4711), absent: (1000,)})

    assert set(refused) == {bad, absent}
    assert "broker 4711, but no such broker is registered" in refused[bad]
    assert "UnknownTopicOrPartition" in refused[absent]
    world.until(lambda: _partition(world, "half").replicas == target, "the good move to end")


def test_log_directories_are_named_for_replicas_that_are_still_to_come(world: World) -> None:
    world.create_topic("shelved", partitions=1, rf=2, min_isr=1)
    name, before = TopicPartition("shelved", 0), _partition(world, "shelved")
    newcomer = next(b for b in RACKS if b not in before.replicas)
    (directory,) = world.gateway.snapshot().log_dirs[newcomer].dirs
    for _ in range(2):
        world.gateway.prefer_log_dirs({newcomer: {name: directory.path}})
    with pytest.raises(KafkaRefused, match="LogDirNotFound"):
        world.gateway.prefer_log_dirs({newcomer: {name: "/nowhere"}})
    with pytest.raises(KafkaUnavailable):
        world.gateway.prefer_log_dirs({4711: {name: directory.path}})
    assert world.gateway.reassign({name: (newcomer, before.replicas[1])}) == {}
    world.until(lambda: not _partition(world, "shelved").is_moving, "the move to end")


def test_a_cancelled_move_reverts_and_nothing_to_cancel_is_no_error(world: World) -> None:
    world.create_topic("undone", partitions=1, rf=2, min_isr=1, bytes_per_partition=20 * MB)
    name = TopicPartition("undone", 0)
    before = _partition(world, "undone")
    target = (next(b for b in RACKS if b not in before.replicas), before.replicas[1])
    world.gateway.set_throttle(throttle_for([(name, before.replicas, target)], bytes_per_s=2 * MB))
    world.gateway.reassign({name: target})
    world.until(lambda: _partition(world, "undone").is_moving, "the move to be seen")

    assert world.gateway.cancel([name]) == {}
    world.until(lambda: _rests_on(world, "undone", before.replicas), "the move to be gone")
    assert world.gateway.cancel([name]) == {}
    assert set(world.gateway.cancel([TopicPartition("nowhere", 0)])) == {TopicPartition("nowhere", 0)}
    world.gateway.clear_throttles()


def test_throttles_become_exactly_what_is_wanted(world: World) -> None:
    world.create_topic("slow", partitions=1, rf=2, min_isr=1)
    first = ThrottlePlan({1000: 5 * MB}, {1001: 6 * MB}, {"slow": (("0:1000",), ("0:1001",))})
    second = ThrottlePlan({1000: 7 * MB}, {}, {})
    assert world.gateway.set_throttle(first) == 4
    world.until(lambda: world.gateway.snapshot().throttles == first.seen, "the first throttle")
    world.until(lambda: world.gateway.set_throttle(first) == 0, "nothing to be changed any more")
    assert world.gateway.set_throttle(second) == 4
    world.until(lambda: world.gateway.snapshot().throttles == second.seen, "the second throttle")
    assert world.gateway.clear_throttles() == 1
    world.until(lambda: not world.gateway.snapshot().throttles.any, "no throttle")


def test_a_foreign_left_over_is_found_and_cleared(world: World) -> None:
    set_defaults(world.gateway, {LEADER_RATE: "1000000", FOLLOWER_RATE: "2000000"})
    world.until(lambda: world.gateway.snapshot().throttles.any, "the left-over to be seen")
    throttles = world.gateway.snapshot().throttles
    assert (throttles.leader_rate, throttles.follower_rate) == ({-1: 1_000_000}, {-1: 2_000_000})
    assert world.gateway.clear_throttles() == 2
    world.until(lambda: not world.gateway.snapshot().throttles.any, "no throttle")
    world.until(lambda: set(defaults_of(world.gateway)) == {"min.insync.replicas"}, "our default alone")


def test_preferred_leaders_come_back_after_a_restart(world: World) -> None:
    world.create_topic("led", partitions=3, rf=3)
    assert may_stop_broker(world.gateway.snapshot(), 1001, allow_unavailable=frozenset({"single"})).open
    world.stop_broker(1001)
    world.until(lambda: world.gateway.snapshot().brokers[1001].fenced, "the stopped broker to be fenced")
    assert 1001 not in world.gateway.snapshot().live_brokers()
    assert 1001 not in world.gateway.snapshot().log_dirs
    assert all(p.leader != 1001 and 1001 not in p.isr for p in _partitions(world, "led"))
    refused = may_stop_broker(world.gateway.snapshot(), 1000, allow_unavailable=frozenset({"single"}))
    assert not refused.open
    assert "would fall below min ISR" in refused.reason

    world.start_broker(1001)
    world.until(lambda: all(1001 in p.isr for p in _partitions(world, "led")), "the broker to be back in all ISRs")
    assert world.gateway.elect_preferred([TopicPartition("led", 99)]) == 0
    assert world.gateway.elect_preferred(None) >= 1
    world.until(lambda: all(p.leader == p.replicas[0] for p in _partitions(world, "led")), "preferred leaders")
    assert world.gateway.elect_preferred([p.name for p in _partitions(world, "led")]) == 0


def test_a_feature_level_is_asked_for_before_it_is_finalised(world: World) -> None:
    world.gateway.update_feature("share.version", 1, validate_only=True)
    assert world.gateway.snapshot().features["share.version"].finalised == 0
    with pytest.raises(KafkaRefused) as refused:
        world.gateway.update_feature("metadata.version", 29, validate_only=True)
    assert f"ontroller {CONTROLLER} only supports versions 7-27" in refused.value.words
    assert next_feature_step(world.gateway.snapshot(), 27) is None


def test_live_values_are_offered_to_each_broker_set_and_read_back(world: World) -> None:
    step = LiveStep({"message.max.bytes": "2000000"})
    assert world.gateway.setting_refusals(step) == dict.fromkeys(RACKS)
    assert _runs_with(world, "message.max.bytes") == dict.fromkeys(RACKS, SettingSeen("1048588"))
    world.gateway.change_settings(step)
    shared = SettingSeen("2000000")
    world.until(lambda: _runs_with(world, "message.max.bytes") == dict.fromkeys(RACKS, shared), "the default")
    assert world.gateway.running_settings({"message.max.bytes"}).defaults == {"message.max.bytes": "2000000"}


def test_a_broker_has_a_value_of_its_own_until_it_is_taken_away(world: World) -> None:
    own = LiveStep({}, {1001: {"message.max.bytes": "3000000"}})
    assert world.gateway.setting_refusals(own) == dict.fromkeys(RACKS)
    world.gateway.change_settings(own)
    world.until(lambda: _runs_with(world, "message.max.bytes")[1001] == SettingSeen("3000000", True), "the own value")
    assert _runs_with(world, "message.max.bytes")[1000] == SettingSeen("2000000")
    world.gateway.change_settings(LiveStep({}, {1001: {"message.max.bytes": None}}))
    world.until(lambda: _runs_with(world, "message.max.bytes")[1001] == SettingSeen("2000000"), "the default again")
    set_defaults(world.gateway, {"message.max.bytes": None})


def test_each_broker_says_in_its_words_what_it_would_not_take(world: World) -> None:
    before = _runs_with(world, "num.io.threads")
    threads = world.gateway.setting_refusals(LiveStep({"num.io.threads": "999"}))
    assert set(threads) == set(RACKS)
    assert all("double the current value" in (words or "") for words in threads.values())
    fixed = world.gateway.setting_refusals(LiveStep({"num.partitions": "3"}))
    assert all("Cannot update these configs dynamically" in (words or "") for words in fixed.values())
    assert _runs_with(world, "num.io.threads") == before
    with pytest.raises(KafkaRefused):
        world.gateway.change_settings(LiveStep({"num.io.threads": "999"}))


def test_a_name_a_broker_does_not_know_is_not_among_its_settings(world: World) -> None:
    assert world.gateway.running_settings({"num.io.thread"}).brokers == {broker: {} for broker in RACKS}


def test_a_topic_is_asked_for_made_where_it_was_placed_grown_and_deleted(world: World) -> None:
    gateway = world.gateway
    made = TopicStep(create={"made": NewTopic(((1000, 1001), (1002, 1000)), {"retention.ms": "060000"})})
    assert gateway.topic_refusals(made) == {}
    assert gateway.topic_configs(["made"]) == {}, "asking makes nothing"
    assert gateway.change_topics(made) == {}
    world.until(lambda: replicas_of(gateway, "made") == [(1000, 1001), (1002, 1000)], "the topic as it was placed")
    assert gateway.topic_refusals(made) == gateway.change_topics(made) == {}, "what is there already is not a refusal"
    assert gateway.topic_configs(["made", "never"]) == {"made": {"retention.ms": "60000"}}
    grown = TopicStep(grow={"made": Growth(3, ((1001, 1002),))})
    assert gateway.topic_refusals(grown) == {}
    assert len(replicas_of(gateway, "made")) == 2
    assert gateway.change_topics(grown) == {}
    world.until(lambda: replicas_of(gateway, "made")[2:] == [(1001, 1002)], "the third partition")
    assert gateway.change_topics(grown) == {}
    assert gateway.change_topics(TopicStep(delete=("made", "never"))) == {}
    world.until(lambda: replicas_of(gateway, "made") == [], "the topic to be gone")


def test_values_of_a_topic_are_asked_for_set_and_taken_back_beside_throttles(world: World) -> None:
    gateway = world.gateway
    world.create_topic("valued", partitions=1, rf=3, min_isr=1)
    throttled = ThrottlePlan({1000: MB}, {1001: MB}, {"valued": (("0:1000",), ("0:1001",))})
    assert gateway.set_throttle(throttled) > 0
    values = TopicStep(configure={"valued": {"cleanup.policy": "compact, delete", "min.insync.replicas": None}})
    assert gateway.topic_refusals(values) == {}
    assert gateway.topic_configs(["valued"]) == {"valued": {"min.insync.replicas": "1"}}
    assert gateway.change_topics(values) == {}
    world.until(
        lambda: gateway.topic_configs(["valued"]) == {"valued": {"cleanup.policy": "compact,delete"}}, "the new values"
    )
    assert gateway.snapshot().throttles.topics == {"valued"}, "the executor's keys are not touched"
    gateway.clear_throttles()


def test_each_value_of_a_topic_says_where_it_comes_from_and_what_is_behind_it(world: World) -> None:
    gateway = world.gateway
    world.create_topic("layered", partitions=1, rf=1, min_isr=1)
    gateway.change_topics(TopicStep(configure={"layered": {"retention.ms": "60000", "compression.type": "gzip"}}))

    def values() -> Mapping[str, ValueSeen]:
        return gateway.topic_values("layered") or {}

    world.until(lambda: values()["retention.ms"].origin is ValueOrigin.TOPIC, "the topic's own value")
    gzip = ValueSeen("gzip", ValueOrigin.TOPIC, "producer", ValueOrigin.KAFKA_DEFAULT, "compression.type")
    assert values()["compression.type"] == gzip
    assert values()["retention.ms"] == ValueSeen("60000", ValueOrigin.TOPIC), "Kafka does not tell what is behind it"
    assert values()["min.insync.replicas"].behind == "2", "what the cluster has for topics without a value"
    assert values()["compression.lz4.level"] == ValueSeen("9", ValueOrigin.KAFKA_DEFAULT)
    assert not any("throttled.replicas" in key for key in values())
    assert gateway.topic_values("never") is None


def test_a_broker_says_of_each_setting_where_it_comes_from(world: World) -> None:
    gateway = world.gateway
    set_defaults(gateway, {"message.max.bytes": "2000000"})
    world.until(
        lambda: gateway.broker_values(1001)["message.max.bytes"].origin is ValueOrigin.CLUSTER_LIVE, "the default"
    )
    gateway.change_settings(LiveStep({}, {1001: {"message.max.bytes": "3000000"}}))
    world.until(
        lambda: gateway.broker_values(1001)["message.max.bytes"].origin is ValueOrigin.BROKER_LIVE, "its own value"
    )
    seen = gateway.broker_values(1001)["message.max.bytes"]
    assert seen == ValueSeen(
        "3000000", ValueOrigin.BROKER_LIVE, "2000000", ValueOrigin.CLUSTER_LIVE, "message.max.bytes"
    )
    assert gateway.broker_values(1002)["message.max.bytes"].origin is ValueOrigin.CLUSTER_LIVE
    assert gateway.broker_values(1002)["compression.gzip.level"] == ValueSeen("-1", ValueOrigin.KAFKA_DEFAULT)
    gateway.change_settings(LiveStep({}, {1001: {"message.max.bytes": None}}))
    set_defaults(gateway, {"message.max.bytes": None})


def test_an_empty_topic_begins_and_ends_at_0_and_one_that_is_not_there_is_none(world: World) -> None:
    world.create_topic("unwritten", partitions=3, rf=2)
    world.until(lambda: _bounds(world, "unwritten") == {(0, 0)}, "every leader's word")
    logs = world.gateway.topic_logs("unwritten")
    assert logs is not None
    assert list(logs.partitions) == [0, 1, 2]
    assert logs.left_out == 0
    assert world.gateway.topic_logs("never") is None


def _bounds(world: World, topic: str) -> set[tuple[int | None, int | None]]:
    logs = world.gateway.topic_logs(topic)
    return {(log.first, log.end) for log in logs.partitions.values()} if logs else set()


def test_kafka_says_of_each_topic_why_it_would_not_take_it(world: World) -> None:
    gateway = world.gateway
    world.create_topic("with.dot", partitions=1, rf=1)
    one = ((1000,),)
    step = TopicStep(
        create={"with_dot": NewTopic(one, {}), "elsewhere": NewTopic(((4711,),), {}), "fine": NewTopic(one, {})},
        grow={"nowhere": Growth(2, ((1000,),))},
        configure={"with.dot": {"retention.ms": "soon"}},
    )
    refused = gateway.topic_refusals(step)
    assert sorted(refused) == ["elsewhere", "nowhere", "with.dot", "with_dot"]
    assert "collides with existing topic" in refused["with_dot"]
    assert "4711" in refused["elsewhere"]
    assert "Unknown" in refused["nowhere"]
    assert "retention.ms" in refused["with.dot"]
    assert sorted(gateway.change_topics(step)) == sorted(refused)
    world.until(lambda: replicas_of(gateway, "fine") == [(1000,)], "the sound one")
    gateway.change_topics(TopicStep(delete=("fine", "with.dot")))


def replicas_of(gateway: KafkaGateway, topic: str) -> list[tuple[int, ...]]:
    return [p.replicas for p in gateway.snapshot().partitions if p.name.topic == topic]


def test_a_broker_is_drained_stopped_and_only_then_unregistered(world: World) -> None:
    moves = {}
    for p in world.gateway.snapshot().hosted_by(1002):
        others = [b for b in (1000, 1001) if b not in p.replicas]
        replacement = tuple(b if b != 1002 else others[0] for b in p.replicas if b != 1002 or others)
        moves[p.name] = replacement
    assert world.gateway.reassign(moves) == {}
    world.until(lambda: broker_is_empty(world.gateway.snapshot(), 1002).open, "broker 1002 to be empty")
    world.stop_broker(1002)
    world.until(lambda: 1002 not in world.gateway.snapshot().live_brokers(), "Kafka to fence it")
    assert world.gateway.unregister_broker(1002)
    world.until(lambda: 1002 not in world.gateway.snapshot().brokers, "broker 1002 to be forgotten")
    assert not world.gateway.unregister_broker(1002)


def test_a_controller_becomes_a_voter_once_it_has_caught_up(world: World) -> None:
    with pytest.raises(KafkaUnavailable):
        world.gateway.add_voter(101, "CSnKsACqWL2QdNr26bSUNw", host="127.0.30.102", port=9093)
    assert not may_stop_controller(world.gateway.snapshot(), CONTROLLER).open
    directory_id, host = world.add_controller(101)
    assert not _follows(world, 101, "CSnKsACqWL2QdNr26bSUNw")
    world.until(lambda: _follows(world, 101, directory_id), "controller 101 to catch up")

    assert world.gateway.add_voter(101, directory_id, host=host, port=9093)
    world.until(lambda: _voters(world) == {CONTROLLER, 101}, "two voters")
    assert not world.gateway.add_voter(101, directory_id, host=host, port=9093)
    assert not world.gateway.remove_voter(101, "CSnKsACqWL2QdNr26bSUNw")
    assert world.gateway.remove_voter(101, directory_id)
    world.until(lambda: _voters(world) == {CONTROLLER}, "one voter")
    world.stop_controller(101)


def _runs_with(world: World, name: str) -> dict[int, SettingSeen]:
    return {b: seen[name] for b, seen in world.gateway.running_settings({name}).brokers.items()}


def _partitions(world: World, topic: str) -> list[PartitionSeen]:
    return [p for p in world.gateway.snapshot().partitions if p.name.topic == topic]


def _partition(world: World, topic: str) -> PartitionSeen:
    return _partitions(world, topic)[0]


def _follows(world: World, controller: int, directory_id: str) -> bool:
    """Whether this very controller, by its id and directory, keeps up with the metadata log."""
    members = world.gateway.snapshot().quorum.members
    return any(is_following(m) for m in members if (m.id, m.directory_id) == (controller, directory_id))


def _voters(world: World) -> set[int]:
    return {m.id for m in world.gateway.snapshot().quorum.members if m.is_voter}
