"""Which change of the voters comes next, and when it may be made."""

import itertools
from dataclasses import replace

import pytest

from controlplane.kafka.voters import (
    ForeignVoter,
    Seat,
    VoterStep,
    listed_enough,
    majority,
    may_add,
    may_remove,
    next_voter_change,
)
from planner.observed import QuorumSeen, VoterSeen


def voter(controller: int, *, lag: int = 0, silent_s: float = 0.3, votes: bool = True, disk: int = 1) -> VoterSeen:
    return VoterSeen(controller, f"dir-{controller}-{disk}", lag, votes, silent_s)


def dead(controller: int) -> VoterSeen:
    return voter(controller, lag=500, silent_s=60.0)


def observer(controller: int, *, lag: int = 0, disk: int = 1) -> VoterSeen:
    return voter(controller, lag=lag, votes=False, disk=disk)


def quorum(*members: VoterSeen, leader: int = 100) -> QuorumSeen:
    return QuorumSeen(leader, 1, members)


def seat(controller: int, *, stays: bool = True, disk: int = 1, lost: int = 0) -> Seat:
    others = frozenset({f"dir-{controller}-{lost}"}) if lost else frozenset[str]()
    return Seat(f"node-{controller}", controller, controller // 3, f"dir-{controller}-{disk}", stays, others, others)


def step(of: QuorumSeen, *seats: Seat) -> VoterStep:
    found = next_voter_change(of, seats)
    assert isinstance(found, VoterStep)
    return found


def three() -> list[VoterSeen]:
    return [voter(100), voter(101), voter(102)]


class TestNext:
    def test_nothing_when_exactly_those_that_stay_vote(self) -> None:
        assert next_voter_change(quorum(*three()), [seat(100), seat(101), seat(102)]) is None

    def test_a_voter_of_nobody_is_a_persons_to_undo(self) -> None:
        found = next_voter_change(quorum(*three(), voter(150)), [seat(100), seat(101), seat(102)])
        assert found == ForeignVoter(150, "dir-150-1")

    def test_a_directory_of_a_node_of_ours_that_nobody_knows_is_strange_too(self) -> None:
        found = next_voter_change(quorum(voter(100), voter(101, disk=9)), [seat(100), seat(101)])
        assert found == ForeignVoter(101, "dir-101-9")

    def test_an_older_directory_whose_process_may_still_run_is_not_touched(self) -> None:
        waiting = replace(seat(101, disk=2), others=frozenset({"dir-101-1"}))
        found = step(quorum(*three()), seat(100), waiting, seat(102))
        assert found.adds
        assert not found.gate.open

    def test_a_lost_directory_leaves_before_anybody_comes(self) -> None:
        seen = quorum(voter(100), dead(101), voter(102), observer(103))
        found = step(seen, seat(100), seat(101, disk=2, lost=1), seat(102), seat(103))
        assert (found.adds, found.directory_id, found.leaves) == (False, "dir-101-1", False)
        assert found.gate.open

    def test_two_newcomers_wait_for_each_other(self) -> None:
        seats = [seat(100), seat(101), seat(102)]
        alone = step(quorum(voter(100), observer(101), observer(102, lag=900)), *seats)
        assert not alone.gate.open
        assert "two get their votes together, 101 is ready: controller 102 is not caught up" in alone.gate.reason
        both = step(quorum(voter(100), observer(101), observer(102)), *seats)
        assert (both.adds, both.seat.id, both.gate.open) == (True, 101, True)

    def test_the_second_of_two_follows_though_it_is_alone_now(self) -> None:
        found = step(quorum(voter(100), voter(101), observer(102)), seat(100), seat(101), seat(102))
        assert (found.adds, found.seat.id, found.gate.open) == (True, 102, True)

    def test_nobody_leaves_while_somebody_is_still_to_come(self) -> None:
        found = step(quorum(*three(), observer(103, lag=900)), *(seat(c, stays=c != 102) for c in (100, 101, 102, 103)))
        assert found.adds

    def test_who_is_dead_and_to_leave_goes_before_anybody_comes(self) -> None:
        seats = [seat(100), seat(101, stays=False), seat(102), seat(103)]
        found = step(quorum(voter(100), dead(101), voter(102), observer(103)), *seats)
        assert (found.adds, found.seat.id, found.gate.open) == (False, 101, True)

    def test_who_is_dead_stays_while_the_others_are_no_majority_without(self) -> None:
        seats = [seat(100), seat(101, stays=False), seat(102), seat(103)]
        found = step(quorum(voter(100), dead(101), dead(102), observer(103)), *seats)
        assert (found.adds, found.gate.open) == (True, False)

    def test_the_newest_leaves_first_and_the_leader_last(self) -> None:
        members = [voter(c) for c in (100, 101, 102, 103, 104)]
        seats = [seat(c, stays=c < 103) for c in (100, 101, 102, 103, 104)]
        assert step(quorum(*members), *seats).seat.id == 104
        assert step(quorum(*members, leader=104), *seats).seat.id == 103

    def test_who_is_gone_leaves_before_who_serves(self) -> None:
        members = [voter(100), voter(101), voter(102), dead(103), voter(104)]
        found = step(quorum(*members), *(seat(c, stays=c < 103) for c in (100, 101, 102, 103, 104)))
        assert found.seat.id == 103
        assert found.gate.open


class TestMayAdd:
    def test_by_id_and_directory(self) -> None:
        assert may_add(quorum(*three(), observer(103)), 103, "dir-103-1").open
        other = may_add(quorum(*three(), observer(103, disk=2)), 103, "dir-103-1")
        assert not other.open
        assert "does not follow the quorum yet" in other.reason

    def test_not_while_it_lags(self) -> None:
        gate = may_add(quorum(*three(), observer(103, lag=20)), 103, "dir-103-1")
        assert gate.reason == "controller 103 is not caught up: 103 is 20 records behind, silent for 0.3 s"

    def test_an_odd_quorum_with_one_down_gets_nobody_and_an_even_one_does(self) -> None:
        odd = may_add(quorum(voter(100), voter(101), dead(102), observer(103)), 103, "dir-103-1")
        assert "one more voter would make the majority 3" in odd.reason
        assert may_add(quorum(*three(), dead(104), observer(103)), 103, "dir-103-1").open

    def test_not_without_a_majority(self) -> None:
        assert not may_add(quorum(voter(100), dead(101), observer(102)), 102, "dir-102-1").open


class TestMayRemove:
    def test_the_only_voter_never_goes(self) -> None:
        gate = may_remove(quorum(voter(100)), 100, "dir-100-1")
        assert (gate.open, gate.reason) == (False, "controller 100 is the only voter")

    @pytest.mark.parametrize("trouble", [dead(102), voter(102, silent_s=3.0)], ids=["dead", "silent"])
    def test_one_that_serves_stays_while_another_does_not_keep_up(self, trouble: VoterSeen) -> None:
        members = [voter(100), voter(101), trouble, voter(103), voter(104)]
        gate = may_remove(quorum(*members), 104, "dir-104-1")
        assert not gate.open
        assert "controller 104 is needed" in gate.reason

    def test_the_second_of_two_may_go(self) -> None:
        assert may_remove(quorum(voter(100), voter(101)), 101, "dir-101-1").open

    def test_a_dead_one_of_two_cannot_be_removed(self) -> None:
        assert not may_remove(quorum(voter(100), dead(101)), 101, "dir-101-1").open


@pytest.mark.parametrize("size", range(1, 7))
def test_no_open_gate_ever_costs_the_majority(size: int) -> None:
    """Every mix of voters that keep up and voters that do not: a change keeps the margin, or ends above it."""
    for ups in itertools.product([True, False], repeat=size):
        members = [voter(100 + n) if up else dead(100 + n) for n, up in enumerate(ups)]
        up = sum(ups)
        margin = up - majority(size)
        if may_add(quorum(*members, observer(199)), 199, "dir-199-1").open:
            assert up >= majority(size)
            assert up + 1 >= majority(size + 1)
            assert up == size or up + 1 - majority(size + 1) > margin
        for n, is_up in enumerate(ups):
            if may_remove(quorum(*members), 100 + n, f"dir-{100 + n}-1").open:
                left = up - is_up
                assert up >= majority(size)
                assert left >= majority(size - 1)
                assert not is_up or left == size - 1, "one that serves goes only while all others keep up"


@pytest.mark.parametrize(
    ("listed", "voters", "enough"),
    [
        ({100}, {100}, True),
        ({100}, {100, 101, 102}, False),
        ({100, 101}, {100, 101, 102}, True),
        ({100, 101}, {100, 101, 102, 103, 104}, False),
        ({100, 101, 102}, {100, 101, 102, 103, 104}, True),
        ({100, 101, 102, 103, 104}, {100, 101, 102}, True),
        ({103, 104}, {100}, False),
    ],
)
def test_a_list_names_more_than_may_fail_at_once(listed: set[int], voters: set[int], enough: bool) -> None:
    assert listed_enough(listed, voters) is enough
