"""When `min.insync.replicas` may change: what is in hand, who is in sync, who would lose a leader's only successors."""

from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.converger.questions.rolls.stale_stops import ON_ITS_WAY
from controlplane.converger.questions.running.min_isr import default_gate, fall_gate, rise_gate, stop_in_progress
from planner.observed import PartitionSeen
from tests.builders import BEFORE, NOW, a_document, a_partition, a_snapshot, a_view, an_instance

NONE_IN_HAND = "every partition it is for has a leader"


def _rise(
    *partitions: PartitionSeen, wanted: int = 3, view: ClusterView | None = None, **more: Any
) -> tuple[bool, str]:
    gate = rise_gate(view or a_view(), a_snapshot(*partitions), partitions, wanted, **more)
    return gate.open, gate.reason


# --- who is in sync ---------------------------------------------------------------------------------------------------


def test_it_rises_where_all_that_it_will_ask_for_are_in_sync() -> None:
    assert _rise(a_partition()) == (True, NONE_IN_HAND)
    assert _rise(a_partition(isr=(1000, 1001)), wanted=3) == (
        False,
        "1 partitions have too few replicas in sync for it, "
        "orders-0 among them (ISR [1000, 1001] of [1000, 1001, 1002])",
    )


def test_one_replica_takes_writes_under_any_value_and_not_while_others_are_to_come() -> None:
    lonely = a_partition(replicas=(1000,), min_isr=1, configured_min_isr=1)
    assert _rise(lonely, wanted=2)[0]
    assert not _rise(lonely, wanted=2, replicas=3)[0]
    assert _rise(a_partition(), wanted=2, replicas=1)[0], "as many as it has already"


def test_fewer_replicas_than_it_asks_for_are_no_reason_while_they_are_in_sync() -> None:
    two = a_partition(replicas=(1000, 1001), configured_min_isr=1, min_isr=1)
    assert _rise(two, wanted=3)[0]
    assert not _rise(two, wanted=3, away=(1001,))[0]


def test_who_is_known_to_be_away_is_not_in_sync_whatever_kafka_says() -> None:
    assert not _rise(a_partition(), away=(1002,))[0]
    assert _rise(a_partition(), wanted=3, away=(1007,))[0]


def test_partitions_that_ask_for_as_much_already_are_not_looked_at() -> None:
    asks_already = a_partition(isr=(1000,), configured_min_isr=3)
    assert _rise(asks_already, wanted=3)[0]
    assert not _rise(a_partition(isr=(1000,), configured_min_isr=2), wanted=3)[0]


def test_what_is_being_moved_waits_and_the_first_of_several_is_named() -> None:
    moving = a_partition("late-0", (1000, 1001, 1002, 1003), isr=(1000, 1001, 1002, 1003), adding=(1003,))
    (is_open, reason) = _rise(moving, a_partition("orders-1", isr=(1000,)))
    assert not is_open
    assert reason == (
        "2 partitions have too few replicas in sync for it, late-0 among them "
        "(ISR [1000, 1001, 1002, 1003] of [1000, 1001, 1002, 1003], being moved)"
    )


def test_nothing_changes_under_a_partition_without_a_leader() -> None:
    leaderless = a_partition(leader=-1)
    assert fall_gate([a_partition(), leaderless]).open is False
    assert fall_gate([leaderless]).reason == "orders-0 has no leader, and would lose those who may become it"
    for first_ids in (0, 1):
        assert fall_gate([a_partition(leader=first_ids)]).open
    assert not _rise(leaderless)[0]


# --- the cluster's default --------------------------------------------------------------------------------------------


def _default(*partitions: PartitionSeen, running: tuple[int, ...] = (2,), wanted: int = 3) -> bool:
    return default_gate(a_view(), a_snapshot(*partitions), running, wanted).open


def test_the_default_is_judged_by_the_partitions_that_may_follow_it() -> None:
    thin = {"isr": (1000,)}
    assert not _default(a_partition(configured_min_isr=2, **thin))
    assert not _default(a_partition(configured_min_isr=0, **thin)), "nobody said what it has"
    assert _default(a_partition(configured_min_isr=1, **thin)), "it has a value of its own"


