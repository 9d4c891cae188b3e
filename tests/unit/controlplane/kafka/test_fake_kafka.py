"""The fake behaves like the brokers it stands for, in the ways a rollout can trip over."""

import pytest

from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.gates import broker_is_empty, is_following
from controlplane.kafka.throttle import throttle_for
from planner.observed import TopicPartition
from tests.fakes.kafka import FakeKafka

MB = 10**6
P0 = TopicPartition("orders", 0)


@pytest.fixture
def kafka() -> FakeKafka:
    """3 controllers, brokers 1 to 3 in a rack each."""
    cluster = FakeKafka()
    for controller in (100, 101, 102):
        cluster.add_controller(controller)
    for broker in (1, 2, 3):
        cluster.add_broker(broker, f"az-{broker}")
    return cluster


def test_a_throttled_copy_takes_the_time_real_brokers_take(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=3, bytes_per_partition=16 * MB)
    kafka.add_broker(4, "az-1")
    kafka.set_throttle(throttle_for([(P0, (1, 2, 3), (4, 2, 3))], bytes_per_s=2 * MB))
    kafka.reassign({P0: (4, 2, 3)})
    kafka.advance(9.9)
    assert kafka.snapshot().partitions[0].is_moving
    kafka.advance(0.2)  # 16 MB at 0.8 x 2 MB/s
    assert kafka.snapshot().partitions[0].replicas == (4, 2, 3)
    assert kafka.bytes_moved == pytest.approx(16 * MB)
    assert broker_is_empty(kafka.snapshot(), 1).open
    assert kafka.fell_below == []


def test_copies_share_the_throttle_of_their_destination(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=2, rf=3, bytes_per_partition=8 * MB)
    kafka.add_broker(4, "az-1")
    names = [p.name for p in kafka.partitions()]
    moves = [(n, (1, 2, 3), (4, 2, 3)) for n in names]
    kafka.set_throttle(throttle_for(moves, bytes_per_s=2 * MB))
    kafka.reassign(dict.fromkeys(names, (4, 2, 3)))
    kafka.advance(9.9)
    assert len(kafka.snapshot().moving()) == 2
    kafka.advance(0.2)
    assert kafka.snapshot().moving() == ()


def test_a_move_stalls_when_its_target_dies_and_goes_on_when_it_is_back(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=3, bytes_per_partition=100 * MB)
    kafka.add_broker(4, "az-1")
    kafka.reassign({P0: (4, 2, 3)})
    kafka.advance(0.5)
    kafka.kill_broker(4)
    kafka.advance(60)
    assert kafka.snapshot().partitions[0].adding == (4,)
    kafka.start_broker(4)
    kafka.advance(1)
    assert kafka.snapshot().partitions[0].replicas == (4, 2, 3)


def test_a_move_waits_for_every_target_replica_not_only_the_new_one(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=3)
    kafka.add_broker(4, "az-1")
    kafka.stop_broker(3)
    kafka.reassign({P0: (4, 2, 3)})
    kafka.advance(60)
    assert set(kafka.snapshot().partitions[0].isr) == {4, 1, 2}
    assert kafka.snapshot().partitions[0].is_moving
    kafka.start_broker(3)
    assert kafka.snapshot().partitions[0].replicas == (4, 2, 3)


def test_a_dead_broker_is_called_live_until_its_session_ends(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=3, rf=3)
    kafka.kill_broker(1)
    kafka.advance(8.9)
    assert not kafka.snapshot().brokers[1].fenced
    assert set(kafka.snapshot().log_dirs) == {2, 3}
    assert kafka.write("orders", 30) == 0, "its ISRs wait for it"
    kafka.advance(0.2)
    assert kafka.snapshot().brokers[1].fenced
    assert all(p.leader in (2, 3) and set(p.isr) == {2, 3} for p in kafka.partitions())
    assert kafka.write("orders", 30) == 30


