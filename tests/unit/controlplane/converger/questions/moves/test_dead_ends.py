"""Moves that name a broker which is gone for good: which drains wait for its successor, and where moves go instead."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.converger.questions.moves.blocked_moves import detours, in_the_way
from controlplane.converger.situation.effects import CancelMoves, Reassign
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.drains import drain_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.steps.rolls.succession import drain_lost, superseded
from events import facts
from planner.healing import Cure, PastCure
from planner.observed import PartitionSeen, TopicPartition
from tests.builders import NOW, a_drain, a_partition, a_situation, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view

LONG_AGO = NOW - timedelta(seconds=600)
JUST_NOW = NOW - timedelta(seconds=10)


def seen(*partitions: PartitionSeen, instances: tuple[InstanceView, ...], live: tuple[int, ...]) -> Situation:
    return a_situation(a_view(*instances, drain=a_drain()), kafka=a_snapshot(*partitions, brokers=live))


def rack_a_lost(**of_the_second: object) -> tuple[InstanceView, ...]:
    """Broker 1000 is lost and has a successor, 1010; 1003 of the same rack is lost as well."""
    return (
        an_instance("brokers-a-0", 1, lost_at=LONG_AGO),
        an_instance("brokers-a-0", 2),
        an_instance("brokers-a-1", **{"lost_at": LONG_AGO, "service_id": 1003, **of_the_second}),
    )


def ways(situation: Situation, outgoing: tuple[int, ...], targets: tuple[int, ...] = ()) -> list[int]:
    kafka = situation.seen.kafka
    assert kafka is not None
    return [i.service_id for i in in_the_way(situation, kafka, outgoing, targets)]


def test_a_lost_broker_of_the_same_rack_shares_no_partition_and_is_in_nobodys_way() -> None:
    situation = seen(
        a_partition("orders-0", (1000, 1001, 1002)),
        a_partition("orders-1", (1003, 1001, 1002)),
        instances=rack_a_lost(),
        live=(1001, 1002, 1010),
    )
    assert ways(situation, (1000,)) == []


def test_a_lost_broker_that_shares_a_partition_is_in_the_way() -> None:
    situation = seen(a_partition("orders-0", (1000, 1001, 1003)), instances=rack_a_lost(), live=(1001, 1002, 1010))
    assert ways(situation, (1000,)) == [1003]


def test_a_lost_broker_that_is_a_target_is_in_the_way() -> None:
    situation = seen(a_partition("orders-0", (1000, 1001, 1002)), instances=rack_a_lost(), live=(1001, 1002, 1010))
    assert ways(situation, (1000,), (1003, 1010)) == [1003]


def test_every_lost_broker_is_in_the_way_where_a_partition_is_on_all_that_are_left() -> None:
    """Seed 24261 of the splits: a topic made while rack c was gone had two replicas in rack a, with a broker that was
    empty and with its successor. Its drain had nowhere to go, and while it was in hand nobody made a broker in rack
    c."""
    lost = (
        an_instance("brokers-a-0", 1),
        an_instance("brokers-a-0", 2),
        an_instance("brokers-b-0"),
        an_instance("brokers-c-0", lost_at=LONG_AGO),
    )
    situation = seen(a_partition("orders-0", (1000, 1010, 1001)), instances=lost, live=(1000, 1001, 1010))
    assert ways(situation, (1000,), (1001, 1010)) == [1002]
    moves = a_partition("orders-0", (1010, 1000, 1001), adding=(1010,), removing=(1000,))
    assert ways(seen(moves, instances=lost, live=(1000, 1001, 1010)), (1000,), (1001, 1010)) == []
    elsewhere = seen(a_partition("orders-0", (1000, 1001)), instances=lost, live=(1000, 1001, 1010))
    assert ways(elsewhere, (1000,), (1001, 1010)) == []


def test_who_may_come_back_within_its_grace_is_in_nobodys_way() -> None:
    situation = seen(
        a_partition("orders-0", (1000, 1001, 1003)),
        instances=rack_a_lost(lost_at=JUST_NOW),
        live=(1001, 1002, 1010),
    )
    assert ways(situation, (1000,)) == []


def test_while_another_lost_broker_is_in_the_way_its_successor_comes_before_the_drain() -> None:
    """The drain was asked for and put off by turns, twenty times in each tick, and the successor was never made."""
    lost = (
        an_instance("brokers-a-0", 1, lost_at=LONG_AGO),
        an_instance("brokers-a-0", 2),
        an_instance("brokers-b-0", lost_at=LONG_AGO),
    )
    kafka = a_snapshot(a_partition("orders-0", (1000, 1001, 1002)), brokers=(1002, 1010))
    decision = replacement_step(a_situation(a_view(*lost), kafka=kafka))
    assert decision is not None
    (started,) = (e for e in decision.events if isinstance(e, facts.RecycleStarted))
    assert started.replace == ("brokers-b-0",)


def test_a_lost_broker_whose_successor_is_lost_too_gets_its_next_successor_before_the_drain() -> None:
    """The drain that was to empty it beside another one was begun and put off by turns: it cannot name a dead
    successor."""
    lost = (
        an_instance("brokers-a-0", 1, lost_at=LONG_AGO),
        an_instance("brokers-a-0", 2),
        an_instance("brokers-b-0", 1, lost_at=LONG_AGO),
        an_instance("brokers-b-0", 2, lost_at=LONG_AGO),
    )
    kafka = a_snapshot(a_partition("orders-0", (1000, 1001, 1002)), brokers=(1002, 1010))
    decision = replacement_step(a_situation(a_view(*lost), kafka=kafka))
    assert decision is not None
    (started,) = (e for e in decision.events if isinstance(e, facts.RecycleStarted))
    assert started.replace == ("brokers-b-0",)


def test_a_lost_broker_that_gets_no_successor_is_emptied_in_the_same_drain() -> None:
    """Else each of the two drains would wait for the end of the other."""
    kafka = a_snapshot(a_partition("orders-0", (1000, 1001, 1003)), brokers=(1001, 1002, 1010))
    decision = replacement_step(a_situation(a_view(*rack_a_lost()), kafka=kafka))
    assert decision is not None
    (drain,) = (e for e in decision.events if isinstance(e, facts.DrainRequested))
    assert (drain.keys, drain.successors) == (("brokers-a-0.g1", "brokers-a-1.g1"), {"1000": 1010})


def test_the_next_successor_of_a_lost_broker_comes_before_others_are_emptied() -> None:
    """What the lost one had was not brought to its successor, as that was to be cured itself; and all else waited for
    the lost one to be back (seed 39280)."""
    instances = (
        an_instance("brokers-a-0", 1, service_id=1003, lost_at=LONG_AGO),
        an_instance("brokers-a-0", 2, service_id=1008),
        an_instance("brokers-b-0", 1),
        an_instance("brokers-b-0", 2, service_id=1007),
        an_instance("brokers-c-0"),
    )
    asked = {key: ReplaceView("its host goes down", False, NOW) for key in ("brokers-a-0.g2", "brokers-b-0.g1")}
    cures = tuple(PastCure(node, "maintenance", Cure.REPLACE, NOW) for node in ("brokers-a-0", "brokers-b-0"))
    kafka = a_snapshot(a_partition("orders-0", (1003, 1001, 1002)), brokers=(1001, 1002, 1007, 1008))
    decision = replacement_step(a_situation(a_view(*instances, to_replace=asked, cures=cures), kafka=kafka))
    assert decision is not None
    (started,) = (e for e in decision.events if isinstance(e, facts.RecycleStarted))
    assert "brokers-a-0" in started.replace


def test_who_is_in_the_way_of_one_that_is_in_the_way_is_emptied_in_the_same_drain() -> None:
    """That one was put off at once for it, and asked for again, 26,000 events in all (seed 39190)."""
    instances = (
        an_instance("brokers-a-0", 1, lost_at=LONG_AGO),
        an_instance("brokers-a-0", 2),
        an_instance("brokers-b-0", 1, service_id=1003, lost_at=LONG_AGO),
        an_instance("brokers-c-1", 1, service_id=1004, lost_at=LONG_AGO),
        an_instance("brokers-b-1", service_id=1005),
        an_instance("brokers-c-0", service_id=1002),
    )
    chain = (
        a_partition("orders-0", (1000, 1003, 1002), isr=(1002,), leader=1002),
        a_partition("orders-1", (1005, 1003, 1004), isr=(1005,), leader=1005),
    )
    situation = seen(*chain, instances=instances, live=(1002, 1005, 1010))
    situation = replace(situation, view=changed_view(situation.view, drain=None))
    decision = drain_lost(situation, superseded(situation.view), ())
    assert decision is not None
    (drain,) = decision.events
    assert isinstance(drain, facts.DrainRequested)
    assert set(drain.outgoing) == {1000, 1003, 1004}


IN_FLIGHT = a_partition(
    "orders-0", (1010, 1000, 1003, 1002), isr=(1010, 1002), adding=(1010,), removing=(1000,), leader=1002
)
"""From 1000, which is dead, to 1010; 1003 died meanwhile. Taken back, 1002 alone would be in sync."""


def fleet(*, spare_rack: str = "b") -> tuple[InstanceView, ...]:
    return (
        an_instance("brokers-a-0", 1, Phase.DRAINING, lost_at=LONG_AGO),
        an_instance("brokers-a-0", 2),
        an_instance("brokers-b-0", service_id=1003, lost_at=LONG_AGO),
        an_instance("brokers-c-0", service_id=1002),
        an_instance(f"brokers-{spare_rack}-1", service_id=1005),
    )


def test_a_move_that_may_not_be_taken_back_goes_on_to_a_live_broker_of_the_dead_ones_rack() -> None:
    situation = seen(IN_FLIGHT, instances=fleet(), live=(1002, 1005, 1010))
    decision = drain_step(situation)
    assert decision is not None
    assert decision.effects == (Reassign({TopicPartition("orders", 0): (1010, 1005, 1002)}),)


@pytest.mark.parametrize("isr", [(1002, 1003), (1002, 1003, 1010)])
def test_a_move_waits_for_kafka_to_miss_a_dead_target_before_it_goes_elsewhere(isr: tuple[int, ...]) -> None:
    """Seeds 39280, 39294: the ISR fell under the minimum by Kedge's call. Nor is the drain put off meanwhile."""
    counted = replace(IN_FLIGHT, isr=isr, min_isr=3)
    decision = drain_step(seen(counted, instances=fleet(), live=(1002, 1003, 1005, 1010)))
    assert decision is not None
    assert (decision.events, decision.effects, decision.wait and decision.wait.reason) == ((), (), "ReassignmentStuck")
    assert "broker 1003 died, and Kafka still counts it in for orders-0" in decision.sentence


