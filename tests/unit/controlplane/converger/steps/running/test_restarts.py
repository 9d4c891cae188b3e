"""Restarts in place, decision by decision: who is next, what holds it back, and what is given back to whom."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import Before, CanaryView, ReplaceView, RestartView, RollingRestartView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Allowance, Situation
from controlplane.converger.steps.running.restarts import restart_in_hand_step, restart_step
from events import facts
from planner.observed import QuorumSeen, VoterSeen
from planner.rollout.desired import desired_nodes
from tests.builders import (
    NODES,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    a_volume,
    an_instance,
)
from tests.changed_view import changed_view
from tests.unit.controlplane.cohosted import after

OLD: Mapping[str, str] = {"num.partitions": "3"}
WANTED = a_document(config=", config: {num.partitions: 6}")
A, B = "brokers-a-0.g1", "brokers-b-0.g1"


def _instance(node: str, config: Mapping[str, str] = OLD, **overrides: Any) -> InstanceView:
    digest = next(n for n in desired_nodes(WANTED) if n.node == node).digest_with(OLD)
    planned = an_instance(node, digest=digest, settings=dict(config), **overrides)
    return replace(planned, start=replace(planned.start, born_with=OLD, config=config))


def _cluster(*instances: InstanceView, **overrides: Any) -> ClusterView:
    """Every service was told the old settings, unless given otherwise; the roll to generation 2 has begun."""
    values: dict[str, Any] = {"document": WANTED, "generation": 2, "recycling": 2, **overrides}
    return a_view(*(_instance(node) for node in NODES), *instances, **values)


def _told(*nodes: str) -> list[InstanceView]:
    return [_instance(node, {"num.partitions": "6"}) for node in nodes]


def _next(view: ClusterView, **seen: Any) -> Decision:
    decision = restart_step(a_situation(view, **seen))
    assert decision is not None
    return decision


def _requested(decision: Decision) -> facts.RestartRequested:
    (event,) = decision.events
    assert isinstance(event, facts.RestartRequested)
    return event


def test_nothing_is_restarted_where_every_service_was_told() -> None:
    assert restart_step(a_situation(_cluster(*_told(*NODES)))) is None


def test_the_first_broker_is_the_canary_and_gets_a_new_start_with_what_changed() -> None:
    request = _requested(_next(_cluster()))
    assert (request.key, request.start, request.canary) == (A, 2, True)
    assert (request.config, request.told) == ({"num.partitions": "6"}, {"num.partitions": "6"})


def test_controllers_come_after_the_brokers_and_the_leader_last() -> None:
    leads = a_snapshot(quorum=replace(a_snapshot().quorum, leader=100))
    brokers_done = _cluster(*_told(*NODES[:3]))
    assert _requested(_next(brokers_done, kafka=leads)).key == "controllers-b-0.g1"
    assert _requested(_next(_cluster(*_told(*NODES[:3], *NODES[4:])), kafka=leads)).key == "controllers-a-0.g1"


def test_the_others_wait_while_the_canary_is_watched() -> None:
    canary = CanaryView(A, 2, NOW - timedelta(seconds=2), Before(OLD, None))
    view = _cluster(*_told("brokers-a-0"), canaries={"broker": canary})
    decision = _next(view)
    assert decision.wait is not None
    assert decision.wait.reason == "Soak"
    watched = replace(canary, since=NOW - timedelta(seconds=6))
    assert _requested(_next(replace(view, settings=replace(view.settings, canaries={"broker": watched})))).key == B
    assert not _requested(_next(replace(view, settings=replace(view.settings, canaries={"broker": watched})))).canary


def test_a_canary_that_kafka_calls_dead_gets_its_old_settings_back_and_a_silent_agent_proves_nothing() -> None:
    canary = CanaryView(A, 2, NOW - timedelta(seconds=2), Before(OLD, None))
    view = _cluster(*_told("brokers-a-0"), canaries={"broker": canary})
    (event,) = _next(view, kafka=a_snapshot(brokers=(1001, 1002), fenced=(1000,))).events
    assert isinstance(event, facts.RestartRevertRequested)
    assert (event.key, event.start) == (A, 2)
    assert _next(view, reports={}).events == ()


def test_a_canary_of_an_earlier_generation_is_watched_no_more() -> None:
    canary = CanaryView(B, 1, NOW, Before(OLD, None))
    assert _requested(_next(_cluster(canaries={"broker": canary}))).canary


def _down(broker: int) -> dict[str, Any]:
    return {"kafka": a_snapshot(brokers=[b for b in (1000, 1001, 1002) if b != broker], fenced=[broker])}


LAST_ONE_IN_SYNC = a_partition("thin-0", (1000, 1001), isr=(1000, 1001), min_isr=2)
BEHIND = a_partition("orders-0", isr=(1000, 1001))
SHRINKING = a_partition("orders-0", (1000, 1001, 1002), isr=(1000, 1001, 1002), removing=(1002,), min_isr=2)


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (_down(1002), "broker 1002"),
        ({"kafka": a_snapshot(LAST_ONE_IN_SYNC)}, "would fall below min ISR"),
        ({"kafka": a_snapshot(BEHIND)}, "under-replicated"),
        ({"kafka": a_snapshot(SHRINKING)}, "being moved"),
        ({"kafka": None}, "Kafka's metadata"),
        ({"kafka": a_snapshot(at=NOW - timedelta(seconds=31))}, "older than 30 s"),
        ({"allowance": Allowance(may_roll=False, reason="ten clusters roll")}, "ten clusters roll"),
    ],
    ids=["broker down", "min ISR", "not in sync", "a move takes one away", "unknown", "stale", "brake"],
)
def test_no_restart_begins(seen: dict[str, Any], why: str) -> None:
    decision = _next(_cluster(), **seen)
    assert decision.wait is not None
    assert (decision.events, why in decision.sentence) == ((), True), decision.sentence


def test_a_topic_that_may_be_unavailable_holds_nothing_back() -> None:
    excused = WANTED.model_copy(
        update={
            "spec": WANTED.spec.model_copy(
                update={"rollout": WANTED.spec.rollout.model_copy(update={"allow_unavailable": ("thin",)})}
            )
        }
    )
    assert _requested(_next(_cluster(document=excused), kafka=a_snapshot(LAST_ONE_IN_SYNC))).key == A


def test_a_controller_waits_for_a_majority_that_keeps_up() -> None:
    members = tuple(
        VoterSeen(100 + k, a_volume(n).directory_id, 0, True, 60.0 * (k == 2)) for k, n in enumerate(NODES[3:])
    )
    late = a_snapshot(quorum=QuorumSeen(100, 1, members))
    decision = _next(_cluster(*_told(*NODES[:3])), kafka=late)
    assert decision.wait is not None
    assert decision.wait.reason == "QuorumGate"


def test_one_that_just_died_holds_the_next_back_before_kafka_knows() -> None:
    view = _cluster()
    broker, controller = "brokers-c-0.g1", "controllers-c-0.g1"
    away = f"broker 1002 ({broker}, rack c) is away since 2026-01-01 11:58:20 UTC: starting (at most 1 at a time, by "
    for key, reason, words in (
        (broker, "MaxUnavailable", f"{away}rollout.maxUnavailable)"),
        (controller, "BrokerDown", f"{controller} is starting"),
    ):
        decision = _next(view, reports={key: a_report(view.instances[key], "starting")})
        assert decision.wait is not None
        assert (decision.wait.reason, decision.sentence) == (reason, f"restart of {A}: {words}")
    assert _requested(_next(view, reports={})).key == A


def test_the_generation_is_said_to_be_worked_on_first() -> None:
    (event,) = _next(_cluster(recycling=0)).events
    assert isinstance(event, facts.RecycleStarted)
    assert event.reason == "6 services to restart in place: Kafka reads num.partitions when it starts"


def test_after_a_failure_nobody_is_restarted_and_the_way_on_is_said() -> None:
    decision = _next(_cluster(restart_refusal=(A, "not back in sync after 120 s: starting")))
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.patience_s) == ("RestartReverted", 0)
    assert "kedge resume orders" in decision.wait.next_command


def test_who_failed_is_not_counted_among_those_that_were_not_restarted() -> None:
    refusal = (A, "not back in sync after 120 s: starting")
    decision = _next(_cluster(restart_refusal=refusal))
    assert decision.sentence == (
        f"{A} was not back in sync after 120 s: starting; it has its old settings back, and 5 other services were not "
        "restarted"
    )
    alone = _next(changed_view(_asked(A), restart_refusal=refusal))
    assert alone.sentence == f"{A} was not back in sync after 120 s: starting; it was started once more"


# --- one in hand --------------------------------------------------------------------------------------------------


def _restarting(since_s: float, **overrides: Any) -> ClusterView:
    restart = RestartView(A, 2, NOW - timedelta(seconds=since_s), True, Before(OLD, None), **overrides)
    return _cluster(_instance("brokers-a-0", {"num.partitions": "6"}, starts=2), restarts={A: restart})


def _in_hand(view: ClusterView, *, state: str = "running", start: int = 2, **seen: Any) -> Decision:
    began = view.settings.restarts[A].since + timedelta(seconds=3)
    report = a_report(view.instances[A], state, start_id=f"{A}-{start}", since=began)
    decision = restart_in_hand_step(_with(view, report, **seen))
    assert decision is not None
    return decision


def _with(view: ClusterView, report: Any, **seen: Any) -> Situation:
    return a_situation(view, reports={A: report}, **seen)


def test_it_is_over_when_this_very_start_runs_and_is_in_every_isr() -> None:
    assert _in_hand(_restarting(10)).events == (facts.RestartCompleted(A),)
    assert _in_hand(_restarting(10), start=1).events == ()
    assert _in_hand(_restarting(10), state="starting").events == ()
    behind = a_partition("orders-0", isr=(1001, 1002))
    assert _in_hand(_restarting(10), kafka=a_snapshot(behind)).events == ()
    assert _in_hand(_restarting(10), kafka=a_snapshot(at=NOW - timedelta(seconds=11))).events == ()


def test_after_its_deadline_it_gets_its_old_settings_back() -> None:
    assert _in_hand(_restarting(119), state="starting").events == ()
    (event,) = _in_hand(_restarting(121), state="starting").events
    assert event == facts.RestartRevertRequested(A, 3, "not back in sync after 120 s: starting")


def test_one_that_runs_is_not_taken_back_while_nobody_can_be_asked() -> None:
    decision = _in_hand(_restarting(121), kafka=None)
    assert (decision.events, "nobody knows" in decision.sentence) == ((), True)


def test_one_that_does_not_come_back_with_its_old_settings_either_is_told() -> None:
    view = _restarting(121, reverting="not back in sync after 120 s: starting")
    decision = _in_hand(view, state="failed")
    assert decision.wait is not None
    assert (decision.events, decision.wait.reason) == ((), "RestartFailed")
    assert _in_hand(view).events == (facts.RestartReverted(A),)


@pytest.mark.parametrize(
    ("ago_s", "state", "start", "stopped_s", "waits"),
    [
        (179, "stopping", 1, 0, True),
        (181, "stopping", 1, 0, False),
        (170, "starting", 2, 60, True),
        (181, "starting", 2, 60, False),
        (170, "failed", 2, 60, False),
        (121, "starting", 2, 10, False),
    ],
    ids=["it hangs", "for ever", "it hung", "it hung, and is late", "it hung, and failed", "it was stopped at once"],
)
def test_a_process_that_hangs_has_its_minute_before_the_deadline_of_the_next_one(
    ago_s: int, state: str, start: int, stopped_s: int, waits: bool
) -> None:
    """With a `joinDeadline` of a minute each restart of a frozen broker had failed before its agent killed it."""
    view = _restarting(ago_s)
    since = view.settings.restarts[A].since + timedelta(seconds=stopped_s)
    report = a_report(view.instances[A], state, start_id=f"{A}-{start}", since=since)
    decision = restart_in_hand_step(_with(view, report, kafka=AWAY))
    assert decision is not None
    assert [type(e) for e in decision.events] == ([] if waits else [facts.RestartRevertRequested])


NOT_BACK: dict[str, Any] = {"reverting": "not back in sync after 120 s: starting", "new_settings": False}
AWAY = a_snapshot(a_partition("orders-0", isr=(1001, 1002)), brokers=(1001, 1002), fenced=(1000,))


def test_a_broker_that_a_second_start_with_nothing_new_does_not_bring_back_gets_a_new_vm() -> None:
    """It waited for a person, and everything else with it, though a cure of its own had asked for the restart."""
    decision = _in_hand(_restarting(121, **NOT_BACK), kafka=AWAY)
    ended, healing, replacing = decision.events
    assert ended == facts.RestartReverted(A, given_up=True)
    assert isinstance(healing, facts.HealingRequested)
    assert (healing.key, healing.finding, healing.cure) == (A, "restart_failed", "replace")
    assert isinstance(replacing, facts.NodeReplaceRequested)
    assert replacing.reason.startswith("healing of restart_failed: brokers-a-0.g1 is not back after another start")


@pytest.mark.parametrize(
    ("restart", "seen"),
    [
        ({**NOT_BACK, "new_settings": True}, {"kafka": AWAY}),
        (NOT_BACK, {"kafka": a_snapshot(a_partition("orders-0", isr=(1001, 1002)))}),
        (NOT_BACK, {"kafka": None}),
        (NOT_BACK, {"kafka": a_snapshot(brokers=(1002,), fenced=(1000, 1001))}),
    ],
    ids=["its settings may be why", "it serves and catches up", "nobody knows", "that may be a split"],
)
def test_no_new_vm_is_made_on_a_guess_for_one_that_is_not_back(restart: dict[str, Any], seen: dict[str, Any]) -> None:
    decision = _in_hand(_restarting(121, **restart), state="starting", **seen)
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "RestartFailed")


def test_one_that_is_to_get_a_new_vm_anyway_is_not_waited_for() -> None:
    """A person had asked for it while the restart was in hand, and neither came to an end."""
    asked = {A: ReplaceView("asked by anna", False, NOW)}
    view = changed_view(_restarting(121, reverting=NOT_BACK["reverting"], new_settings=True), to_replace=asked)
    assert _in_hand(view, kafka=AWAY).events == (facts.RestartReverted(A, given_up=True),)


def test_once_it_gets_a_new_vm_its_restart_is_over_and_is_no_reason_against_others() -> None:
    view = _restarting(121, **NOT_BACK)
    view = replace(view, settings=replace(view.settings, restart_refusal=(A, "not back in sync after 120 s: starting")))
    ended = after(view, facts.RestartReverted(A, given_up=True), NOW)
    assert (dict(ended.settings.restarts), ended.settings.restart_refusal) == ({}, None)
    assert after(view, facts.RestartReverted(A), NOW).settings.restart_refusal is not None


def test_nothing_is_in_hand_at_rest() -> None:
    assert restart_in_hand_step(a_situation(_cluster())) is None


# --- asked for by a person --------------------------------------------------------------------------------------


def _asked(*left: str) -> ClusterView:
    """At rest as declared, and somebody asked for these, and for one that is done, to be restarted."""
    rolling = RollingRestartView("r", ("controllers-a-0.g1", *left), left, "asked by anna: leak", NOW)
    return a_view(*(an_instance(node) for node in NODES), recycling=1, rolling_restart=rolling)


def test_an_asked_restart_changes_no_setting_and_nobody_is_watched() -> None:
    request = _requested(_next(_asked(A, B)))
    assert (request.key, request.start, request.config, request.told, request.canary) == (A, 2, {}, {}, False)
    assert request.reason == "asked by anna: leak, 2 of 3"


def test_an_asked_restart_is_rolling_work_that_begins_with_a_word() -> None:
    (event,) = _next(changed_view(_asked(A), recycling=0)).events
    assert isinstance(event, facts.RecycleStarted)


def test_when_none_is_left_the_rolling_restart_is_over() -> None:
    assert _next(_asked()).events == (facts.RollingRestartCompleted("r"),)


def test_one_whose_vm_was_replaced_meanwhile_is_not_waited_for() -> None:
    view = _asked(A)
    successor = an_instance("brokers-a-0", 2)
    kept = {k: i for k, i in view.instances.items() if k != A}
    assert _next(replace(view, instances={**kept, successor.key: successor})).events == (
        facts.RollingRestartCompleted("r"),
    )


def test_a_restart_for_a_setting_serves_who_asked_for_one_too() -> None:
    view = changed_view(_cluster(), rolling_restart=RollingRestartView("r", (A,), (A,), "asked by anna", NOW))
    request = _requested(_next(view))
    assert (request.canary, request.config) == (True, {"num.partitions": "6"})


def test_a_refused_asked_restart_names_only_what_helps() -> None:
    decision = _next(changed_view(_asked(A, B), restart_refusal=(A, "not back in sync after 120 s: starting")))
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.next_command) == ("RestartReverted", "kedge resume orders to try again")
    assert "settings" not in decision.sentence