def test_where_one_broker_has_a_smaller_value_it_rises() -> None:
    thin = a_partition(configured_min_isr=2, isr=(1000,))
    assert not _default(thin, running=(2, 3), wanted=3)
    assert _default(thin, running=(3,), wanted=2), "it falls"
    assert _default(thin, running=(2,), wanted=2), "it stays"
    assert not _default(a_partition(leader=-1), running=(3, 2), wanted=2)


# --- what is in hand --------------------------------------------------------------------------------------------------


def _held(view: ClusterView) -> str:
    kafka = a_snapshot(a_partition())
    rises, default = rise_gate(view, kafka, [], 3), default_gate(view, kafka, (2,), 3)
    assert rises.open == default.open
    if rises.open:
        return ""
    assert rises.reason == default.reason
    return rises.reason


def test_at_rest_nothing_is_in_the_way() -> None:
    assert _held(a_view()) == ""
    assert stop_in_progress(a_view(), a_snapshot()) == ""


@pytest.mark.parametrize(("later", "told"), [(timedelta(0), True), (timedelta(microseconds=1), False)])
def test_who_was_told_to_stop_may_yet_obey_for_as_long_as_an_order_is_on_its_way(later: timedelta, told: bool) -> None:
    view = a_view(orders={"brokers-b-0": NOW - ON_ITS_WAY - later, "brokers-c-0": NOW - ON_ITS_WAY - later})
    said = "brokers-b-0 was told to stop or to start anew, and may yet obey" if told else ""
    assert _held(view) == said


def test_the_first_that_is_being_started_anew_is_named() -> None:
    restarts = {
        key: RestartView(key, 1, BEFORE, False, Before(None, None)) for key in ("brokers-c-0.g1", "brokers-b-0.g1")
    }
    assert _held(a_view(restarts=restarts)) == "brokers-b-0.g1 is being started anew"


def test_who_is_being_stopped_is_counted_on_until_it_has() -> None:
    view = a_view(an_instance("brokers-b-0", 1, Phase.FENCING))
    assert _held(view) == "brokers-b-0.g1 is being stopped"


@pytest.mark.parametrize(
    "more",
    [(an_instance("brokers-a-0", 2),), (an_instance("brokers-a-0", 1, Phase.DRAINING),)],
    ids=["two of a node", "drains"],
)
def test_nothing_rises_while_vms_are_replaced(more: Any) -> None:
    assert _held(a_view(*more)) == "VMs are being made, emptied, handed over or mended"


def _rolling(**overrides: Any) -> ClusterView:
    """A roll to another version that has begun."""
    values = {"document": a_document(version="4.2.0"), "generation": 1, "recycling": 1, **overrides}
    return a_view(**values)


def test_nothing_rises_in_the_middle_of_a_roll() -> None:
    assert _held(_rolling()) == "a roll runs"
    assert _held(_rolling(generation=2, recycling=2)) == "a roll runs"
    assert _held(_rolling(document=a_document())) == "", "every VM is as declared"
    assert _held(_rolling(generation=2, recycling=1)) == "", "that one has not begun"
    assert _held(_rolling(generation=0, recycling=0)) == "", "none has ever begun"


@pytest.mark.parametrize("reason", ["WaitsForStage", "WaitsForWindow"])
def test_a_roll_that_stands_still_keeps_nothing_from_rising(reason: str) -> None:
    waits = ConditionView(True, "Waits", "until Monday", BEFORE)
    over = ConditionView(False, "Over", "", BEFORE)
    others = {c: over for c in ("WaitsForStage", "WaitsForWindow") if c != reason}
    assert _held(_rolling(conditions={reason: waits})) == ""
    assert _held(_rolling(conditions={**others, reason: waits})) == ""
    assert _held(_rolling(conditions={reason: over})) == "a roll runs"
