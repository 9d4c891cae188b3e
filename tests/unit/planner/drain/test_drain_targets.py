"""Where replicas go, and in what words a drain is refused."""

from typing import Any

import pytest

from planner.drain.check import check
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot, TopicPartition
from tests.unit.planner.drain.drain_cases import GIB, MIB, partition, request, roll, scale_down, snapshot


def planned(answer: DrainPlan | Infeasible) -> DrainPlan:
    assert isinstance(answer, DrainPlan), answer
    return answer


def refused(answer: DrainPlan | Infeasible) -> Infeasible:
    assert isinstance(answer, Infeasible), answer
    return answer


def test_a_successor_takes_what_its_predecessor_had() -> None:
    _, asked = roll()
    plan = planned(solve(asked))
    assert len(plan.moves) == 12
    assert all(set(m.after) == {1003 if b == 1000 else b for b in m.before} for m in plan.moves)


def test_a_scale_down_empties_the_leaving_brokers_and_levels_the_others() -> None:
    seen, asked = scale_down()
    plan = planned(solve(asked))
    after = {m.name: m.after for m in plan.moves}
    final = [after.get(p.name, p.replicas) for p in seen.partitions]
    assert {b for ids in final for b in ids} == {1000, 1001, 1002}
    assert plan.certificate.measures.bytes.ratio == 1.0
    assert plan.certificate.measures.leaders.ratio == 1.0


def test_replicas_that_stay_are_not_moved() -> None:
    _, asked = scale_down()
    for move in planned(solve(asked)).moves:
        assert set(move.removed) == set(move.before) & set(asked.outgoing)


def test_least_loaded_targets_end_level() -> None:
    rows = [partition("t", i, (1,), size=(i % 9 + 1) * MIB) for i in range(300)]
    seen = snapshot(dict.fromkeys(range(1, 5), ""), rows)
    writes = {p.name: 0 for p in rows}
    plan = planned(solve(request(seen, outgoing=(1,), targets=(2, 3, 4), write_bytes_per_s=writes)))
    into = [sum(m.bytes for m in plan.moves if m.after == (b,)) for b in (2, 3, 4)]
    assert max(into) - min(into) <= 9 * MIB
    assert plan.certificate.measures.makespan_s.ratio < 1.05


def test_empty_partitions_are_moved_too() -> None:
    rows = [partition("t", i, (1,), size=0) for i in range(30)]
    seen = snapshot({1: "", 2: "", 3: "", 4: ""}, rows)
    plan = planned(solve(request(seen, outgoing=(1,), targets=(2, 3, 4))))
    assert (len(plan.moves), plan.certificate.measures.makespan_s.value) == (30, 0)


def test_a_partition_the_successor_already_holds_goes_to_another_target() -> None:
    seen = snapshot({1: "a", 2: "a", 3: "b", 4: "a"}, [partition("t", 0, (1, 2, 3))])
    plan = planned(solve(request(seen, outgoing=(1,), targets=(2, 4), successors={1: 2})))
    assert set(plan.moves[0].after) == {2, 3, 4}


def test_what_a_successor_holds_already_goes_elsewhere_and_the_rest_to_it() -> None:
    rows = [partition("t", 0, (1, 2, 3)), *(partition("t", i, (1, 3), size=i * MIB) for i in range(1, 9))]
    seen = snapshot({1: "a", 2: "a", 3: "b", 4: "a"}, rows)
    asked = request(seen, outgoing=(1,), targets=(2, 4), successors={1: 2})
    plan = planned(solve(asked))
    assert {m.partition: m.added for m in plan.moves if m.added} == {0: (4,), **dict.fromkeys(range(1, 9), (2,))}
    assert check(plan, seen, asked) == ()


def test_a_rack_that_still_has_a_broker_is_never_given_up() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "c", 4: "b", 5: "c"}, [partition("t", 0, (1, 2, 3))])
    answer = refused(solve(request(seen, outgoing=(3,), targets=(1, 2, 4))))
    assert answer.kind == "destination"
    assert "4 is in rack b, which has a replica of it already" in answer.message
    assert answer.message.endswith("broker 5 was left out: it is none of the targets")
    assert answer.stuck == (TopicPartition("t", 0),)


