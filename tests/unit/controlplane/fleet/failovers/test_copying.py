"""How far a copy is behind, out of looks; and what of it is told before a failover."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.fleet.failovers.copying import (
    MOST_LOOKS,
    CopyHistory,
    copy_seen,
    drained_topics,
    lag_s,
    left_records,
    suspected_markers,
    with_look,
)
from controlplane.fleet.failovers.losses import loss_of
from controlplane.fleet.failovers.seen import CopySeen, PairSeen
from controlplane.kafka.pair_copies.values import CopyPositions, LogExtent, PartitionTail, TailMatch
from events.failover_facts import TopicEnds
from planner.observed import TopicPartition
from tests.unit.controlplane.fleet.failovers.pair_world import PairWorld

P, Q = TopicPartition("orders", 0), TopicPartition("orders", 1)
START = datetime(2026, 11, 30, 12, tzinfo=UTC)
Ends = dict[TopicPartition, int | tuple[int, int]]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def look(
    seconds: float, source: Ends, committed: dict[TopicPartition, int] | None = None, target: Ends | None = None
) -> CopyPositions:
    """Ends, or beginnings and ends. Without `target` it has something, and nobody knows what."""
    behind: Ends = dict.fromkeys(source, 1) if target is None else target
    return CopyPositions(at(seconds), extents(source), extents(behind), committed or {})


def extents(ends: Ends) -> dict[TopicPartition, LogExtent]:
    return {p: LogExtent(*e) if isinstance(e, tuple) else LogExtent(0, e) for p, e in ends.items()}


def history(looks: Iterable[CopyPositions]) -> CopyHistory:
    found = CopyHistory()
    for one in looks:
        found = with_look(found, one)
    return found


def same(source: int, target: int, source_end: int, target_end: int | None = None) -> PartitionTail:
    return PartitionTail(TailMatch.SAME, source, target, source_end, target_end or target + 1)


# --- records --------------------------------------------------------------------------------------------------------


def test_what_is_left_is_behind_the_last_offset_that_was_written_down() -> None:
    assert left_records(look(0, {P: 100, Q: 50}, {P: 89, Q: 49})) == {P: 10, Q: 0}


def test_what_is_left_is_never_less_than_nothing_nor_more_than_the_log_holds() -> None:
    assert left_records(look(0, {P: (80, 100)}, {P: 9})) == {P: 20}
    assert left_records(look(0, {P: (100, 100)}, {P: 9})) == {P: 0}


def test_without_a_word_of_the_replicator_nobody_knows_what_is_left() -> None:
    assert left_records(look(0, {P: 100})) == {P: None}


def test_into_an_empty_target_all_is_left() -> None:
    assert left_records(look(0, {P: (3, 100)}, target={P: 0})) == {P: 97}
    assert left_records(look(0, {P: 0}, target={P: 0})) == {P: 0}


def test_where_offsets_are_known_to_be_identical_the_targets_end_tells_it_before_the_replicator_does() -> None:
    tails = {P: same(59, 59, 60)}
    assert left_records(look(0, {P: 100}, target={P: 95}), tails) == {P: 5}
    assert left_records(look(0, {P: 100}, {P: 89}, target={P: 95}), tails) == {P: 5}
    assert left_records(look(0, {P: 100}, {P: 97}, target={P: 95}), tails) == {P: 2}
    assert left_records(look(0, {P: 100}, target={P: 105}), {P: same(59, 69, 60)}) == {P: 5}


def test_a_distance_that_leads_behind_the_sources_end_is_an_old_one() -> None:
    assert left_records(look(0, {P: 100}, {P: 89}, target={P: 103}), {P: same(59, 59, 60)}) == {P: 10}


def test_an_offset_behind_the_sources_end_is_of_another_log() -> None:
    assert left_records(look(0, {P: 5}, {P: 99})) == {P: None}


# --- seconds --------------------------------------------------------------------------------------------------------


def test_seconds_are_those_since_the_last_ends_that_are_all_copied() -> None:
    seen = history(
        [
            look(0, {P: 100, Q: 10}, {P: 99, Q: 9}),
            look(5, {P: 200, Q: 10}, {P: 120, Q: 9}),
            look(10, {P: 300, Q: 10}, {P: 199, Q: 9}),
            look(15, {P: 400, Q: 10}, {P: 250, Q: 9}),
        ]
    )
    assert lag_s(seen, at(16)) == 11.0


def test_of_a_copy_that_has_all_the_seconds_are_the_age_of_the_look() -> None:
    seen = history([look(0, {P: 100}, {P: 99})])
    assert (lag_s(seen, at(0)), lag_s(seen, at(7))) == (0.0, 7.0)


def test_seconds_are_unknown_before_anything_was_copied_whole_and_of_partitions_that_nobody_tells_of() -> None:
    assert lag_s(CopyHistory(), at(0)) is None
    assert lag_s(history([look(0, {P: 100}, {P: 49}), look(5, {P: 100}, {P: 59})]), at(5)) is None
    assert lag_s(history([look(0, {P: 100, Q: 5}, {P: 99})]), at(0)) is None
    assert lag_s(history([look(0, {})]), at(0)) is None


def test_a_partition_that_appears_has_to_be_copied_as_it_was_first_seen() -> None:
    """It may be a topic that was let in with all its records: "recent" would be a guess."""
    looks = [look(0, {P: 10}, {P: 9}), look(5, {P: 10, Q: 1000}, {P: 9, Q: 4})]
    assert lag_s(history(looks), at(5)) is None
    looks.append(look(10, {P: 10, Q: 1100}, {P: 9, Q: 999}))
    assert lag_s(history(looks), at(10)) == 5.0


def test_a_partition_that_vanishes_is_waited_for_no_more() -> None:
    looks = [look(0, {P: 10, Q: 50}, {P: 9, Q: 20}), look(5, {P: 10}, {P: 9})]
    assert lag_s(history(looks), at(5)) == 0.0


def test_a_clock_that_goes_back_makes_earlier_times_worthless() -> None:
    looks = [look(100, {P: 10}, {P: 9}), look(50, {P: 20}, {P: 9})]
    assert lag_s(history(looks), at(50)) is None
    looks.append(look(55, {P: 20}, {P: 19}))
    assert lag_s(history(looks), at(55)) == 0.0
    assert lag_s(history(looks), at(54)) is None


def test_what_is_kept_is_bounded_and_tells_more_seconds_rather_than_fewer() -> None:
    behind = history([look(0, {P: 10}, {P: 9}), *(look(n, {P: 10 + n}, {P: 9}) for n in range(1, 10 * MOST_LOOKS))])
    assert len(behind.past) <= MOST_LOOKS
    assert lag_s(behind, at(2000)) == 2000.0
    nearly = with_look(behind, look(2000, {P: 2000}, {P: 509}))
    found = lag_s(nearly, at(2000))
    assert found is not None
    assert 1501.0 <= found < 1600.0


def test_of_a_copy_that_keeps_up_two_looks_are_kept() -> None:
    kept = history(look(n, {P: 10 + n}, {P: 9 + n}) for n in range(50))
    assert len(kept.past) == 2


# --- markers --------------------------------------------------------------------------------------------------------


def test_a_marker_at_the_end_counts_as_left_until_the_tail_says_that_it_is_none() -> None:
    """Offset 100 is the marker's: MirrorMaker never writes it down."""
    seen = history([look(0, {P: 101}, {P: 99}), look(5, {P: 101}, {P: 99})])
    assert left_records(look(5, {P: 101}, {P: 99})) == {P: 1}
    assert suspected_markers(seen) == {P}
    tails = {P: same(99, 99, 101)}
    assert left_records(look(5, {P: 101}, {P: 99}), tails) == {P: 0}
    assert suspected_markers(seen, tails) == frozenset()
    assert lag_s(seen, at(5), tails) == 0.0


