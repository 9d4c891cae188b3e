"""Lists put into another order where the spec wants leaders even: when a batch begins, and when not."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.views.healing import SwitchView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.moves.placement_work import placement_of
from controlplane.converger.situation.effects import ElectPreferred, Reassign
from controlplane.converger.situation.placement import IN_PLACE
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.moves.placements import leader_order_step
from events.spec.document import load_documents
from events.topic_facts import ReplicationEnded, ReplicationRequested
from planner.observed import KafkaSnapshot, PartitionSeen
from tests.builders import NOW, a_document, a_drain, a_partition, a_situation
from tests.external_clusters import an_external_spec
from tests.unit.controlplane.converger.steps.moves.test_placements import a_cluster, a_look, after, begun, situation

EVEN = "preferredLeaders: even"
APART = ((1000, 1001, 1002), (1003, 1004, 1005))


def lists(*, headed_by: int | None = None, **about: Any) -> list[PartitionSeen]:
    """Twelve partitions of a broker of each zone, six of them on the first of each, headed in turn or all by one."""
    found = []
    for n in range(12):
        own = APART[n % 2]
        first = own[n // 2 % 3] if headed_by is None else own[headed_by]
        found.append(a_partition(f"orders-{n}", (first, *(b for b in own if b != first)), **about))
    return found


UNEVEN = a_look(*lists(headed_by=0))
"""1000 and 1003 head six each, the others none."""


def test_lists_are_reordered_then_leaders_asked_home_then_it_rests() -> None:
    view = a_cluster(EVEN)
    asked = begun(decide(situation(view, UNEVEN)))
    assert (asked.cause, asked.bytes, len(asked.moves)) == ("leaders", 0, 8)
    assert asked.reason == "8 lists: leaders are 150 % from their even share, 20 % are allowed"
    assert all(sorted(m.before) == sorted(m.after) for m in asked.moves)
    in_hand = after(view, asked)
    (handed,) = decide(a_situation(in_hand, kafka=UNEVEN)).effects
    assert isinstance(handed, Reassign), "no throttle: nothing is copied"
    targets = dict(handed.targets)
    there = replace(
        UNEVEN, partitions=tuple(replace(p, replicas=targets.get(p.name, p.replicas)) for p in UNEVEN.partitions)
    )
    (ended,) = decide(a_situation(in_hand, kafka=there)).events
    assert isinstance(ended, ReplicationEnded)
    assert ended.done == 8
    rest = after(in_hand, ended)
    election = housekeeping_step(situation(rest, there))
    assert election is not None
    assert [type(e) for e in election.effects] == [ElectPreferred]
    home = a_look(*(replace(p, leader=p.replicas[0]) for p in there.partitions))
    assert leader_order_step(situation(rest, home)) is None
    assert placement_of(rest, home) is IN_PLACE


def test_the_same_look_gives_the_same_batch_after_a_crash() -> None:
    view = a_cluster(EVEN)
    assert begun(decide(situation(view, UNEVEN))) == begun(decide(situation(view, UNEVEN)))


@pytest.mark.parametrize("balance", ["", "preferredLeaders: restore", "preferredLeaders: leave"])
def test_no_list_is_changed_where_nobody_asked(balance: str) -> None:
    assert leader_order_step(situation(a_cluster(balance), UNEVEN)) is None


def test_what_is_within_the_threshold_is_left_alone() -> None:
    view = a_cluster("preferredLeaders: even, thresholdPercent: 200")
    assert placement_of(view, UNEVEN) is IN_PLACE


def test_what_is_even_is_left_alone() -> None:
    assert placement_of(a_cluster(EVEN), a_look(*lists())) is IN_PLACE


LATE = a_partition("late-0", (1000, 1001, 1002), isr=(1000, 1001))
MOVED = a_partition("late-0", (1000, 1001, 1002, 1005), adding=(1005,))
AWAY = a_partition("late-0", (1000, 1001, 1002), leader=1001)


@pytest.mark.parametrize(
    "kafka",
    [
        a_look(*lists(headed_by=0), LATE),
        a_look(*lists(headed_by=0), MOVED),
        a_look(*lists(headed_by=0), AWAY),
        a_look(*lists(headed_by=0), brokers=tuple(range(1000, 1005))),
    ],
    ids=["out of sync", "somebody moves", "a leader is not home", "a broker is down"],
)
def test_nothing_begins_in_a_cluster_that_is_not_whole_or_whose_leaders_are_away(kafka: KafkaSnapshot) -> None:
    assert leader_order_step(situation(a_cluster(EVEN), kafka)) is None


def test_it_waits_for_what_is_in_hand_and_for_a_switch() -> None:
    busy = a_cluster(EVEN, drain=a_drain())
    assert leader_order_step(situation(busy, UNEVEN)) is None
    off = {"goal-violation": SwitchView(on=False, until=None, reason="load test", at=NOW)}
    assert leader_order_step(situation(a_cluster(EVEN, switches=off), UNEVEN)) is None


def test_no_list_is_changed_in_a_cluster_that_others_run_in_part() -> None:
    text = an_external_spec(ours=3).rstrip() + "\n  balance: {preferredLeaders: even}\n"
    (document,) = load_documents(text, file="orders.yaml").documents
    shared = replace(a_cluster(EVEN), document=document)
    assert placement_of(shared, UNEVEN).leaders == {}


def test_replicas_in_one_zone_go_first() -> None:
    view = a_cluster("placement: {correct: true}, preferredLeaders: even")
    kafka = a_look(*lists(headed_by=0), a_partition("late-0", (1000, 1003, 1001)))
    assert begun(decide(situation(view, kafka))).cause == "zones"


def test_a_batch_that_has_not_begun_is_put_off_when_a_replica_falls_behind() -> None:
    view = a_cluster(EVEN)
    in_hand = after(view, begun(decide(situation(view, UNEVEN))))
    (ended,) = decide(a_situation(in_hand, kafka=a_look(*lists(headed_by=0), LATE))).events
    assert isinstance(ended, ReplicationEnded)
    assert ended.done == 0


def test_the_windows_of_rolls_hold_it_up() -> None:
    document = a_document(brokers=6, balance=EVEN, windows=", windows: [{start: '03:00', duration: 1h}]")
    view = replace(a_cluster(EVEN), document=document)
    decision = decide(situation(view, UNEVEN))
    assert not [e for e in decision.events if isinstance(e, ReplicationRequested)]