def test_a_worse_rack_of_a_successor_is_refused() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "b", 4: "a"}, [partition("t", 0, (1, 2))])
    answer = refused(solve(request(seen, outgoing=(1,), targets=(3,), successors={1: 3})))
    assert answer.kind == "destination"
    assert answer.message.endswith("broker 4 was left out: it is none of the targets")


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"fenced": (5,)}, "it is fenced or not registered"), ({"disks": {5: (-1, -1)}}, "its log directories have not")],
)
def test_a_broker_that_may_not_receive_is_not_asked_for_once_more(changes: dict[str, Any], why: str) -> None:
    """There is one in that rack: "add a broker in rack c" was no answer."""
    seen = snapshot({1: "a", 2: "b", 3: "c", 4: "b", 5: "c"}, [partition("t", 0, (1, 2, 3))], **changes)
    answer = refused(solve(request(seen, outgoing=(3,), targets=(1, 2, 4, 5))))
    assert (answer.kind, f"broker 5 was left out: {why}" in answer.message) == ("destination", True)


def test_two_targets_that_cannot_receive_for_two_reasons_are_both_named() -> None:
    seen = snapshot({1: "a", 3: "a", 4: "a"}, [partition("t", 0, (1,))], fenced=(3,), disks={4: (-1, -1)})
    answer = refused(solve(request(seen, outgoing=(1,), targets=(3, 4))))
    assert "broker 3 cannot receive: fenced" in answer.message
    assert "broker 4 cannot receive: its log directories have not been read" in answer.message


def test_what_neither_part_of_a_drain_can_place_is_told_together_and_the_rest_is_planned() -> None:
    """A log too large for the successor, and one that is on every broker: only the first was told, with no part."""
    rows = [partition("t", 0, (1, 2, 3)), partition("t", 1, (1,), size=9 * GIB), partition("t", 2, (1,), size=MIB)]
    seen = snapshot({1: "", 2: "", 3: ""}, rows, disks={2: (5 * GIB, 4 * GIB), 3: (5 * GIB, 4 * GIB)})
    answer = refused(solve(request(seen, outgoing=(1,), targets=(2, 3), successors={1: 2}, allow_partial=True)))
    assert {p.partition for p in answer.stuck} == {0, 1}
    assert "add a broker" in answer.message
    assert "found no disk" in answer.message
    assert answer.feasible_part is not None
    assert {m.partition for m in answer.feasible_part.moves if m.added} == {2}
    assert {d.name.partition for d in answer.feasible_part.deferred} == {0, 1}


def test_what_would_crowd_the_rack_of_a_successor_goes_to_another_one_and_the_rest_to_it() -> None:
    """The broker that leaves is registered in another rack than it should be, and Kafka has placed some by that."""
    rows = [partition("t", 0, (1, 2, 3)), partition("t", 1, (1, 2, 6))]
    seen = snapshot({1: "c", 2: "b", 3: "a", 4: "a", 5: "c", 6: "d"}, rows)
    asked = request(seen, outgoing=(1,), targets=(2, 3, 4, 5), successors={1: 4})
    plan = planned(solve(asked))
    assert {m.partition: m.added for m in plan.moves if m.added} == {0: (5,), 1: (4,)}
    assert check(plan, seen, asked) == ()


def test_a_replica_is_never_doubled() -> None:
    seen = snapshot({1: "", 2: "", 3: ""}, [partition("t", 0, (1, 2, 3))])
    answer = refused(solve(request(seen, outgoing=(1,), targets=(2, 3))))
    assert answer.kind == "broker"
    assert "add a broker" in answer.message


def test_a_disk_that_would_overflow_is_refused_with_the_numbers() -> None:
    rows = [partition("t", i, (1000,), size=4 * GIB) for i in range(3)]
    seen = snapshot({1000: "a", 1004: "a"}, rows, disks={1004: (10 * GIB, 10 * GIB)})
    answer = refused(solve(request(seen, outgoing=(1000,), targets=(1004,), successors={1000: 1004})))
    assert answer.kind == "disk"
    assert "below the limit of 90%" in answer.message
    assert "in rack a" in answer.message


def test_the_last_byte_below_the_limit_is_used() -> None:
    rows = [partition("t", i, (1000,), size=4 * GIB) for i in range(3)]
    room = 10 * GIB + int(3.5 * GIB)
    seen = snapshot({1000: "a", 1004: "a"}, rows, disks={1004: (room, room)})
    planned(solve(request(seen, outgoing=(1000,), targets=(1004,), successors={1000: 1004})))


def test_bytes_of_a_running_reassignment_count_against_the_disk() -> None:
    coming = partition("u", 0, (2, 3), size=6 * GIB, replicas=(4, 2, 3), adding=(4,), removing=(3,))
    mine = partition("t", 0, (1,), size=4 * GIB)
    seen = snapshot({1: "", 2: "", 3: "", 4: ""}, [coming, mine], disks={4: (10 * GIB, 10 * GIB)})
    answer = refused(solve(request(seen, outgoing=(1,), targets=(4,))))
    assert answer.kind == "destination"
    assert "4 has no room for it below the limit of 90%" in answer.message