def test_two_replicas_are_in_one_rack_for_a_while_where_no_broker_of_another_lives() -> None:
    situation = seen(IN_FLIGHT, instances=fleet(spare_rack="c"), live=(1002, 1005, 1010))
    decision = drain_step(situation)
    assert decision is not None
    assert decision.effects == (Reassign({TopicPartition("orders", 0): (1010, 1005, 1002)}),)


def test_who_is_gone_is_replaced_where_no_broker_without_a_replica_lives() -> None:
    """The drain waited for one that nobody made while it was in hand (seed 39104)."""
    decision = drain_step(seen(IN_FLIGHT, instances=fleet(), live=(1002, 1010)))
    assert decision is not None
    assert decision.effects == ()
    assert [type(e) for e in decision.events] == [facts.DrainAbandoned]
    assert "broker 1003 died and is replaced first" in decision.sentence


def test_it_waits_for_one_that_may_be_back_where_no_broker_without_a_replica_lives() -> None:
    """Its VM is there: a new one is asked for already."""
    away = IN_FLIGHT.replicas[0]
    alone = replace(IN_FLIGHT, isr=(1002,), min_isr=2)
    situation = seen(alone, instances=fleet()[1:], live=(1002,))
    asked = {i.key: ReplaceView("healing of unreachable", True, NOW) for i in fleet() if i.service_id == away}
    situation = replace(
        situation,
        view=changed_view(
            situation.view,
            drain=a_drain(successors={1000: away}),
            requests=replace(situation.view.requests, to_replace=asked),
        ),
    )
    decision = drain_step(situation)
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "ReassignmentStuck")