def test_a_tail_of_before_the_log_grew_says_nothing_of_its_end() -> None:
    tails = {P: same(99, 99, 101)}
    seen = look(5, {P: 105}, {P: 99}, target={P: 100})
    assert left_records(seen, tails) == {P: 5}


def test_a_log_that_grows_is_not_suspected() -> None:
    assert suspected_markers(history([look(0, {P: 100}, {P: 99}), look(5, {P: 120}, {P: 99})])) == frozenset()
    assert suspected_markers(history([look(0, {P: 100}, {P: 50})])) == frozenset()


# --- drained --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tail", "committed", "is_drained"),
    [
        (same(99, 99, 100), {}, True),
        (same(98, 98, 100), {}, True),
        (same(99, 104, 100), {P: 99}, True),
        (same(99, 104, 100), {P: 98}, False),
        (same(99, 104, 100), {}, False),
        (same(89, 89, 90), {P: 99}, False),
        (PartitionTail(TailMatch.EMPTY, None, None, 100, 0), {}, True),
        (PartitionTail(TailMatch.EMPTY, None, None, 90, 0), {}, False),
        (PartitionTail(TailMatch.DIFFERENT, 99, 98, 100, 99), {P: 99}, False),
        (PartitionTail(TailMatch.UNKNOWN, why="no leader"), {P: 99}, False),
        (None, {P: 99}, False),
    ],
)
def test_drained_is_what_ends_with_the_same_record_and_does_not_grow(
    tail: PartitionTail | None, committed: dict[TopicPartition, int], is_drained: bool
) -> None:
    tails = {} if tail is None else {P: tail}
    assert (drained_topics(history([look(0, {P: 100}, committed)]), tails) is not None) == is_drained


