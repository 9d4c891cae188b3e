"""How often reports are asked for, and what follows for the time they count."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.observed.agent_reports import AGENT_REPORT, keep_report, last_report
from controlplane.cluster.observed.report_pace import AT_REST, AT_WORK, ReportPace, pace_of
from controlplane.cluster.view import ConditionView
from controlplane.converger.tick.sources.agents import AgentsReader
from controlplane.storage.latest_values import Renewal, Subject
from planner.breakdown import LEAST
from tests.builders import BEFORE, NOW, a_report, a_view, an_instance, changed_view
from tests.fakes.latest_values import MemoryLatestStore

KEY = "brokers-a-0.g1"


def test_while_work_is_in_hand_a_report_counts_as_long_as_it_always_did() -> None:
    assert AT_WORK.young_for == timedelta(seconds=30)
    assert AT_WORK.silent_after == timedelta(seconds=10)


def test_two_answers_in_a_row_have_to_be_missed_by_nobody_before_a_report_at_rest_is_old() -> None:
    assert AT_REST.young_for >= timedelta(seconds=AT_REST.every_s + 10), "an agent hangs up after 10 s"
    assert AT_REST.young_for < LEAST, "a broker that dies at rest is told as soon as one that dies at work"


def test_a_cluster_as_declared_is_at_rest_and_one_with_work_or_harm_is_not() -> None:
    view = a_view()
    assert pace_of(view) is AT_REST
    assert pace_of(changed_view(view, converged=0)) is AT_WORK
    for kind, reason, pace in (
        ("BrokerAway", "Unreachable", AT_WORK),
        ("AtMinIsr", "AtMinIsr", AT_WORK),
        ("Ailing", "Deadlock", AT_WORK),
        ("ImageBehind", "Behind", AT_REST),
        ("CloudDrift", "Changed", AT_REST),
    ):
        told = {**view.conditions, kind: ConditionView(True, reason, "", BEFORE)}
        assert pace_of(replace(view, conditions=told)) is pace, kind


@pytest.mark.parametrize(("converged", "young"), [(1, True), (0, False)])
def test_what_was_told_at_rest_counts_for_less_once_there_is_work(converged: int, young: bool) -> None:
    latest, view = MemoryLatestStore(), changed_view(a_view(), converged=converged)
    told = a_report(an_instance("brokers-a-0")).report
    keep_report(latest, view.uid, KEY, told, NOW, AT_REST)
    later = NOW + timedelta(seconds=31)
    assert AgentsReader(latest, lambda: later).reports(view)[KEY].is_young(later) is young


def test_the_pace_is_kept_with_the_report_and_one_of_before_there_were_paces_came_every_3_s() -> None:
    latest, view = MemoryLatestStore(), a_view()
    told = a_report(an_instance("brokers-a-0")).report
    keep_report(latest, view.uid, KEY, told, NOW, ReportPace(20.0))
    seen = last_report(latest, view.uid, KEY)
    assert seen is not None
    assert (seen.pace, seen.report) == (ReportPace(20.0), told)
    (row,) = latest.of_cluster(view.uid, AGENT_REPORT)
    older = {name: value for name, value in row.value.items() if name != "kept"}
    latest.put(replace(row, value=older, seq=2))
    seen = last_report(latest, view.uid, KEY)
    assert seen is not None
    assert (seen.pace, seen.figures_at) == (AT_WORK, NOW)


def test_a_renewed_report_is_young_again_and_its_figures_and_dates_are_of_when_they_came() -> None:
    latest, view = MemoryLatestStore(), a_view()
    told = a_report(an_instance("brokers-a-0")).report
    keep_report(latest, view.uid, KEY, told, NOW, AT_REST)
    before = last_report(latest, view.uid, KEY)
    later = NOW + timedelta(seconds=60)
    latest.renew_all([Renewal(Subject(AGENT_REPORT, view.uid, KEY), later, told.boot_id, told.seq + 1, "")])
    seen = last_report(latest, view.uid, KEY)
    assert before is not None
    assert seen is not None
    assert (seen.is_young(later), seen.received_at, seen.figures_at) == (True, later, NOW)
    assert seen.since(told.services[0]) == before.since(told.services[0])