def test_stopping_two_of_three_leaves_partitions_below_min_isr_and_says_by_what(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=3)
    kafka.stop_broker(1)
    assert kafka.fell_below == []
    kafka.stop_broker(2)
    kafka.advance(3)
    assert [(f.partition, f.cause) for f in kafka.fell_below] == [(P0, "stopping broker 2")]
    assert kafka.under_min_isr() == (P0,)
    assert kafka.under_min_isr_s == pytest.approx(3)
    assert kafka.write("orders", 10) == 0


def test_a_stopped_broker_catches_up_what_it_missed(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=3)
    kafka.stop_broker(1)
    assert kafka.write("orders", 1000, bytes_per_record=100_000) == 1000
    kafka.start_broker(1)
    assert 1 not in kafka.partitions()[0].isr
    kafka.advance(1.1)
    assert 1 in kafka.partitions()[0].isr
    assert kafka.partitions()[0].leader == 2, "leaders come back only when asked for"
    assert kafka.elect_preferred(None) == 1
    assert kafka.partitions()[0].leader == 1


def test_nothing_is_lost_while_one_disk_has_it_and_all_is_when_none_has(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=2, min_isr=1)
    assert kafka.write("orders", 10) == 10
    kafka.destroy_broker(1)
    kafka.advance(10)
    assert kafka.lost() == 0
    kafka.stop_broker(2)
    assert kafka.lost() == 0, "it is on a disk that exists"
    kafka.destroy_broker(2)
    assert kafka.lost() == kafka.acknowledged() == 10


def test_a_partition_without_its_clean_replica_stays_offline(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=2, min_isr=1)
    kafka.stop_broker(1)
    kafka.write("orders", 10)
    kafka.stop_broker(2)
    kafka.start_broker(1)
    kafka.advance(5)
    assert kafka.partitions()[0].leader == -1
    kafka.start_broker(2)
    kafka.advance(1)
    assert kafka.partitions()[0].leader == 2
    assert kafka.lost() == 0


def test_a_live_broker_that_is_unregistered_hangs(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=3)
    assert kafka.unregister_broker(1)
    assert 1 not in kafka.snapshot().brokers
    assert kafka.is_running(1)
    assert not kafka.stop_broker(1)
    kafka.kill_broker(1)
    assert not kafka.is_running(1)


def test_new_topics_land_on_a_broker_that_is_being_drained(kafka: FakeKafka) -> None:
    kafka.create_topic("late", partitions=3, rf=3)
    assert all(1 in p.replicas for p in kafka.partitions())
    kafka.stop_broker(1)
    with pytest.raises(KafkaRefused, match=r"only 2 broker\(s\) are unfenced"):
        kafka.create_topic("later", partitions=1, rf=3)
    kafka.create_topic("later", partitions=4, rf=2)
    assert all(1 not in p.replicas for p in kafka.partitions() if p.name.topic == "later")


def test_replicas_of_a_new_topic_are_spread_over_racks() -> None:
    kafka = FakeKafka()
    kafka.add_controller(100)
    for broker in range(1, 7):
        kafka.add_broker(broker, f"az-{(broker - 1) // 2}")
    kafka.create_topic("orders", partitions=6, rf=3)
    racks = {b.id: b.rack for b in kafka.snapshot().brokers.values()}
    assert all(len({racks[r] for r in p.replicas}) == 3 for p in kafka.partitions())


def test_a_quorum_without_majority_answers_nothing(kafka: FakeKafka) -> None:
    kafka.stop_controller(100)
    assert kafka.snapshot().quorum.leader == 101
    kafka.stop_controller(101)
    with pytest.raises(KafkaUnavailable, match="the quorum has no leader"):
        kafka.snapshot()
    kafka.start_controller(100)
    assert kafka.snapshot().quorum.leader == 100


def test_a_stopped_voter_is_seen_to_lag_and_to_be_silent(kafka: FakeKafka) -> None:
    kafka.stop_controller(101)
    kafka.advance(12)
    late = next(m for m in kafka.snapshot().quorum.members if m.id == 101)
    assert late.lag == 24
    assert late.silent_s == pytest.approx(12.0)
    assert not is_following(late)


