"""Whatever is seen of brokers that others run, nothing destructive is ever decided about them; and what is decided."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from controlplane.cluster.external_brokers import external_brokers, leaving_externals
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.cluster.views.external import ExternalBrokerView, ExternalView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.effects import (
    AddVoter,
    CancelMoves,
    RaiseFeature,
    Reassign,
    RemoveVoter,
    SetSettings,
    StartRun,
    TerminateInstance,
    Unregister,
)
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.external_brokers import STOPPED_FOR
from events import facts
from planner.observed import FeatureSeen, QuorumSeen, ThrottlesSeen, VoterSeen
from tests.builders import BEFORE, NODES, NOW, a_partition, a_situation, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view
from tests.external_clusters import CLUSTER_ID, an_external_document

LONG_AGO = NOW - 2 * STOPPED_FOR
_VOTER = facts.FoundingVoter("external-9", 9, "theirs.example", 9093, "")


def a_shared_view(*theirs: ExternalBrokerView, named: tuple[int, ...] = (1, 2, 3), **overrides: Any) -> ClusterView:
    """Our three brokers beside theirs; `named` are those the spec still lists."""
    document = an_external_document(ours=3, theirs=named)
    ours = [an_instance(node) for node in NODES[:3]]
    view = a_view(*ours, without=NODES[3:], document=document, controller_ids={}, node_addresses={}, **overrides)
    return replace(
        view,
        instances={k: i for k, i in view.instances.items() if i.is_broker},
        external=ExternalView(CLUSTER_ID, {b.id: b for b in theirs}),
        quorum=replace(view.quorum, founding=facts.QuorumFounded(CLUSTER_ID, "4.1", (_VOTER,)), voters={9: _VOTER}),
    )


def theirs(broker: int, *, empty: bool = False, stopped: bool = False) -> ExternalBrokerView:
    return ExternalBrokerView(
        broker,
        "abc"[(broker - 1) % 3],
        f"theirs-{broker}.example:9092",
        empty_at=BEFORE if empty or stopped else None,
        stopped_at=LONG_AGO if stopped else None,
    )


def seen(view: ClusterView, *partitions: Any, live: tuple[int, ...], fenced: tuple[int, ...] = ()) -> Situation:
    snapshot = a_snapshot(
        *partitions,
        brokers=(1000, 1001, 1002, *live),
        fenced=fenced,
        cluster_id=CLUSTER_ID,
        quorum=QuorumSeen(9, 1, (VoterSeen(9, "d", 0, True),)),
        features={"metadata.version": FeatureSeen(25, 7, 27)},
    )
    return a_situation(view, kafka=snapshot)


states = st.sampled_from(("serves", "empty", "stopped", "unknown"))
worlds = st.fixed_dictionaries(
    {
        "states": st.tuples(states, states, states),
        "named": st.sets(st.sampled_from((1, 2, 3))).map(lambda ids: tuple(sorted(ids))),
        "live": st.sets(st.sampled_from((1, 2, 3))),
        "fenced": st.sets(st.sampled_from((1, 2, 3))),
        "replicas": st.lists(
            st.lists(st.sampled_from((1, 2, 3, 1000, 1001, 1002)), min_size=1, max_size=3, unique=True), max_size=4
        ),
        "lost": st.booleans(),
        "throttled": st.booleans(),
        "tombstone": st.booleans(),
        "aborting": st.booleans(),
        "recycling": st.booleans(),
        "voting": st.booleans(),
    }
)


@settings(max_examples=400, deadline=None)
@given(worlds)
def test_nothing_that_is_decided_stops_deletes_or_fills_what_others_run(world: dict[str, Any]) -> None:
    known = [
        theirs(b, empty=s == "empty", stopped=s == "stopped")
        for b, s in zip((1, 2, 3), world["states"], strict=True)
        if s != "unknown"
    ]
    view = a_shared_view(
        *known,
        named=world["named"],
        generation=2,
        recycling=2 if world["recycling"] else 0,
        tombstone="asked for" if world["tombstone"] else "",
        aborting="no" if world["aborting"] else "",
    )
    if world["lost"]:
        first = next(iter(view.instances.values()))
        view = replace(view, instances={**view.instances, first.key: replace(first, lost_at=BEFORE)})
    if world["voting"]:
        view = replace(view, quorum=replace(view.quorum, voters={**view.quorum.voters, 1: replace(_VOTER, id=1)}))
    fenced = tuple(world["fenced"] - world["live"])
    partitions = [a_partition(f"orders-{n}", r, min_isr=1) for n, r in enumerate(world["replicas"])]
    situation = seen(view, *partitions, live=tuple(world["live"]), fenced=fenced)
    if world["throttled"] and situation.seen.kafka is not None:
        kafka = replace(situation.seen.kafka, throttles=ThrottlesSeen(leader_rate={1: 5}))
        situation = replace(situation, seen=replace(situation.seen, kafka=kafka))
    decision = decide(situation)

    for event in decision.events:
        keys = (*getattr(event, "keys", ()), *((event.key,) if hasattr(event, "key") else ()))
        assert all(key in view.instances for key in keys), event
        assert not isinstance(event, facts.DestroyRequested | facts.FinalisationRequested | facts.VoterRemoveRequested)
        assert not isinstance(event, facts.SettingsChangeRequested | facts.RebalanceRequested | facts.QuorumFounded)
        if isinstance(event, facts.DrainRequested):
            assert not set(event.targets) & {1, 2, 3}
            assert set(event.outgoing) & {1, 2, 3} <= set(leaving_externals(view))
        if isinstance(event, facts.ExternalLeft):
            assert view.external is not None
            assert view.external.brokers[event.broker].stopped_at is not None
    for effect in decision.effects:
        assert not isinstance(effect, AddVoter | RemoveVoter | RaiseFeature | SetSettings | CancelMoves | Reassign)
        assert not isinstance(effect, TerminateInstance | StartRun)
        if isinstance(effect, Unregister) and effect.broker in (1, 2, 3):
            broker = external_brokers(view)[effect.broker]
            assert broker.stopped_at is not None
            assert NOW - broker.stopped_at >= STOPPED_FOR
            assert effect.broker not in world["live"]
            assert not any(effect.broker in r for r in world["replicas"])
            assert effect.broker not in view.quorum.voters


def test_a_cluster_of_others_alone_is_left_as_it_is_whatever_hangs_in_it() -> None:
    view = replace(a_shared_view(theirs(1), theirs(2), theirs(3)), document=an_external_document(), instances={})
    moved = a_partition("orders-0", (2, 1), leader=1)
    situation = seen(view, moved, live=(1, 2, 3))
    assert situation.seen.kafka is not None
    kafka = replace(situation.seen.kafka, throttles=ThrottlesSeen(leader_rate={1: 5}))
    decision = decide(replace(situation, seen=replace(situation.seen, kafka=kafka)))
    assert decision.effects == ()
    assert decision.sentence == "converged at generation 1: 0 VMs"


def test_no_feature_level_is_raised_in_a_quorum_of_others() -> None:
    view = a_shared_view(theirs(1), theirs(2), theirs(3), generation=2)
    decision = decide(seen(view, live=(1, 2, 3)))
    assert decision.events == (facts.RecycleCompleted(2),)


def test_who_leaves_waits_until_every_broker_of_the_cluster_serves() -> None:
    view = a_shared_view(theirs(1), theirs(2), theirs(3), named=(2, 3), generation=2, recycling=2)
    decision = decide(seen(view, a_partition("orders-0", (1, 2, 3)), live=(1, 2), fenced=(3,)))
    assert decision.wait is not None
    assert decision.wait.reason == "BrokerDown"
    assert decision.sentence == "not emptying external broker 1: broker 3 (rack a) is down"


def test_who_leaves_waits_for_a_broker_of_ours_to_take_over() -> None:
    view = a_shared_view(theirs(1), theirs(2), theirs(3), named=(2, 3), generation=2, recycling=2)
    view = replace(view, instances={k: replace(i, phase=Phase.JOINED) for k, i in view.instances.items()})
    emptied = {k: EvacuationView("asked by anna", BEFORE, BEFORE) for k in view.instances}
    decision = decide(
        seen(
            replace(view, requests=replace(view.requests, evacuations=emptied)),
            a_partition("orders-0", (1, 2, 3)),
            live=(1, 2, 3),
        )
    )
    assert decision.wait is not None
    assert decision.wait.reason == "NoReceiver"


def test_a_broker_that_left_is_forgotten_only_after_a_minute_and_not_while_it_votes() -> None:
    others = theirs(2), theirs(3)
    long = a_shared_view(theirs(1, stopped=True), *others, named=(2, 3))
    fresh = replace(theirs(1, stopped=True), stopped_at=NOW - timedelta(seconds=10))
    short = a_shared_view(fresh, *others, named=(2, 3))
    voting = replace(long, quorum=replace(long.quorum, voters={**long.quorum.voters, 1: replace(_VOTER, id=1)}))
    assert decide(seen(long, live=(2, 3), fenced=(1,))).effects == (Unregister(1),)
    assert Unregister(1) not in decide(seen(short, live=(2, 3), fenced=(1,))).effects
    assert Unregister(1) not in decide(seen(voting, live=(2, 3), fenced=(1,))).effects


def test_another_quorum_of_theirs_is_told_to_new_starts_once_kafka_has_it() -> None:
    view = changed_view(a_shared_view(theirs(1), theirs(2), theirs(3)), voters={8: replace(_VOTER, id=8)})
    (event,) = decide(seen(view, live=(1, 2, 3))).events
    assert isinstance(event, facts.ExternalQuorumChanged)
    assert [v.id for v in event.voters] == [9]


@pytest.mark.parametrize(("level", "reason"), [(0, "ExternalQuorumStatic"), (1, "")])
def test_no_vm_is_made_for_a_static_quorum(level: int, reason: str) -> None:
    view = changed_view(a_shared_view(theirs(1), theirs(2), theirs(3)), instances={}, converged=0)
    situation = seen(view, live=(1, 2, 3))
    assert situation.seen.kafka is not None
    kafka = replace(situation.seen.kafka, features={"kraft.version": FeatureSeen(level, 0, 1)})
    decision = decide(replace(situation, seen=replace(situation.seen, kafka=kafka)))
    assert (decision.wait.reason if decision.wait else "") == reason
    assert any(isinstance(e, facts.RecycleStarted) for e in decision.events) == (level == 1)


def test_the_server_finds_kafka_by_ours_and_by_theirs() -> None:
    view = a_shared_view(theirs(1), theirs(2, stopped=True))
    assert bootstrap_of(view)[-1] == "theirs-1.example:9092"
    assert len(bootstrap_of(view)) == 4


def test_nothing_is_taken_on_before_kafka_has_answered() -> None:
    view = changed_view(a_shared_view(), external=None, instances={}, founding=None, voters={})
    decision = decide(a_situation(view, kafka=None))
    assert decision.wait is not None
    assert decision.wait.reason == "KafkaUnknown"