def test_a_move_of_a_partition_with_two_replicas_in_a_rack_that_died_goes_on_in_two_racks() -> None:
    """Seed 320006 of the losses: the drain waited for ever, and nobody was made for the dead before it had ended."""
    moving = a_partition(
        "orders-0", (1003, 1010, 1004, 1000), isr=(1010, 1000), adding=(1010,), removing=(1000,), leader=1000
    )
    instances = (
        an_instance("brokers-a-0", 1, Phase.DRAINING, service_id=1000),
        an_instance("brokers-a-0", 2, service_id=1010),
        an_instance("brokers-a-1", service_id=1006),
        an_instance("brokers-b-0", service_id=1003, lost_at=LONG_AGO),
        an_instance("brokers-b-1", service_id=1004, lost_at=LONG_AGO),
        an_instance("brokers-c-0", service_id=1002),
        an_instance("brokers-c-1", service_id=1005),
    )
    situation = seen(moving, instances=instances, live=(1000, 1002, 1005, 1006, 1010))
    kafka = situation.seen.kafka
    assert kafka is not None
    assert detours(situation.view, kafka, [moving], [1003, 1004]) == {TopicPartition("orders", 0): (1002, 1010, 1005)}


@pytest.mark.parametrize("isr", [(1010,), ()], ids=["by its ISR", "its ISR is empty"])
def test_no_place_is_taken_from_who_may_have_the_only_copy(isr: tuple[int, ...]) -> None:
    """Seed 39302: a target that had got its copies was the last one with them, and went away for 12 s. Its place was
    given to another broker, which drops what it has."""
    alone = a_partition("orders-0", (1010, 1003, 1002, 1000), isr=isr, adding=(1010,), removing=(1000,), leader=-1)
    situation = seen(alone, instances=fleet(), live=(1005,))
    kafka = situation.seen.kafka
    assert kafka is not None
    assert detours(situation.view, kafka, [alone], [1010]) == {}
    named = replace(alone, leader=1010)
    assert detours(situation.view, kafka, [named], [1010]) == {}
    decision = drain_step(situation)
    assert decision is not None
    assert not any(isinstance(e, Reassign | CancelMoves) for e in decision.effects)


