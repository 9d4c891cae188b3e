"""The end of a roll, of a cluster, and what holds between: finalisation, housekeeping, holds, conditions, deletion."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.holds import hold_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.situation.decision import Decision, Wait
from controlplane.converger.situation.effects import ClearThrottles, ElectPreferred, RaiseFeature, StartRun, Unregister
from controlplane.converger.steps.deletion import STOP_WITHIN_S, deletion_step
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.rolls.finalisation import finalisation_step
from events import facts
from planner.observed import FeatureSeen, ThrottlesSeen, TopicPartition
from tests.builders import BEFORE, NOW, a_document, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view

STALE = NOW - timedelta(seconds=31)
OLD_LEVEL = {"metadata.version": FeatureSeen(27, 7, 29)}
NEW_LEVEL = {"metadata.version": FeatureSeen(29, 7, 29)}


def _reason(decision: Decision | None) -> str:
    assert decision is not None
    assert not decision.events
    return decision.wait.reason if decision.wait else ""


# --- finalisation -----------------------------------------------------------------------------------------------------


def _rolled(**overrides: Any) -> ClusterView:
    """Every VM is as generation 2 wants it; only the feature levels are left."""
    newer = a_document(version="4.2.0")
    return a_view(**{"generation": 2, "recycling": 2, "document": newer, "replaced_at": BEFORE, **overrides})


def _finalise(view: ClusterView, **seen: Any) -> Decision | None:
    return finalisation_step(a_situation(view, **{"kafka": a_snapshot(features=OLD_LEVEL), **seen}))


def test_a_generation_that_is_reached_is_not_reached_again() -> None:
    assert finalisation_step(a_situation(a_view())) is None


def test_a_new_level_is_an_intent_before_it_is_raised() -> None:
    decision = _finalise(_rolled())
    assert decision is not None
    requested = decision.events[0]
    assert isinstance(requested, facts.FinalisationRequested)
    assert (requested.feature, requested.level) == ("metadata.version", 29)
    assert not decision.effects


def test_a_recorded_intent_raises_the_level() -> None:
    decision = _finalise(_rolled(finalising=("metadata.version", 29)))
    assert decision is not None
    assert decision.effects == (RaiseFeature("metadata.version", 29),)


GHOST = an_instance("brokers-a-0", 1, Phase.RETIRED, service_id=990)
"""It left while Kafka 3.9 ran the cluster, which lists no fenced broker: on record unregistered, registered still."""


def test_a_broker_that_left_unseen_is_unregistered_before_a_level_is_raised() -> None:
    """A cluster that had come from ZooKeeper never reached 4.1: Kafka asked a retired broker of 3.9.1, for ever."""
    view = _rolled(finalising=("metadata.version", 29))
    there = replace(view, instances={**view.instances, "brokers-a-0.g0": GHOST})
    decision = _finalise(there, kafka=a_snapshot(brokers=(1000, 1001, 1002), fenced=(990,), features=OLD_LEVEL))
    assert decision is not None
    assert decision.effects == (Unregister(990),)


def test_who_is_fenced_and_not_retired_or_holds_replicas_stays_registered() -> None:
    view = _rolled(finalising=("metadata.version", 29))
    ghost = replace(view, instances={**view.instances, "brokers-a-0.g0": GHOST})
    hosting = a_snapshot(
        a_partition("orders-0", (1000, 990)), brokers=(1000, 1001, 1002), fenced=(990,), features=OLD_LEVEL
    )
    strange = a_snapshot(brokers=(1000, 1001, 1002), fenced=(991,), features=OLD_LEVEL)
    for kafka in (hosting, strange):
        decision = _finalise(ghost, kafka=kafka)
        assert decision is not None
        assert not any(isinstance(e, Unregister) for e in decision.effects)


def test_a_retired_broker_that_kafka_calls_live_is_not_unregistered() -> None:
    """Something runs under its id: Kafka would take the call for a live broker, which then hangs."""
    view = _rolled(finalising=("metadata.version", 29))
    ghost = replace(view, instances={**view.instances, "brokers-a-0.g0": GHOST})
    decision = _finalise(ghost, kafka=a_snapshot(brokers=(990, 1000, 1001, 1002), features=OLD_LEVEL))
    assert decision is not None
    assert decision.effects == (RaiseFeature("metadata.version", 29),)


def test_who_is_dead_and_stays_registered_is_named_where_kafka_may_say_no_for_it() -> None:
    view = _rolled(finalising=("metadata.version", 29))
    ghost = replace(view, instances={**view.instances, "brokers-a-0.g0": GHOST})
    kafka = a_snapshot(
        a_partition("orders-0", (1000, 990)), brokers=(1000, 1001, 1002), fenced=(990, 991), features=OLD_LEVEL
    )
    decision = _finalise(ghost, kafka=kafka)
    assert decision is not None
    assert decision.effects == (RaiseFeature("metadata.version", 29),), "only Kafka knows what they supported"
    assert _reason(decision) == "FinalisationBlocked"
    assert "broker 990 (brokers-a-0.g1, retired) is fenced and stays registered: 1 partition" in decision.sentence
    assert decision.sentence.endswith("broker 991, which is none of this cluster's VMs, is fenced and stays registered")


def test_a_level_that_kafka_shows_is_recorded() -> None:
    decision = _finalise(_rolled(finalising=("metadata.version", 29)), kafka=a_snapshot(features=NEW_LEVEL))
    assert decision is not None
    assert decision.events == (facts.FeatureFinalised("metadata.version", 29),)


def test_with_all_levels_raised_the_generation_is_reached() -> None:
    decision = _finalise(_rolled(), kafka=a_snapshot(features=NEW_LEVEL))
    assert decision is not None
    assert decision.events == (facts.RecycleCompleted(2),)


@pytest.mark.parametrize(
    ("view", "seen", "reason"),
    [
        (_rolled(replaced_at=NOW - timedelta(seconds=4)), {}, "Soak"),
        (_rolled(), {"kafka": None}, "KafkaUnknown"),
        (_rolled(), {"kafka": a_snapshot(features=OLD_LEVEL, at=STALE)}, "KafkaUnknown"),
        (
            _rolled(),
            {"kafka": a_snapshot(features={"metadata.version": FeatureSeen(27, 7, 27, limited_by=(1001,))})},
            "FinalisationBlocked",
        ),
    ],
    ids=["soaking", "unknown", "stale", "a broker supports less"],
)
def test_a_door_without_return_is_not_gone_through_early(view: ClusterView, seen: Any, reason: str) -> None:
    assert _reason(_finalise(view, **seen)) == reason


@pytest.mark.parametrize(
    "instance",
    [an_instance("brokers-a-0", 1, Phase.FENCED), an_instance("controllers-b-0", lost_at=BEFORE)],
    ids=["leaving", "lost"],
)
def test_nothing_is_finalised_while_a_vm_is_unsettled(instance: Any) -> None:
    assert _reason(_finalise(a_view(instance, generation=2, recycling=2))) == "NotSettled"


def test_a_pinned_metadata_version_stays() -> None:
    pinned = a_document(version="4.2.0", config=', metadataVersion: "4.1"')
    decision = _finalise(_rolled(document=pinned))
    assert decision is not None
    assert decision.events == (facts.RecycleCompleted(2),)


# --- housekeeping -----------------------------------------------------------------------------------------------------

LEFT_OVER = ThrottlesSeen(leader_rate={1000: 1})


def _housekeeping(*partitions: Any, **overrides: Any) -> Decision | None:
    return housekeeping_step(a_situation(a_view(), kafka=a_snapshot(*partitions, **overrides)))


def test_a_throttle_nobody_needs_is_cleared() -> None:
    decision = _housekeeping(throttles=LEFT_OVER)
    assert decision is not None
    assert decision.effects == (ClearThrottles(),)


def test_a_throttle_beside_a_running_move_is_left_alone() -> None:
    assert _housekeeping(a_partition(adding=(1010,)), throttles=LEFT_OVER) is None


def test_leadership_goes_back_to_the_first_replica() -> None:
    decision = _housekeeping(a_partition("orders-0", leader=1001), a_partition("orders-1"))
    assert decision is not None
    assert decision.effects == (ElectPreferred((TopicPartition("orders", 0),)),)


@pytest.mark.parametrize(
    "partition",
    [
        a_partition(),
        a_partition(leader=1001, isr=(1001, 1002)),
        a_partition(leader=1001, adding=(1010,)),
        a_partition(replicas=(1009, 1001), leader=1001),
    ],
    ids=["leads", "out of sync", "moving", "not live"],
)
def test_leadership_is_left_where_it_is(partition: Any) -> None:
    assert _housekeeping(partition) is None


def test_nothing_is_kept_up_on_unknown_metadata() -> None:
    assert housekeeping_step(a_situation(a_view(), kafka=None)) is None
    assert housekeeping_step(a_situation(a_view(), kafka=a_snapshot(throttles=LEFT_OVER, at=STALE))) is None


# --- wholeness --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kafka", "excepted", "is_open"),
    [
        (a_snapshot(a_partition()), (), True),
        (a_snapshot(a_partition(), brokers=(1000, 1001)), (), False),
        (a_snapshot(a_partition(isr=(1000, 1001))), (), False),
        (a_snapshot(a_partition(isr=(1000, 1001))), (1002,), True),
        (a_snapshot(a_partition(leader=-1)), (1002,), False),
        (
            a_snapshot(a_partition(replicas=(1010, 1000, 1001), isr=(1000, 1001), adding=(1010,), removing=(1000,))),
            (),
            True,
        ),
    ],
    ids=["whole", "one is down", "one is behind", "the excepted one is behind", "leaderless", "only a copy is behind"],
)
def test_whole_is_everybody_up_and_in_sync(kafka: Any, excepted: tuple[int, ...], is_open: bool) -> None:
    gate = cluster_is_whole(kafka, (1000, 1001, 1002), excepted=frozenset(excepted))
    assert gate.open is is_open
    assert gate.reason


# --- holds ------------------------------------------------------------------------------------------------------------

SOON, PAST = NOW + timedelta(seconds=1), NOW - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({}, ""),
        ({"paused": "lunch"}, "paused: lunch"),
        ({"paused": "lunch", "paused_until": SOON}, "paused: lunch"),
        ({"paused": "lunch", "paused_until": PAST}, ""),
        ({"aborting": "oh", "paused": "lunch", "paused_until": PAST}, "aborted: oh"),
        ({"document": a_document(pause="true")}, "paused: its spec says rollout.pause"),
    ],
)
def test_who_holds_the_cluster(overrides: dict[str, Any], sentence: str) -> None:
    hold = hold_on(a_view(**overrides), NOW)
    assert (hold.sentence if hold else "") == sentence
    assert hold is None or hold.next_command.startswith("kedge ")


def test_a_paused_cluster_begins_nothing_and_says_so() -> None:
    decision = decide(a_situation(a_view(paused="lunch", generation=2, document=a_document(version="4.2.0"))))
    assert (decision.wait and decision.wait.reason, decision.effects) == ("Paused", ())
    assert facts.ConditionChanged("Paused", True, "Paused", "paused: lunch") in decision.events


def test_a_pause_that_is_over_shows_as_over() -> None:
    held = {"Paused": ConditionView(True, "Paused", "", BEFORE), **a_view().conditions}
    decision = decide(a_situation(a_view(paused="lunch", paused_until=PAST, conditions=held)))
    assert facts.ConditionChanged("Paused", False, "Free", "") in decision.events


# --- conditions -------------------------------------------------------------------------------------------------------


def _conditions(decision: Decision, **view: Any) -> dict[str, tuple[bool, str]]:
    changes = condition_changes(a_situation(a_view(**view)), decision)
    return {c.type: (c.status, c.reason) for c in changes}


def test_a_cluster_at_rest_changes_no_condition() -> None:
    assert _conditions(Decision("converged")) == {}


@pytest.mark.parametrize(("since_s", "shown"), [(19, False), (20, True)])
def test_a_wait_is_shown_once_its_patience_is_over(since_s: int, shown: bool) -> None:
    waiting = Decision("waiting for it", wait=Wait(WaitReason.LOG_DIRS_NOT_EMPTY, "kedge describe orders", 20))
    changes = _conditions(waiting, progressed_at=NOW - timedelta(seconds=since_s))
    assert changes == ({"Blocked": (True, "LogDirsNotEmpty")} if shown else {})


def test_the_condition_names_the_next_command() -> None:
    waiting = Decision("waiting", wait=Wait(WaitReason.SOAK, "kedge describe orders", 0))
    change = condition_changes(a_situation(a_view()), waiting)[0]
    assert change.message == "waiting. Next: kedge describe orders"


def test_another_number_in_the_message_is_no_change() -> None:
    known = {**a_view().conditions, "Blocked": ConditionView(True, "Soak", "5 s more", BEFORE)}
    assert _conditions(Decision("4 s more", wait=Wait(WaitReason.SOAK, "", 0)), conditions=known) == {}
    assert _conditions(Decision("x", wait=Wait(WaitReason.LINGER, "", 0)), conditions=known) == {
        "Blocked": (True, "Linger")
    }
    assert _conditions(Decision("free"), conditions=known) == {"Blocked": (False, "Free")}


def test_a_new_generation_is_not_converged() -> None:
    assert _conditions(Decision("working"), generation=2) == {"Converged": (False, "Working")}


# --- deletion ---------------------------------------------------------------------------------------------------------


def _doomed(policy: str = "destroy", **overrides: Any) -> ClusterView:
    told = {"tombstone": "asked for", "tombstone_at": NOW, "document": a_document(deletion=policy)}
    return a_view(**{**told, **overrides})


def _delete(view: ClusterView, **seen: Any) -> Decision | None:
    return deletion_step(a_situation(view, **seen))


@pytest.mark.parametrize("view", [a_view(), _doomed(document=None)], ids=["no tombstone", "no document"])
def test_nothing_but_a_tombstone_leads_to_a_destroy(view: ClusterView) -> None:
    assert _delete(view) is None


def test_services_stop_before_their_vms_go() -> None:
    assert _reason(_delete(_doomed())) == "Stopping"


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_once_all_have_stopped_the_destroy_is_an_intent(state: str) -> None:
    view = _doomed()
    decision = _delete(view, reports={i.key: a_report(i, state) for i in view.alive()})
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.DestroyRequested]


def test_one_that_will_not_stop_does_not_keep_the_rest() -> None:
    late = _doomed(tombstone_at=NOW - timedelta(seconds=STOP_WITHIN_S))
    told = _delete(late)
    assert told is not None
    assert [type(e) for e in told.events] == [facts.QuorumStopRequested]
    decision = _delete(changed_view(late, quorum_stop_at=late.requests.tombstone_at))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.DestroyRequested]


def test_retained_resources_are_let_go_of_and_not_touched() -> None:
    decision = _delete(_doomed("retain"))
    assert decision is not None
    assert (decision.events, decision.effects) == ((facts.ClusterDeleted(True),), ())


def test_a_cluster_without_vms_is_deleted_at_once() -> None:
    decision = _delete(_doomed(instances={}))
    assert decision is not None
    assert decision.events == (facts.ClusterDeleted(False),)


def test_a_run_in_hand_ends_before_the_destroy() -> None:
    view = _doomed(intents={"i": IntentView("i", "surge", ("brokers-a-0.g1",), BEFORE)})
    decision = _delete(view)
    assert decision is not None
    assert decision.effects == (StartRun("i", "i.0"),)


# --- decide -----------------------------------------------------------------------------------------------------------


def test_at_rest_there_is_no_event_no_effect_and_a_sentence() -> None:
    decision = decide(a_situation(a_view()))
    assert decision == Decision("converged at generation 1: 6 VMs")


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        (a_view(document=None), "nothing declared"),
        (a_view(document=None, instances={}), "nothing declared"),
        (a_view(deleted=True), "deleted"),
    ],
    ids=["a missing document", "an empty view", "deleted"],
)
def test_a_missing_or_empty_spec_does_nothing(view: ClusterView, sentence: str) -> None:
    decision = decide(a_situation(view))
    assert (decision.sentence, decision.effects) == (sentence, ())
    assert all(isinstance(e, facts.ConditionChanged) for e in decision.events)


EVERY_PHASE = [
    *(an_instance("brokers-a-0", 1, p) for p in Phase if p is not Phase.RELEASED),
    *(an_instance("controllers-a-0", 1, p) for p in (Phase.FENCING, Phase.FENCED, Phase.RELEASED, Phase.FAILED)),
]


@pytest.mark.parametrize("instance", EVERY_PHASE, ids=lambda i: f"{i.node}-{i.phase}")
@pytest.mark.parametrize("blind", ["nothing is known", "everything is stale"])
def test_blindness_never_destroys(instance: Any, blind: str) -> None:
    """Whatever phase a VM is in: without a fresh look no service is stopped and no VM is given up."""
    view = a_view(
        instance, an_instance("brokers-a-0", 2), generation=2, document=a_document(version="4.2.0"), recycling=2
    )
    seen: dict[str, Any] = {"inventory": None, "kafka": None, "reports": {}}
    if blind == "everything is stale":
        seen = {"kafka": a_snapshot(brokers=(1000, 1001, 1002, 1010), at=STALE), "reports": {}}
    decision = decide(a_situation(view, **seen))
    controllers_of_a_dead_start = instance.phase is Phase.FAILED and not instance.is_broker
    destroys = (facts.FenceRequested, facts.RetireRequested, facts.DestroyRequested, facts.RetireCompleted)
    if not controllers_of_a_dead_start:
        assert not any(isinstance(e, destroys) for e in decision.events)
    assert not any(type(e).__name__ in ("TerminateInstance", "Unregister") for e in decision.effects)


def test_who_is_only_about_to_get_a_copy_does_not_keep_the_one_that_has_it_from_its_cure() -> None:
    """The restart of the broker with the only copy waited for the leader that nobody but it could be."""
    lost = a_partition("heap-0", (1003, 1000), isr=(1000,), adding=(1003,), removing=(1000,), leader=-1, min_isr=1)
    serve = (1001, 1002, 1003)
    unhealthy = frozenset({1000})
    assert cluster_is_whole(a_snapshot(lost, brokers=serve), serve, excepted=unhealthy).open
    elsewhere = replace(lost, isr=(1003,))
    assert not cluster_is_whole(a_snapshot(elsewhere, brokers=serve), serve, excepted=unhealthy).open
