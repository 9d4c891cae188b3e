"""Healing: what begins a cure, what it waits for, and what is never taken for a finding."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.views.running_settings import Before, ReplaceView, RestartView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.ladder.decide import IN_HAND, _in_hand
from controlplane.converger.questions.health.cure_gates import healing_gate
from controlplane.converger.situation.cure_budget import FleetCures
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.situation import Allowance, Situation
from controlplane.converger.steps.health.healing import healing_left_step, healing_step, lost_disk_first
from events import facts
from planner.healing import Cure, PastCure
from planner.observed import PartitionSeen
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_drain,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
    an_observation as seen_of,
)

UNHEALTHY = "brokers-a-0.g1"
DRAIN = next(n for n, rung in enumerate(IN_HAND) if rung.name == "drain_step")
STUCK = {"name": "deadlock", "since": BEFORE, "message": "2 threads wait for each other for ever"}


def situation(finding: dict[str, Any] = STUCK, *, key: str = UNHEALTHY, **about: Any) -> Situation:
    """A converged cluster where the agent of `key` tells a finding. `about`: of the view, the report, what is seen."""
    view = a_view(**about.pop("view", {}))
    reports = dict(seen_of(view).reports)
    reports[key] = a_report(view.instances[key], findings=[finding], **about.pop("report", {}))
    return a_situation(view, reports=reports, **about)


def test_a_finding_that_lasts_begins_a_restart_with_its_own_words() -> None:
    decision = healing_step(situation())
    assert decision is not None
    healing, restart = decision.events
    assert healing == facts.HealingRequested(
        UNHEALTHY,
        "brokers-a-0",
        "deadlock",
        "restart",
        "deadlock: 2 threads wait for each other for ever; a fresh process is the gentlest cure",
    )
    assert isinstance(restart, facts.RestartRequested)
    assert (restart.key, restart.start, restart.config, restart.told, restart.canary) == (UNHEALTHY, 2, {}, {}, False)


def test_nothing_is_cured_once_the_fleet_has_had_its_cures_of_the_day_and_that_is_told() -> None:
    begun = FleetCures(2, ((NOW - timedelta(hours=3), "another"), (NOW - timedelta(hours=1), "cluster")))
    here = situation(allowance=Allowance(cures=begun))
    assert healing_step(here) is None
    assert healing_left_step(here) is None
    told = next(c for c in condition_changes(here, Decision("at rest")) if c.type == "Ailing")
    assert (told.status, told.reason) == (True, "FleetBrake")
    assert "2 cures in 2 clusters within a day are the most the fleet begins by itself" in told.message
    past = replace(here, now=NOW, allowance=Allowance(cures=replace(begun, most=3)))
    assert healing_step(past) is not None


def test_a_controller_is_cured_like_a_broker() -> None:
    decision = healing_step(situation(key="controllers-b-0.g1"))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.HealingRequested, facts.RestartRequested]


@pytest.mark.parametrize(
    "about",
    [
        {"report": {"received_at": NOW - timedelta(seconds=31)}},
        {"report": {"state": "starting"}},
        {"view": {"to_replace": {UNHEALTHY: ReplaceView("asked by anna", False, BEFORE)}}},
        {"finding": {**STUCK, "since": NOW - timedelta(seconds=59)}},
        {"finding": {**STUCK, "name": "disk_full:data"}},
        {"view": {"document": a_document(healing="restart: false")}},
        {"view": {"document": a_document(healing="perDay: 0")}},
    ],
    ids=["old report", "starting", "replaced anyway", "young", "not curable", "switched off", "none a day"],
)
def test_nothing_is_begun_without_cause_or_leave(about: dict[str, Any]) -> None:
    here = situation(**about)
    assert healing_step(here) is None
    assert healing_left_step(here) is None


def test_a_lost_vm_is_replaced_for_that_and_not_cured() -> None:
    lost = an_instance("brokers-a-0", lost_at=BEFORE)
    view = a_view(lost)
    reports = {UNHEALTHY: a_report(lost, findings=[STUCK])}
    assert healing_step(a_situation(view, reports=reports)) is None


@pytest.mark.parametrize(
    ("kafka", "words"),
    [
        (None, "Kafka's metadata cannot be read"),
        (a_snapshot(brokers=(1000, 1001), fenced=(1002,)), r"broker 1002 \(rack c\) is down"),
        (a_snapshot(a_partition(isr=(1000, 1001))), "1 partitions are under-replicated"),
        (a_snapshot(a_partition(isr=(1000, 1001), replicas=(1000, 1001))), "1 partitions would fall below min ISR"),
        (a_snapshot(a_partition(adding=(1001,))), "are being moved"),
    ],
    ids=["unknown", "another one down", "another one behind", "no replica to spare", "moving"],
)
def test_a_restart_waits_for_its_gate_and_blocks_nobody_else(kafka: Any, words: str) -> None:
    here = situation(kafka=kafka)
    assert healing_step(here) is None, "what keeps the gate closed may be mended by the other steps"
    waiting = healing_left_step(here)
    assert waiting is not None
    assert waiting.wait is not None
    assert waiting.wait.reason == "HealingGate"
    assert re.search(words, waiting.sentence), waiting.sentence


def test_that_the_sick_one_is_out_of_sync_is_the_reason_and_not_an_obstacle() -> None:
    here = situation(kafka=a_snapshot(a_partition(isr=(1001, 1002), leader=1001)))
    kafka = here.seen.kafka
    assert kafka is not None
    assert healing_gate(here, kafka, here.view.instances[UNHEALTHY]).open
    assert healing_step(here) is not None


def two_unhealthy(first: dict[str, Any], second: dict[str, Any], *partitions: PartitionSeen, **about: Any) -> Situation:
    """A finding of broker 1000, in rack a, and one of broker 1001, in rack b."""
    here = situation(first, kafka=a_snapshot(*partitions), **about)
    other = a_report(here.view.instances["brokers-b-0.g1"], findings=[second])
    return replace(here, seen=replace(here.seen, reports={**here.seen.reports, "brokers-b-0.g1": other}))


FAILED = {"name": "log_dir_failed", "since": NOW - timedelta(seconds=70), "message": "1 log directories are offline"}


def test_a_cure_that_waits_for_what_another_cure_mends_lets_it_go_first() -> None:
    """The disk of 1001 failed while 1000 stood still: the gate of 1000 opens once 1001 has its successor."""
    decision = healing_step(two_unhealthy(STUCK, FAILED, a_partition(isr=(1000, 1002), leader=1002)))
    assert decision is not None
    healing, replacing = decision.events
    assert isinstance(healing, facts.HealingRequested)
    assert (healing.key, healing.cure) == ("brokers-b-0.g1", "replace")
    assert isinstance(replacing, facts.NodeReplaceRequested)


def test_a_disk_that_failed_is_replaced_before_a_handover_though_another_service_is_unhealthy_longer() -> None:
    decision = lost_disk_first(two_unhealthy(STUCK, FAILED, a_partition()))
    assert decision is not None
    assert isinstance(decision.events[0], facts.HealingRequested)
    assert decision.events[0].key == "brokers-b-0.g1"


@pytest.mark.parametrize(
    "reason",
    [WaitReason.DRAIN_INFEASIBLE, WaitReason.DRAIN_TARGET, WaitReason.MOVES_DEFERRED, WaitReason.DRAIN_MOVES],
)
def test_a_drain_that_waits_for_one_whose_disk_failed_lets_it_be_replaced(reason: WaitReason) -> None:
    """No plan could be had for it, and what would have cured its target was below it in the ladder: for ever."""
    here = two_unhealthy(STUCK, FAILED, a_partition())
    decision = _in_hand(here, DRAIN, wait(reason, "a drain waits"))
    begun = [e for e in decision.events if isinstance(e, facts.NodeReplaceRequested)]
    assert [e.key for e in begun] == ([] if reason is WaitReason.DRAIN_MOVES else ["brokers-b-0.g1"])


def test_a_drain_of_which_nothing_can_move_gives_way_to_the_new_vm_of_who_is_down() -> None:
    """Seed 3652: a person had asked for that VM, and neither came to an end."""
    asked = {"brokers-b-0.g1": ReplaceView("asked by anna", False, BEFORE)}
    kafka = a_snapshot(brokers=(1000, 1002), fenced=(1001,))

    def events(**view: Any) -> tuple[object, ...]:
        here = a_situation(a_view(drain=a_drain(), **view), kafka=kafka)
        return _in_hand(here, DRAIN, wait(WaitReason.MOVES_DEFERRED, "a drain waits")).events

    assert events(to_replace=asked) == (facts.DrainAbandoned("drain-1", "put off"),)
    assert events() == ()


OUT_OF_SYNC = a_partition(isr=(1002,), leader=1002)


def test_two_brokers_that_are_in_no_isr_do_not_close_each_others_gate() -> None:
    here = two_unhealthy(STUCK, STUCK, OUT_OF_SYNC)
    decision = healing_step(here)
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.HealingRequested, facts.RestartRequested]
    assert decision.sentence.endswith("none of the 1 replicas on broker 1000 is in sync: nobody counts on it")
    begun = {UNHEALTHY: RestartView(UNHEALTHY, 1, BEFORE, canary=False, before=Before({}, {}))}
    assert (
        healing_step(replace(here, view=replace(here.view, settings=replace(here.view.settings, restarts=begun))))
        is None
    ), "one at a time"


@pytest.mark.parametrize(
    "kafka",
    [
        pytest.param(a_snapshot(a_partition(isr=(1000, 1002), leader=1002)), id="one of them is in sync"),
        pytest.param(a_snapshot(OUT_OF_SYNC, brokers=(1000,), fenced=(1001, 1002)), id="it has the last that is live"),
        pytest.param(a_snapshot(brokers=(1000, 1001), fenced=(1002,)), id="it holds nothing"),
    ],
)
def test_a_broker_that_somebody_counts_on_waits_for_the_others(kafka: Any) -> None:
    here = situation(kafka=kafka)
    assert not healing_gate(here, kafka, here.view.instances[UNHEALTHY]).open


def test_a_finding_that_many_share_is_told_and_nobody_is_replaced_for_it() -> None:
    """Both brokers were restarted an hour ago, and are as before."""
    done = tuple(
        PastCure(n, "deadlock", Cure.RESTART, NOW - timedelta(hours=1)) for n in ("brokers-a-0", "brokers-b-0")
    )
    here = two_unhealthy(STUCK, STUCK, a_partition(), view={"cures": done})
    assert healing_step(here) is None
    told = next(c for c in condition_changes(here, Decision("at rest")) if c.type == "Ailing")
    assert (told.status, told.reason) == (True, "GaveUp")
    assert "2 of 3 have it or were cured of it within 6 h: what they share" in told.message


def test_topics_that_may_be_unavailable_do_not_hold_a_cure_up() -> None:
    thin = a_snapshot(a_partition(replicas=(1000,), isr=(1000,), min_isr=1))
    held = situation(kafka=thin)
    assert healing_step(held) is None
    excused = replace(held.view, document=_excusing("orders"))
    assert healing_step(replace(held, view=excused)) is not None


def _excusing(topic: str) -> Any:
    document = a_document()
    rollout = document.spec.rollout.model_copy(update={"allow_unavailable": (topic,)})
    return document.model_copy(update={"spec": document.spec.model_copy(update={"rollout": rollout})})
