"""Growing, demoting, repairing and re-factoring: who may move, what is never lost, what is missing."""

import numpy as np
import pytest

from planner.balance import (
    Balanced,
    Shortfall,
    add_brokers,
    change_replication_factor,
    demote,
    fix_offline,
    preferred,
)
from planner.drain.model.state import NO_BROKER
from planner.drain.replay.violation import PlanRule
from tests.unit.planner.balance.balance_cases import (
    ACTIVE,
    DEAD,
    NEW,
    OUTGOING,
    applied,
    broken_rules,
    cluster,
    healthy,
)


def test_new_brokers_get_their_share_and_nothing_else_moves() -> None:
    lists = [[0, 1], [1, 0], [0, 1], [1, 0], [0, 1], [1, 0]] * 4
    state = cluster("abc", [ACTIVE, ACTIVE, NEW], lists, egress=10.0, disk=10**5)
    answer = add_brokers(state, [1003])
    assert isinstance(answer, Balanced)
    assert broken_rules(state, answer.schedule) == ()
    after = applied(state, answer.schedule).partitions.replicas
    held = np.bincount(after.ravel(), minlength=3)
    assert held[2] >= np.floor(16 * 0.91)
    grown = {b for before, now in zip(lists, after.tolist(), strict=True) for b in set(now) - set(before)}
    assert grown == {2}
    assert answer.bytes_moved >= answer.bytes_bound > 0


def test_the_fullest_broker_gives_first() -> None:
    lists = [[0]] * 20 + [[1]] * 10
    state = cluster("aab", [ACTIVE, ACTIVE, NEW], lists, egress=10.0, disk=10**5)
    answer = add_brokers(state, [1003])
    assert isinstance(answer, Balanced)
    gave = np.bincount([lists[row][0] for row in answer.schedule.row.tolist()], minlength=2)
    assert gave[1] == 0


def test_topics_that_are_left_out_give_a_new_broker_nothing() -> None:
    state = cluster("abc", [ACTIVE, ACTIVE, NEW], [[0, 1], [1, 0]] * 6, egress=10.0, disk=10**5)
    assert len(add_brokers(state, [1003], excluded_topics=frozenset(state.partitions.topics)).schedule) == 0


def test_an_unknown_broker_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no broker 9"):
        add_brokers(healthy("ab", [[0]]), [9])


def test_a_demoted_broker_leads_nothing_and_no_byte_moves() -> None:
    state = healthy("abc", [[0, 1, 2], [0, 2, 1], [1, 0, 2]])
    answer = demote(state, [1001])
    assert broken_rules(state, answer.schedule) == ()
    assert answer.bytes_moved == 0
    after = applied(state, answer.schedule)
    assert 0 not in after.partitions.leader
    assert answer.left == ()
    assert (answer.schedule.source == NO_BROKER).all()


def test_what_only_the_demoted_broker_can_lead_is_named() -> None:
    answer = demote(healthy("ab", [[0], [0, 1]]), [1001])
    assert [row for row, _ in answer.left] == [0]


def test_a_list_on_a_broker_to_be_emptied_is_left_to_the_drain() -> None:
    state = cluster("abc", [ACTIVE, ACTIVE, OUTGOING], [[0, 2], [0, 1]], egress=10.0)
    answer = demote(state, [1001])
    assert broken_rules(state, answer.schedule) == ()
    assert [row for row, _ in answer.left] == [0]


def test_preferred_leaders_are_even() -> None:
    state = healthy("abc", [[0, 1], [0, 2], [0, 1]])
    answer = preferred(state)
    assert broken_rules(state, answer.schedule) == ()
    assert np.bincount(applied(state, answer.schedule).partitions.leader).max() == 1


def test_replicas_of_a_dead_broker_get_new_homes_in_other_racks() -> None:
    state = cluster(
        "abcc", [DEAD, ACTIVE, ACTIVE, ACTIVE], [[0, 1], [1, 0], [1, 2]], leader=[1, 1, 1],
        out_of_sync=[(0, 0), (1, 0)], egress=10.0,
    )  # fmt: skip
    answer = fix_offline(state)
    assert isinstance(answer, Balanced)
    assert broken_rules(state, answer.schedule) == ()
    assert sorted(answer.schedule.row.tolist()) == [0, 1]
    assert answer.schedule.source.tolist() == [1, 1]
    assert answer.bytes_moved == 200
    assert sorted(answer.schedule.after[:, 1].tolist()) in ([2, 3], [3, 3])