def test_the_part_that_fits_comes_with_the_refusal_on_request() -> None:
    rows = [partition("t", i, (1000,), size=4 * GIB) for i in range(3)]
    seen = snapshot({1000: "a", 1004: "a"}, rows, disks={1004: (10 * GIB, 10 * GIB)})
    answer = refused(solve(request(seen, outgoing=(1000,), targets=(1004,), allow_partial=True)))
    assert answer.feasible_part is not None
    assert len(answer.feasible_part.moves) == 2
    assert [d.name for d in answer.feasible_part.deferred] == list(answer.stuck)


@pytest.mark.parametrize(("fenced", "disks", "kind"), [((3,), None, "target"), ((), {3: (-1, -1)}, "disk-unknown")])
def test_a_successor_that_cannot_receive_is_refused(
    fenced: tuple[int, ...], disks: dict[int, tuple[int, int]] | None, kind: str
) -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a"}, [partition("t", 0, (1, 2))], fenced=fenced, disks=disks)
    answer = refused(solve(request(seen, outgoing=(1,), targets=(3,), successors={1: 3})))
    assert (answer.kind, "broker 3" in answer.message) == (kind, True)


def test_an_unregistered_successor_is_refused() -> None:
    seen = snapshot({1: "a", 2: "b"}, [partition("t", 0, (1, 2))])
    assert refused(solve(request(seen, outgoing=(1,), targets=(9,), successors={1: 9}))).kind == "target"


def test_nothing_to_move_needs_no_target() -> None:
    seen = snapshot({1: "a", 2: "b"}, [partition("t", 0, (2,))])
    plan = planned(solve(request(seen, outgoing=(1,), targets=(9,), successors={1: 9})))
    assert (plan.moves, plan.checkpoints, plan.deferred) == ((), (), ())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"isr": (1, 2)}, "its replica on broker 3 is out of sync"),
        ({"leader": -1, "isr": ()}, "it has no leader to copy from"),
        ({"replicas": (4, 1, 2, 3), "adding": (4,), "removing": (3,)}, "another reassignment of it is running"),
    ],
)
def test_a_copy_that_could_not_end_is_not_started(changes: dict[str, object], reason: str) -> None:
    seen = snapshot({1: "a", 2: "b", 3: "c", 4: "a"}, [partition("t", 0, (1, 2, 3), **changes)])
    plan = planned(solve(request(seen, outgoing=(1,), targets=(4,))))
    assert not plan.moves
    assert [d.reason for d in plan.deferred] == [reason]


def test_a_dead_outgoing_broker_is_drained_from_the_replicas_in_sync() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a"}, [partition("t", 0, (1, 2), leader=2, isr=(2,))], fenced=(1,))
    assert set(planned(solve(request(seen, outgoing=(1,), targets=(3,)))).moves[0].after) == {2, 3}


def test_a_late_replica_on_a_leaving_broker_leaves_without_being_read() -> None:
    rows = [partition("t", i, (1, 2), leader=2, isr=(2,)) for i in range(4)]
    seen = snapshot({1: "a", 2: "b", 3: "a"}, rows)
    moves = planned(solve(request(seen, outgoing=(1,), targets=(3,)))).moves
    assert {m.source for m in moves} <= {2, None}
    assert [m.removed for m in moves] == [(1,)] * 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outgoing": (), "targets": (2,)}, "no outgoing broker"),
        ({"outgoing": (1,), "targets": (1,)}, "to be emptied and to receive"),
        ({"outgoing": (1,), "targets": (2,), "successors": {1: 3}}, "not among the targets"),
        ({"outgoing": (1,), "targets": (2,), "successors": {2: 2}}, "are not outgoing"),
        ({"outgoing": (1,), "targets": (2,), "round": 0}, "rounds count from 1"),
        ({"outgoing": (1,), "targets": (2,), "disk_limit_fraction": 1.5}, "disk_limit_fraction"),
        ({"outgoing": (1,), "targets": (2,), "throttle_cap_bytes_per_s": 0}, "throttle cap"),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(changes: dict[str, object], words: str) -> None:
    seen: KafkaSnapshot = snapshot({1: "a", 2: "b"}, [])
    with pytest.raises(ValueError, match=words):
        request(seen, **changes)
