"""A rebalance of brokers with several log directories: new replicas get one where one fits at once."""

from planner.balance.release import schedule_of
from planner.drain.model.state import ClusterState
from tests.unit.planner.balance.balance_cases import ACTIVE, broken_rules, cluster
from tests.unit.planner.drain.dir_cases import paths_of, with_dirs
from tests.unit.planner.drain.judge_cases import padded


def two_brokers(size: int) -> ClusterState:
    """Row 0 hands its log to row 1, whose directories have 60 and 80 bytes left below the limit."""
    state = cluster("aa", [ACTIVE, ACTIVE], [[0], [0]], size=size, disk_limit=0.8)
    return with_dirs(state, {1: [("/a", 100, 20), ("/b", 100, 0)]})


def test_a_new_replica_gets_the_directory_that_ends_emptiest() -> None:
    state = two_brokers(50)
    schedule = schedule_of(state, state.partitions.partition[:1], padded([[1]]))
    assert paths_of(state, schedule) == {(0, 1): "/b"}
    assert not broken_rules(state, schedule)
    assert schedule.assumptions == ()


def test_one_that_fits_no_directory_keeps_its_target_and_is_left_to_kafka() -> None:
    state = two_brokers(90)
    schedule = schedule_of(state, state.partitions.partition[:1], padded([[1]]))
    assert schedule.after.tolist() == [[1]]
    assert paths_of(state, schedule) == {}
    assert schedule.assumptions == (
        "1 partitions may fit no log directory of their target until others have left: Kafka's choice",
    )