def test_a_dead_log_dir_is_left_by_its_replicas_alone() -> None:
    state = healthy("abc", [[0, 1], [0, 1], [1, 2]], out_of_sync=[(0, 0)], leader=[1, 0, 1])
    offline = np.zeros((3, 2), dtype=np.bool_)
    offline[0, 0] = True
    answer = fix_offline(state, offline)
    assert isinstance(answer, Balanced)
    assert answer.schedule.row.tolist() == [0]
    assert answer.schedule.after.tolist() == [[1, 2]]
    # The state has no log dirs, so the judge sees a replica that merely lags; every other rule holds.
    assert {v.rule for v in broken_rules(state, answer.schedule)} <= {PlanRule.IN_SYNC}


def test_a_partition_that_lost_all_copies_is_named_not_planned() -> None:
    state = cluster("ab", [DEAD, ACTIVE], [[0], [1]], leader=[NO_BROKER, 1], out_of_sync=[(0, 0)], egress=10.0)
    answer = fix_offline(state)
    assert isinstance(answer, Balanced)
    assert len(answer.schedule) == 0
    assert answer.left == ((0, "no replica in sync is alive: bring its broker back"),)


def test_too_few_brokers_for_the_homes_names_how_many() -> None:
    state = cluster("ab", [DEAD, ACTIVE], [[1, 0]], out_of_sync=[(0, 0)], egress=10.0)
    answer = fix_offline(state)
    assert isinstance(answer, Shortfall)
    assert (answer.missing.kind, answer.missing.amount, answer.stuck) == ("brokers", 1, (0,))


def test_too_little_disk_for_the_homes_names_the_bytes() -> None:
    state = cluster("abc", [DEAD, ACTIVE, ACTIVE], [[1, 0], [2]], out_of_sync=[(0, 0)], egress=10.0, size=[500, 600],
                    disk=1000)  # fmt: skip
    answer = fix_offline(state)
    assert isinstance(answer, Shortfall)
    assert (answer.missing.kind, answer.missing.amount) == ("disk", 500)
    assert answer.best is not None
    assert len(answer.best.schedule) == 0


def test_more_replicas_go_to_new_racks_and_nobody_leaves() -> None:
    state = healthy("aabc", [[0, 2], [2, 0]])
    answer = change_replication_factor(state, ["t"], 3)
    assert isinstance(answer, Balanced)
    after = applied(state, answer.schedule).partitions.replicas
    assert after[:, :2].tolist() == [[0, 2], [2, 0]]
    assert after[:, 2].tolist() == [3, 3]
    assert answer.bytes_moved == 200
    # H1 asks for as many replicas as before: that is what was asked to change.
    assert {v.rule for v in broken_rules(state, answer.schedule)} <= {PlanRule.TARGETS}


def test_fewer_replicas_keep_the_leader_and_the_racks() -> None:
    state = healthy("aab", [[0, 1, 2], [2, 0, 1]], leader=[1, 2])
    answer = change_replication_factor(state, ["t"], 2)
    assert isinstance(answer, Balanced)
    after = applied(state, answer.schedule).partitions
    assert sorted(after.replicas[0, :2].tolist()) == [1, 2]
    assert after.replicas[1, 0] == 2
    assert (after.replicas[:, 2] == NO_BROKER).all()
    assert answer.bytes_moved == 0
    assert answer.leader_changes == 0


def test_never_below_min_isr() -> None:
    answer = change_replication_factor(healthy("abc", [[0, 1, 2]], min_isr=2), ["t"], 1)
    assert isinstance(answer, Shortfall)
    assert answer.missing.kind == "in-sync"
    assert answer.stuck == (0,)


def test_more_replicas_than_brokers_names_how_many_are_missing() -> None:
    answer = change_replication_factor(healthy("abc", [[0, 1]]), ["t"], 5)
    assert isinstance(answer, Shortfall)
    assert (answer.missing.kind, answer.missing.amount) == ("brokers", 2)


def test_an_unknown_topic_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no topic nope"):
        change_replication_factor(healthy("ab", [[0]]), ["nope"], 1)