def test_a_copy_is_drained_once_each_partition_is() -> None:
    seen = history([look(0, {P: 100, Q: 50}, {Q: 49})])
    assert drained_topics(seen, {P: same(99, 99, 100)}) is None
    both = {P: same(99, 99, 100), Q: same(49, 53, 50)}
    assert drained_topics(seen, both) == {"orders": TopicEnds("", (100, 50), (100, 54))}
    assert drained_topics(history([look(0, {})]), {}) is None


def test_a_topic_that_was_made_anew_on_either_side_is_never_told_as_drained_though_its_end_is_the_same() -> None:
    tails = {P: same(99, 99, 100)}
    begun = look(0, {P: 100}, {P: 99}, {P: 100})
    for source_ids, target_ids in (({"orders": "b"}, {"orders": "x"}), ({"orders": "a"}, {"orders": "y"})):
        first = replace(begun, source_ids={"orders": "a"}, target_ids={"orders": "x"})
        later = replace(begun, at=at(5), source_ids=source_ids, target_ids=target_ids)
        as_before = history([first, replace(first, at=at(5))])
        assert drained_topics(as_before, tails) == {"orders": TopicEnds("x", (100,), (100,))}
        seen = history([first, later, replace(later, at=at(10))])
        found = copy_seen(seen, at(10), tails=tails)
        assert (found.drained, found.lag_s) == (None, None)
        assert "orders was deleted and made anew since the copy began" in found.problem


# --- gaps -----------------------------------------------------------------------------------------------------------


def test_what_retention_took_uncopied_is_a_gap_that_stays_told() -> None:
    looks = [look(0, {P: (0, 100)}, {P: 19}), look(5, {P: (60, 120)}, {P: 19}), look(10, {P: (60, 130)}, {P: 129})]
    assert history(looks[:1]).found.gaps == {}
    assert history(looks).found.gaps == {P: 40}
    assert with_look(history(looks), look(15, {P: (135, 140)}, {P: 129})).found.gaps == {P: 40}


def test_what_was_gone_before_the_copy_began_is_no_gap() -> None:
    assert history([look(0, {P: (60, 120)}, target={P: 0})]).found.gaps == {}


def test_a_log_that_was_made_anew_is_named_and_its_seconds_begin_anew() -> None:
    seen = history([look(0, {P: 100}, {P: 99}), look(5, {P: 7}, {P: 99})])
    assert seen.found.remade == {P}
    found = copy_seen(seen, at(5))
    assert found.lag_s is None
    assert found.problem == (
        "how far orders-0 is copied is not known; "
        "orders-0 ended before what was copied of it: its topic was made anew, or it lost records"
    )
    assert history([look(0, {P: 100}, {P: 9}), look(5, {P: 50}, {P: 9})]).found.remade == {P}


# --- what steps and people are given ----------------------------------------------------------------------------------


def test_a_copy_is_told_as_steps_take_it() -> None:
    seen = history([look(0, {P: 100, Q: 10}, {P: 99, Q: 9}), look(5, {P: 130, Q: 10}, {P: 109, Q: 9})])
    assert copy_seen(seen, at(6)) == CopySeen(6.0, {"orders-0": 20})
    whole = history([look(0, {P: 100}, {P: 99})])
    tails = {P: same(99, 99, 100)}
    assert copy_seen(whole, at(0), tails=tails) == CopySeen(0.0, {}, {"orders": TopicEnds("", (100,), (100,))})
    assert copy_seen(CopyHistory(), at(0)) == CopySeen(problem="nobody has looked yet")


def test_ends_that_are_not_known_are_told_with_why() -> None:
    tails = {P: PartitionTail(TailMatch.UNKNOWN, why="it has no leader")}
    found = copy_seen(history([look(0, {P: 100}, {P: 99})]), at(0), tails=tails)
    assert found.problem == "the end of orders-0 (it has no leader) is not known"


def test_gaps_and_what_is_not_known_are_said_before_a_failover() -> None:
    view = PairWorld(1, warm=True).view
    gaps = CopySeen(2.0, {}, gaps={"orders-0": 40})
    line = "up to so many records were deleted by retention before they were copied, and are on neither: orders-0: 40"
    assert line in loss_of(view, PairSeen(copy=gaps), planned=False).lines
    planned = loss_of(view, PairSeen(copy=gaps), planned=True)
    assert line in planned.lines
    assert planned.is_nothing
    unknown = loss_of(view, PairSeen(copy=CopySeen(problem="nobody has looked yet")), planned=False)
    assert "nobody has looked yet" in unknown.lines
    assert unknown.exceeds(10_000)
