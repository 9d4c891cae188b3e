"""Where partitions of heartbeats go, as brokers come and go."""

from planner.heartbeats import HEARTBEAT_CONFIG, HEARTBEAT_TOPIC, NOTHING_TO_DO, HeartbeatWork, heartbeat_work
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from tests.builders import a_partition, a_snapshot

THREE = (1000, 1001, 1002)


def beats(n: int, *replicas: int, **overrides: object) -> PartitionSeen:
    return a_partition(f"{HEARTBEAT_TOPIC}-{n}", replicas, min_isr=1, **overrides)


def work(kafka: KafkaSnapshot, receivers: tuple[int, ...] = THREE, known: tuple[int, ...] = ()) -> HeartbeatWork:
    return heartbeat_work(kafka, receivers, known or receivers)


def test_a_cluster_without_them_gets_a_partition_led_by_each_broker_spread_over_racks() -> None:
    made = work(a_snapshot(a_partition())).step.create[HEARTBEAT_TOPIC]
    assert [replicas[0] for replicas in made.partitions] == list(THREE)
    assert all(set(replicas) == set(THREE) for replicas in made.partitions)
    assert made.config == HEARTBEAT_CONFIG
    assert made.config["min.insync.replicas"] == "1", "no restart ever waits for heartbeats"


def test_there_are_as_many_replicas_as_brokers_and_three_at_most() -> None:
    (lone,) = work(a_snapshot(brokers=(1000,)), (1000,)).step.create[HEARTBEAT_TOPIC].partitions
    assert lone == (1000,)
    six = tuple(range(1000, 1006))
    for replicas in work(a_snapshot(brokers=six), six).step.create[HEARTBEAT_TOPIC].partitions:
        assert len({b % 3 for b in replicas}) == 3, "one in each rack"


def test_nothing_is_done_where_every_broker_leads_one() -> None:
    kafka = a_snapshot(beats(0, *THREE), beats(1, 1001, 1002, 1000), beats(2, 1002, 1000, 1001))
    assert work(kafka) == NOTHING_TO_DO
    assert not work(kafka)


def test_a_broker_that_came_gets_the_partition_of_the_one_that_left() -> None:
    # 1000 was drained: its replicas went to 1010, and 1001 leads two now.
    kafka = a_snapshot(
        beats(0, 1001, 1002, 1010),
        beats(1, 1001, 1002, 1010),
        beats(2, 1002, 1010, 1001),
        brokers=(1001, 1002, 1010),
    )
    found = work(kafka, (1001, 1002, 1010))
    assert not found.step
    ((name, replicas),) = found.moves.items()
    assert (name, replicas[0]) == (TopicPartition(HEARTBEAT_TOPIC, 1), 1010)
    assert set(replicas) == {1001, 1002, 1010}
    assert found.words == "partitions of the heartbeats: 1 placed anew"


def test_where_none_is_left_over_one_is_added() -> None:
    kafka = a_snapshot(beats(0, *THREE), beats(1, 1001, 1002, 1000), beats(2, 1002, 1000, 1001), brokers=(*THREE, 1003))
    found = work(kafka, (*THREE, 1003))
    growth = found.step.grow[HEARTBEAT_TOPIC]
    assert (growth.total, [replicas[0] for replicas in growth.added]) == (4, [1003])
    assert not found.moves


def test_a_broker_that_is_down_keeps_its_own() -> None:
    kafka = a_snapshot(
        beats(0, *THREE, leader=1001, isr=(1001, 1002)),
        beats(1, 1001, 1002, 1000),
        beats(2, 1002, 1000, 1001),
        brokers=(1001, 1002),
        fenced=(1000,),
    )
    assert work(kafka) == NOTHING_TO_DO


def test_replicas_that_were_too_few_are_added_once_there_are_brokers() -> None:
    found = work(a_snapshot(beats(0, 1000), brokers=(1000, 1001)), (1000, 1001))
    assert found.moves == {TopicPartition(HEARTBEAT_TOPIC, 0): (1000, 1001)}
    assert [r[0] for r in found.step.grow[HEARTBEAT_TOPIC].added] == [1001]


def test_one_change_is_seen_through_before_the_next() -> None:
    moving = beats(0, 1001, 1000, 1002, adding=(1002,))
    assert work(a_snapshot(moving)) == NOTHING_TO_DO


def test_a_broker_that_is_to_be_empty_gets_none() -> None:
    made = work(a_snapshot(), (1000, 1001), THREE).step.create[HEARTBEAT_TOPIC]
    assert {b for replicas in made.partitions for b in replicas} == {1000, 1001}