def test_a_controller_under_its_old_id_with_a_new_disk_is_an_observer_first(kafka: FakeKafka) -> None:
    old = _directory(kafka, 101)
    kafka.stop_controller(101)
    assert kafka.remove_voter(101, old)
    new = kafka.add_controller(101, voter=False, version="4.2.0")
    with pytest.raises(KafkaUnavailable, match="lagging behind"):
        kafka.add_voter(101, new, host="h", port=9093)
    kafka.advance(1)
    assert [is_following(m) for m in kafka.snapshot().quorum.members if m.directory_id == new] == [True]
    assert kafka.add_voter(101, new, host="h", port=9093)
    assert {m.id for m in kafka.snapshot().quorum.members if m.is_voter} == {100, 101, 102}


def test_an_unreachable_broker_keeps_its_throttle_until_it_is_back(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=3)
    kafka.set_throttle(throttle_for([(P0, (1,), (1, 2))], bytes_per_s=MB))
    kafka.stop_broker(1)
    kafka.clear_throttles()
    assert not kafka.snapshot().throttles.any
    kafka.start_broker(1)
    assert kafka.snapshot().throttles.leader_rate == {1: MB}
    assert kafka.clear_throttles() == 1
    assert not kafka.snapshot().throttles.any


def test_a_lonely_replica_with_a_larger_min_isr_falls_below_while_it_moves(kafka: FakeKafka) -> None:
    kafka.create_topic("orders", partitions=1, rf=1, min_isr=2, bytes_per_partition=50 * MB)
    assert kafka.write("orders", 1) == 1
    kafka.reassign({P0: (3,)})
    assert kafka.write("orders", 1) == 0
    assert [f.cause for f in kafka.fell_below] == ["a reassignment"]
    kafka.advance(1)
    assert kafka.write("orders", 1) == 1


def test_an_outage_refuses_every_call(kafka: FakeKafka) -> None:
    kafka.outage = True
    for call in (kafka.snapshot, kafka.clear_throttles, lambda: kafka.elect_preferred(None)):
        with pytest.raises(KafkaUnavailable, match="an outage"):
            call()


def test_the_same_calls_give_the_same_cluster() -> None:
    def run() -> object:
        kafka = FakeKafka()
        kafka.add_controller(100)
        for broker in (1, 2, 3, 4):
            kafka.add_broker(broker, f"az-{broker % 3}")
        kafka.create_topic("orders", partitions=7, rf=3, bytes_per_partition=30 * MB)
        kafka.reassign({p.name: tuple(reversed(p.replicas)) for p in kafka.partitions()})
        kafka.reassign({p.name: tuple({1, 2, 3, 4} - {p.replicas[0]}) for p in kafka.partitions()})
        kafka.kill_broker(2)
        kafka.advance(4)
        kafka.start_broker(2)
        kafka.advance(4)
        return kafka.snapshot()

    assert run() == run()


def _directory(kafka: FakeKafka, controller: int) -> str:
    return next(m.directory_id for m in kafka.snapshot().quorum.members if m.id == controller)


def test_a_static_quorum_tells_no_directory_and_changes_no_voter_until_its_level_is_raised() -> None:
    kafka = FakeKafka()
    directories = {c: kafka.add_controller(c) for c in (100, 101, 102)}
    kafka.add_broker(1000, "a")
    kafka.finalised["kraft.version"] = 0
    assert {m.directory_id for m in kafka.snapshot().quorum.members if m.is_voter} == {"A" * 22}
    with pytest.raises(KafkaRefused, match="feature is 0"):
        kafka.remove_voter(102, directories[102])
    kafka.stop_controller(100)  # it led, and has told the next leader nothing
    with pytest.raises(KafkaRefused, match="not all of the voters support it"):
        kafka.update_feature("kraft.version", 1, validate_only=True)
    kafka.start_controller(100)
    kafka.stop_controller(102)  # it has told the leader of today
    kafka.update_feature("kraft.version", 1, validate_only=False)
    voters = {m.id: m.directory_id for m in kafka.snapshot().quorum.members if m.is_voter}
    assert voters == directories
    assert kafka.remove_voter(102, directories[102])
