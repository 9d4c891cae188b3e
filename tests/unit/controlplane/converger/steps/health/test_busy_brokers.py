"""Brokers that are busy and advance: nothing is done to them, and it is told why; one that stands still is cured."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import ProgressReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.questions.health.cure_evidence import evidence_of
from controlplane.converger.questions.moves.dead_targets import new_vm_for
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.health.healing import healing_left_step, healing_step
from controlplane.converger.steps.rolls.arrivals import arrival_step
from controlplane.converger.steps.running.restarts import restart_in_hand_step
from events import facts
from planner.cure_table import RESTART_FAILED, TARGET_DEAD
from planner.healing import HealingRefusal
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
    an_observation,
)

A, B, C = (f"brokers-{rack}-0.g1" for rack in "abc")
LAGS = {"name": "metadata_lag", "since": BEFORE, "message": "its metadata is 80 s old"}


def metadata(advanced: float, *, left: float = 8000, closer: float = 0, position: float = 500) -> ProgressReport:
    return ProgressReport(name="metadata", over_s=120, advanced=advanced, left=left, closer=closer, position=position)


def partitions(advanced: float) -> ProgressReport:
    return ProgressReport(name="partitions", over_s=120, advanced=advanced)


COMES_ON = (metadata(2400, left=4800, closer=2400), partitions(0))
OPENS = (metadata(0), partitions(2000))
STANDS = (metadata(0), partitions(0))


def situation(**lagging: tuple[ProgressReport, ...]) -> Situation:
    """By rack, brokers whose agents find that their metadata is old, each with its progress."""
    view = a_view()
    reports = dict(an_observation(view).reports)
    for rack, progress in lagging.items():
        key = f"brokers-{rack}-0.g1"
        reports[key] = a_report(view.instances[key], findings=[LAGS], progress=progress)
    return a_situation(view, reports=reports)


def unhealthy(here: Situation) -> facts.ConditionChanged:
    return next(c for c in condition_changes(here, Decision("at rest")) if c.type == "Ailing")


@pytest.mark.parametrize(
    ("progress", "reason", "words"),
    [
        (COMES_ON, "Recovering", "it advances 1,200 metadata offsets a minute, about 4 min left"),
        (OPENS, "Recovering", "it opens or closes 1,000 partitions a minute, or changes what it leads"),
        ((), "NotKnown", "whether it gets better by itself is not known yet (the offset it has applied)"),
    ],
    ids=["advances", "one large change", "older agent"],
)
def test_a_busy_broker_is_not_restarted_and_it_is_told_why(
    progress: tuple[ProgressReport, ...], reason: str, words: str
) -> None:
    """Two of three lagged while they applied 4,000 partitions; one was restarted: no partition had all its replicas."""
    here = situation(a=progress)
    assert healing_step(here) is None
    assert healing_left_step(here) is None
    told = unhealthy(here)
    assert (told.status, told.reason) == (True, reason)
    assert told.message.startswith(f"{A}: metadata_lag (its metadata is 80 s old): {words}")


def test_what_two_of_three_have_is_not_this_brokers() -> None:
    here = situation(a=STANDS, b=STANDS)
    assert healing_step(here) is None
    assert unhealthy(here).reason == "SharedCause"
    assert "1 of 2 peers have it too: the cause is not this broker" in unhealthy(here).message


def test_one_that_stands_still_while_the_others_have_caught_up_is_restarted() -> None:
    decision = healing_step(situation(a=STANDS))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.HealingRequested, facts.RestartRequested]


def test_while_a_peer_is_not_heard_nobody_knows_whether_it_has_it_too() -> None:
    here = situation(a=STANDS)
    old = replace(here.seen.reports[B], received_at=NOW - timedelta(seconds=31))
    unheard = replace(here, seen=replace(here.seen, reports={**here.seen.reports, B: old}))
    assert healing_step(unheard) is None
    assert unhealthy(unheard).reason == "NotKnown"


def test_its_log_is_held_against_that_of_controllers_and_peers() -> None:
    here = situation(a=(metadata(0, left=0), partitions(0)))
    assert healing_step(here) is None, "nobody has more than it has applied"
    leads = a_report(here.view.instances["controllers-a-0.g1"], metrics={"quorum_log_end": 900.0})
    more = replace(here, seen=replace(here.seen, reports={**here.seen.reports, "controllers-a-0.g1": leads}))
    assert evidence_of(more, more.view.instances[A]).log_end == 900.0
    assert healing_step(more) is not None
    follows = a_report(here.view.instances[B], progress=(metadata(240, left=3, position=950),))
    peers = replace(here, seen=replace(here.seen, reports={**here.seen.reports, B: follows}))
    assert evidence_of(peers, peers.view.instances[A]).log_end == 953.0


def test_what_an_old_report_said_of_progress_is_not_known_any_more() -> None:
    here = situation(a=COMES_ON)
    old = replace(here.seen.reports[A], received_at=NOW - timedelta(seconds=31))
    silent = replace(here, seen=replace(here.seen, reports={**here.seen.reports, A: old}))
    assert evidence_of(here, here.view.instances[A]).progress
    assert not evidence_of(silent, silent.view.instances[A]).progress


def test_what_a_restart_takes_away_is_counted_in_partitions_that_are_at_their_min_isr_without_it() -> None:
    parts = (a_partition("orders-0"), a_partition("orders-1", isr=(1000, 1001, 1002), min_isr=1))
    here = situation(a=STANDS)
    seen = replace(here, seen=replace(here.seen, kafka=a_snapshot(*parts)))
    found = evidence_of(seen, seen.view.instances[A])
    assert (found.hosted, found.thinned) == (2, 1)
    assert evidence_of(seen, seen.view.instances["controllers-a-0.g1"]).hosted is None


STARTS = (ProgressReport(name="recovery", over_s=60, advanced=40, left=160, closer=40),)


def restarting(progress: tuple[ProgressReport, ...], **restart: Any) -> Situation:
    values: dict[str, Any] = {"new_settings": False, "reverting": "", **restart}
    view = a_view(
        restarts={A: RestartView(A, 1, NOW - timedelta(seconds=900), False, Before({}, None), **values)},
        document=a_document(),
    )
    reports = {i.key: a_report(i) for i in view.alive()}
    reports[A] = a_report(view.instances[A], "starting", progress=progress)
    return a_situation(view, reports=reports, kafka=a_snapshot(brokers=(1001, 1002), fenced=(1000,)))


@pytest.mark.parametrize("reverting", ["", "not back in sync after 120 s: starting"], ids=["first", "second start"])
def test_a_start_that_opens_log_after_log_is_not_begun_anew_at_its_deadline(reverting: str) -> None:
    """Another start would read all of them again, and another VM copy all of them."""
    decision = restart_in_hand_step(restarting(STARTS, reverting=reverting))
    assert decision is not None
    assert not decision.events
    assert decision.sentence.endswith("after 900 s, and it opens 40 logs a minute, about 4 min left")
    assert (decision.wait and decision.wait.reason) == "Restart"
    given_up = restart_in_hand_step(restarting((), reverting=reverting))
    assert given_up is not None
    assert given_up.events


@pytest.mark.parametrize("finding", [TARGET_DEAD, RESTART_FAILED])
def test_a_broker_that_starts_is_not_replaced_for_moves_that_wait_for_it(finding: str) -> None:
    here = restarting(STARTS)
    kafka = here.seen.kafka
    assert kafka is not None
    left = new_vm_for(here, kafka, here.view.instances[A], BEFORE, "it does not serve", finding=finding)
    assert isinstance(left, HealingRefusal)
    assert left.reason == "it opens 40 logs a minute, about 4 min left: it gets better by itself"
    stands = restarting(())
    begun = new_vm_for(stands, kafka, stands.view.instances[A], BEFORE, "it does not serve", finding=finding)
    assert isinstance(begun, tuple)


def test_a_successor_that_opens_the_logs_of_a_disk_it_took_over_is_not_given_up_at_its_deadline() -> None:
    new: InstanceView = an_instance("brokers-a-0", 2, Phase.LAUNCHED, since=NOW - timedelta(seconds=700))
    view = a_view(*(an_instance(n) for n in ("brokers-b-0", "brokers-c-0")), new, document=a_document())
    for progress, events in ((STARTS, 0), ((), 1)):
        reports = {new.key: a_report(new, "starting", progress=progress)}
        decision = arrival_step(a_situation(view, reports=reports))
        assert decision is not None
        assert len(decision.events) == events, decision.sentence