def test_what_may_be_taken_back_is_taken_back_and_sent_nowhere_else() -> None:
    whole = replace(IN_FLIGHT, isr=(1010, 1002, 1000))
    decision = drain_step(seen(whole, instances=fleet(), live=(1000, 1002, 1005, 1010)))
    assert decision is not None
    assert decision.effects == (CancelMoves((TopicPartition("orders", 0),)),)


def test_a_move_that_was_sent_elsewhere_is_not_sent_again() -> None:
    sent = a_partition(
        "orders-0",
        (1010, 1005, 1002, 1000, 1003),
        isr=(1010, 1002),
        adding=(1010, 1005),
        removing=(1000, 1003),
        leader=1002,
    )
    situation = seen(sent, instances=fleet(), live=(1002, 1005, 1010))
    decision = drain_step(situation)
    assert decision is not None
    assert not any(isinstance(e, Reassign) for e in decision.effects)


def test_the_emptiest_of_several_takes_the_place() -> None:
    busy = tuple(a_partition(f"busy-{n}", (1005, 1002)) for n in range(3))
    instances = (*fleet(), an_instance("brokers-b-2", service_id=1006))
    situation = seen(IN_FLIGHT, *busy, instances=instances, live=(1002, 1005, 1006, 1010))
    kafka = situation.seen.kafka
    assert kafka is not None
    assert detours(situation.view, kafka, [IN_FLIGHT], [1003]) == {TopicPartition("orders", 0): (1010, 1006, 1002)}
