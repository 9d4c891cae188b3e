"""A scale-down is refused where the data would not fit on what stays, with the numbers."""

from dataclasses import replace

import pytest

from controlplane.cluster.commands import CommandRefused, EvacuateBrokers
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.scale_down import room_after
from controlplane.commands.admission.spec import admission_problems
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.nodes import evacuation_asked
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.situation import Situation
from events import facts
from events.spec.positions import NOWHERE
from planner.observed import KafkaSnapshot, LogDirsSeen
from tests.builders import NODES, a_document, a_partition, a_situation, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view

MIB = 1024**2
ADDED = ("brokers-a-1", "brokers-b-1", "brokers-c-1")


def _six() -> ClusterView:
    there = [an_instance(node, 1, service_id=1003 + n) for n, node in enumerate(ADDED)]
    return a_view(*there, document=a_document(brokers=6))


def _seen(used_mib: int, *, rf: int = 3, mib: int = 10) -> KafkaSnapshot:
    """24 partitions of `mib` MiB; each disk has 1000 MiB, `used_mib` of them in use, by whatever."""
    ids = tuple(range(1000, 1006))
    held = [
        replace(a_partition(f"orders-{n}", tuple(ids[(n + k) % 6] for k in range(rf))), size_bytes=mib * MIB)
        for n in range(24)
    ]
    dirs = {b: LogDirsSeen(12, used_mib * MIB, 1000 * MIB, (1000 - used_mib) * MIB) for b in ids}
    return a_snapshot(*held, brokers=ids, log_dirs=dirs)


def test_brokers_may_leave_where_the_others_have_room() -> None:
    gate = room_after(_six(), a_document(brokers=3), _seen(200))
    assert gate.open
    assert gate.reason.startswith("brokers 1003, 1004, 1005 leave: they hold 20 partitions, 360.0 MiB")


def test_it_is_refused_by_plan_and_apply_with_the_numbers() -> None:
    (problem,) = admission_problems(_six(), a_document(brokers=3), positions=NOWHERE, snapshot=_seen(895))
    assert problem.is_error
    assert (
        "they hold 20 partitions, 360.0 MiB; 3 other brokers can receive 15.0 MiB more up to 90% of their disks"
        in problem.message
    )


def test_it_is_refused_where_fewer_brokers_stay_than_a_topic_has_replicas() -> None:
    gate = room_after(_six(), a_document(brokers=3), _seen(200, rf=4))
    assert not gate.open
    assert "has 4 replicas, and 3 brokers would be left to hold them" in gate.reason


def test_a_spec_that_takes_no_broker_away_is_not_judged() -> None:
    assert room_after(_six(), a_document(brokers=7), _seen(899)).open
    assert admission_problems(_six(), a_document(brokers=6), positions=NOWHERE, snapshot=_seen(899)) == []


def _shrinking(used_mib: int) -> Situation:
    view = changed_view(_six(), document=a_document(brokers=3), generation=2, recycling=2)
    return a_situation(view, kafka=_seen(used_mib))


def test_no_drain_is_begun_that_would_fill_the_disks_of_the_others() -> None:
    """They had room when it was applied; since then clients have written."""
    verdict = decide(_shrinking(895))
    assert verdict.wait is not None
    assert verdict.wait.reason == "NoRoom"
    assert {type(e) for e in verdict.events} == {facts.ConditionChanged}
    assert "not draining brokers-" in verdict.sentence


def test_a_drain_is_begun_where_they_have_room() -> None:
    (asked,) = decide(_shrinking(200)).events
    assert isinstance(asked, facts.DrainRequested)
    assert set(asked.keys) <= {f"{node}.g1" for node in ADDED}
    assert not set(asked.keys) & set(NODES)


def test_a_zone_that_gives_way_to_another_is_judged_by_the_disks_that_are_made_and_those_that_stay() -> None:
    """Two brokers are made in the new zone, with disks of 100 GiB; the others are nearly full."""
    after = a_document(brokers=6, zones="a, b, d")
    fits = room_after(_six(), after, _seen(895))
    assert fits.open
    assert "4 other brokers and 2 new can receive 180.0 GiB more up to 90% of their disks" in fits.reason
    too_much = room_after(_six(), after, _seen(895, mib=10_000))
    assert not too_much.open
    assert "they hold 24 partitions, 234.4 GiB; 4 other brokers and 2 new can receive 180.0 GiB more" in too_much.reason


def test_smaller_disks_are_refused_where_a_broker_holds_more_than_its_new_one_takes() -> None:
    view, smaller = a_view(document=a_document()), a_document(broker_gib=1)
    assert room_after(view, smaller, _seen(200)).open
    gate = room_after(view, smaller, _seen(200, mib=100))
    assert not gate.open
    assert "broker 1000 holds 1.2 GiB, and its new disk takes 921.6 MiB up to 90%" in gate.reason
    (problem,) = admission_problems(view, smaller, positions=NOWHERE, snapshot=_seen(200, mib=100))
    assert problem.is_error


def test_no_broker_is_copied_to_a_disk_that_became_too_small_meanwhile() -> None:
    view = changed_view(a_view(), document=a_document(broker_gib=1), generation=2, recycling=2)
    verdict = decide(a_situation(view, kafka=_seen(200, mib=100)))
    assert verdict.wait is not None
    assert verdict.wait.reason == "NoRoom"
    assert "not replacing brokers-a-0: broker 1000 holds" in verdict.sentence


def test_an_evacuation_counts_who_is_going_to_leave_anyway() -> None:
    view = replace(_six(), document=a_document(brokers=3), generation=2)
    command = EvacuateBrokers(name="orders", actor="person:anna", command_id="c1", reason="", brokers=(1001,))
    with pytest.raises(CommandRefused, match="has 3 replicas, and 2 brokers would be left to hold them"):
        evacuation_asked(view, command, Lookups(kafka=_seen(200)))
    assert (
        evacuation_asked(replace(view, document=a_document(brokers=6)), command, Lookups(kafka=_seen(200))).fact
        is not None
    )
