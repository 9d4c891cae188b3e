"""`evolve` is total: whatever is stored, it answers with a view, and what it cannot place freezes the cluster."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from controlplane.cluster.fold import evolve, fold
from controlplane.cluster.lifecycle import ALIVE, LEGAL, SERVING, IllegalTransition, Phase, require
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.converger.ladder.decide import decide
from events import facts
from events.codec import encode
from events.envelope import Recorded
from events.spec.conversion import to_data
from tests.builders import NOW, a_document, a_planned, a_situation, a_view, an_instance
from tests.changed_view import changed_view
from tests.sim.stories import whole_life
from tests.sim.world import UID, World

NODES = ("brokers-a-0", "brokers-b-0", "controllers-a-0")
KEYS = tuple(f"{n}.g{g}" for n in NODES for g in (1, 2))


def _recorded(fact: object, version: int, *, seconds: float = 0.0) -> Recorded:
    new = encode(fact, f"e{version}")
    at = NOW + timedelta(seconds=seconds)
    return Recorded(
        version, "cluster-c0ffee", version, new.event_id, new.type, new.schema, new.data, "t", None, None, 1, at
    )


def _told(view: ClusterView, *history: object) -> ClusterView:
    return fold(view, [_recorded(f, view.version + n, seconds=n) for n, f in enumerate(history, start=1)])


# --- any sequence ---------------------------------------------------------------------------------------------------

words = st.sampled_from(("i1", "i2", "drain-1", "x"))
keys = st.sampled_from(KEYS)
some_keys = st.lists(keys, max_size=2, unique=True).map(tuple)
broker_ids = st.integers(999, 1004)
planned = st.builds(
    a_planned,
    node=st.sampled_from(NODES),
    generation=st.integers(1, 2),
    service_id=st.integers(1000, 1010),
    handover=st.booleans(),
)
launched = st.builds(facts.LaunchedInstance, keys, words, words)
FACTS: st.SearchStrategy[object] = st.one_of(
    st.builds(
        facts.ClusterDeclared,
        words,
        words,
        st.integers(1, 9),
        st.sampled_from((to_data(a_document()), {}, {"apiVersion": "kedge/v9"}, {"apiVersion": "kedge/v1alpha1"})),
        words,
    ),
    st.builds(facts.ClusterDeletionRequested, words, words),
    st.builds(facts.ClusterPaused, words, st.none()),
    st.builds(facts.ClusterResumed, words),
    st.builds(facts.RecycleAborted, words),
    st.builds(facts.SurgeRequested, words, st.lists(planned, max_size=2).map(tuple), words),
    st.builds(
        facts.SurgeCompleted,
        words,
        st.lists(launched, max_size=2).map(tuple),
        st.dictionaries(words, words, max_size=1),
    ),
    st.builds(facts.RunFailed, words, words, words, st.booleans()),
    st.builds(facts.InstanceJoined, keys, broker_ids),
    st.builds(facts.JoinFailed, keys, words),
    st.builds(facts.InstanceLost, keys, words),
    st.builds(facts.QuorumFounded, words, words, st.just(())),
    st.builds(facts.RecycleStarted, st.integers(0, 9), some_keys, some_keys, some_keys, words),
    st.builds(facts.RecycleCompleted, st.integers(0, 9)),
    st.builds(
        facts.DrainRequested,
        words,
        some_keys,
        st.lists(broker_ids, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from(("1000", "1001", "no number")), broker_ids, max_size=2),
        st.just((1001,)),
        st.integers(1, 6),
        words,
    ),
    st.builds(
        facts.DrainPlanned, words, words, words, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.just({})
    ),
    st.builds(facts.DrainPlanFailed, words, words, st.booleans()),
    st.builds(facts.DrainAbandoned, words, words),
    st.builds(facts.BatchStarted, words, st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)),
    st.builds(facts.NodeDrained, words, some_keys, st.integers(0, 9), st.integers(0, 9)),
    st.builds(facts.FenceRequested, some_keys, words),
    st.builds(facts.NodeFenced, keys, words),
    st.builds(facts.FenceReverted, keys, words),
    st.builds(facts.BrokerUnregistered, keys, broker_ids),
    st.builds(facts.ReleaseRequested, words, keys),
    st.builds(facts.ReleaseCompleted, words),
    st.builds(facts.BindRequested, words, keys),
    st.builds(facts.BindCompleted, words),
    st.builds(facts.RetireRequested, words, some_keys, some_keys, words),
    st.builds(facts.RetireCompleted, words),
    st.builds(facts.ReplacementCompleted, words, keys, keys),
    st.builds(facts.FinalisationRequested, words, st.integers(0, 9), words),
    st.builds(facts.FeatureFinalised, words, st.integers(0, 9)),
    st.builds(facts.QuorumStopRequested, words),
    st.builds(facts.DestroyRequested, words),
    st.builds(facts.ClusterDeleted, st.booleans()),
    st.builds(facts.ConditionChanged, words, st.booleans(), words, words),
    st.builds(facts.NameTaken, words, words),
)


@given(st.lists(FACTS, max_size=25))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_sequence_of_facts_makes_it_raise(history: list[object]) -> None:
    """What does not fit is put aside, so that the sequence goes on from the last readable state as well."""
    view = a_view()
    for number, fact in enumerate(history, start=view.version + 1):
        after = evolve(view, _recorded(fact, number))
        assert after.version == number
        if after.history.unreadable:
            assert _frozen(after)
            after = replace(view, version=number)
        view = after


def _frozen(view: ClusterView) -> bool:
    decision = decide(a_situation(view))
    told = all(isinstance(e, facts.ConditionChanged) for e in decision.events)
    return told and not decision.effects and decision.wait is not None and decision.wait.reason == "HistoryUnreadable"


# --- what cannot be placed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fact",
    [
        facts.InstanceJoined("nobody.g1", 1),
        facts.InstanceJoined("brokers-a-0.g1", 1000),
        facts.RetireCompleted("never opened"),
        facts.NodeDrained("another drain", ("brokers-a-0.g1",), 0, 0),
        facts.SurgeRequested("i", (a_planned("brokers-a-0", 1),), "again"),
        facts.SurgeRequested("i", (a_planned("brokers-a-0", 2, service_id=1000),), "a spent id"),
        facts.ClusterDeclared("c0ffee", "orders", 2, {"apiVersion": "kedge/v9"}, "t"),
        facts.ClusterDeclared("c0ffee", "orders", 2, {}, "t"),
        facts.NameTaken("orders", "c0ffee"),
    ],
    ids=lambda f: type(f).__name__,
)
def test_an_event_that_cannot_be_placed_freezes_the_cluster(fact: object) -> None:
    view = evolve(a_view(), _recorded(fact, 21))
    assert "event 21" in view.history.unreadable
    assert _frozen(view)


def test_a_newer_schema_freezes_the_cluster_and_names_the_event() -> None:
    newer = replace(_recorded(facts.RecycleCompleted(1), 21), schema=2)
    view = evolve(a_view(), newer)
    assert "recycle.completed" in view.history.unreadable
    assert "newer release" in view.history.unreadable
    assert _frozen(view)


def test_an_unknown_type_freezes_the_cluster() -> None:
    assert _frozen(evolve(a_view(), replace(_recorded(facts.RecycleCompleted(1), 21), type="cluster.teleported")))


def test_damaged_data_freezes_the_cluster() -> None:
    assert _frozen(evolve(a_view(), replace(_recorded(facts.RecycleCompleted(1), 21), data={"generation": "one"})))


def test_a_frozen_cluster_stays_frozen_and_keeps_count() -> None:
    frozen = changed_view(a_view(), unreadable="event 7")
    after = _told(frozen, facts.ClusterResumed("please"), facts.RecycleCompleted(1))
    assert (after.history.unreadable, after.version) == ("event 7", 22)


def test_the_same_events_twice_are_noticed() -> None:
    """A log that repeats itself is damaged; nothing is guessed from it."""
    world = World()
    world.declare(a_document())
    world.converge()
    history = world.history()
    once = fold(empty_view(UID), history)
    assert not once.history.unreadable
    assert fold(once, history).history.unreadable


def test_a_fold_in_two_halves_is_the_fold() -> None:
    world = World()
    whole_life(world)
    history = world.history()
    whole = fold(empty_view(UID), history)
    for cut in range(0, len(history), 17):
        assert fold(fold(empty_view(UID), history[:cut]), history[cut:]) == whole
    assert not whole.history.unreadable
    assert whole.roll.converged == whole.generation == 4


# --- the table of phases ----------------------------------------------------------------------------------------------


def test_the_table_knows_every_phase_and_only_phases() -> None:
    assert set(LEGAL) == set(Phase)
    assert set(Phase) - {Phase.RETIRED} == ALIVE
    assert Phase.FENCING not in SERVING


def test_every_phase_is_reached_from_the_first_and_reaches_the_last() -> None:
    assert _reachable(Phase.REQUESTED) == set(Phase)
    assert all(Phase.RETIRED in _reachable(p) for p in Phase)


def _reachable(phase: Phase) -> set[Phase]:
    found, at = {phase}, [phase]
    while at:
        new = LEGAL[at.pop()] - found
        found |= new
        at += new
    return found


def _pairs() -> list[tuple[Phase, Phase]]:
    return [(a, b) for a in Phase for b in Phase]


@pytest.mark.parametrize(("old", "new"), _pairs(), ids=str)
def test_a_move_is_legal_only_by_the_table(old: Phase, new: Phase) -> None:
    if new in LEGAL[old]:
        assert require("k", old, new) is new
    else:
        with pytest.raises(IllegalTransition, match=f"k cannot go from {old} to {new}"):
            require("k", old, new)


def test_nothing_serving_is_retired_without_being_stopped() -> None:
    """Only what was never made or never served, or is proved stopped, may lose its VM."""
    assert {p for p in Phase if Phase.RETIRING in LEGAL[p]} == {
        Phase.REQUESTED,
        Phase.LAUNCHED,
        Phase.FENCED,
        Phase.RELEASED,
        Phase.FAILED,
    }


# --- what some events do ------------------------------------------------------------------------------------------


def test_broker_ids_are_spent_and_controllers_keep_theirs() -> None:
    asked = (a_planned("brokers-a-0", 2, service_id=1100), a_planned("controllers-b-0", 2))
    view = _told(a_view(), facts.SurgeRequested("i", asked, "roll"))
    assert view.vms.next_broker_id == 1101
    assert view.quorum.controller_ids["controllers-b-0"] == 101
    assert [i.bound for i in view.in_phase(Phase.REQUESTED)] == [True, False]


def test_vms_of_one_intent_that_fail_together_count_once() -> None:
    pair = [an_instance(f"brokers-{rack}-0", 2, Phase.LAUNCHED, intent="i") for rack in "ab"]
    view = _told(a_view(*pair), *(facts.JoinFailed(i.key, "late") for i in pair))
    assert view.roll.join_failures == 1


def test_bytes_of_a_drain_are_shared_without_losing_any() -> None:
    drained = _told(
        a_view(),
        facts.DrainRequested("d", ("brokers-a-0.g1", "brokers-b-0.g1"), (1000, 1001), {}, (1002,), 1, "fewer"),
        facts.NodeDrained("d", ("brokers-a-0.g1", "brokers-b-0.g1"), 101, 7),
    )
    assert [i.departure.drained_bytes for i in drained.in_phase(Phase.LINGERING)] == [51, 50]
    assert drained.moves.drain is None


def test_a_condition_is_no_progress() -> None:
    view = a_view()
    assert _told(view, facts.ConditionChanged("Blocked", True, "x", "")).history == view.history
    assert _told(view, facts.RecycleCompleted(1)).history.progressed_at != view.history.progressed_at


def test_controllers_are_told_to_stop_once_and_by_the_destroy_at_the_latest() -> None:
    """Of a deletion that a release of before began, nothing else is on record."""
    deletion, told = facts.ClusterDeletionRequested("orders", "over"), facts.QuorumStopRequested("all stopped")
    assert _told(a_view(), deletion).requests.quorum_stop_at is None
    destroyed = _told(a_view(), deletion, facts.DestroyRequested("here"))
    assert destroyed.requests.quorum_stop_at == NOW + timedelta(seconds=2)
    in_order = _told(a_view(), deletion, told, facts.DestroyRequested("here"), facts.DestroyRequested("there"))
    assert in_order.requests.quorum_stop_at == NOW + timedelta(seconds=2)


def test_a_declaration_does_not_lift_an_abort_and_a_resume_does() -> None:
    aborted = _told(a_view(), facts.RecycleAborted("oh"))
    declared = _told(aborted, facts.ClusterDeclared("c0ffee", "orders", 2, to_data(a_document()), "t"))
    assert (declared.requests.aborting, declared.requests.paused, declared.generation) == ("oh", "oh", 2)
    resumed = _told(declared, facts.ClusterResumed("go"))
    assert (resumed.requests.aborting, resumed.requests.paused) == ("", "")


def test_a_resume_forgives_what_failed() -> None:
    failed: Any = (
        facts.SurgeRequested("i", (a_planned("brokers-a-0", 2, service_id=1100),), "roll"),
        facts.RunFailed("i", "GuardRefused", "it wants to destroy", False),
        facts.ClusterResumed("mended"),
    )
    before, after = _told(a_view(join_failures=2), *failed[:2]), _told(a_view(join_failures=2), *failed)
    assert (before.intents["i"].failures, before.intents["i"].retryable) == (1, False)
    assert (after.intents["i"].failures, after.intents["i"].retryable, after.roll.join_failures) == (0, True, 0)


def test_a_fence_that_is_reverted_starts_the_service_anew() -> None:
    fenced = an_instance("brokers-a-0", 1, Phase.FENCED)
    back = _told(a_view(fenced), facts.FenceReverted(fenced.key, "named again")).instances[fenced.key]
    assert (back.phase, back.start.count, back.departure.fenced_at) == (Phase.JOINED, fenced.start.count + 1, None)
