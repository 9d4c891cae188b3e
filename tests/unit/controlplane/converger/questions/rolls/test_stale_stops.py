"""Orders that are young, and whose gate saw a broker that is gone by now: kept back as one that was heard too late."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.folds.steps import frozen
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.converger.questions.rolls.stale_stops import has_stale_stop
from tests.builders import NOW, a_report, a_view, an_instance

A, B = "brokers-a-0.g1", "brokers-b-0.g1"
ASKED_AT = NOW - timedelta(seconds=20)
"""Within the 30 s for which an order counts."""


def _before(seconds: float) -> Any:
    return ASKED_AT - timedelta(seconds=seconds)


def _after(seconds: float) -> Any:
    return ASKED_AT + timedelta(seconds=seconds)


def _asked(**other: Any) -> ClusterView:
    """A was asked to start anew, and has not heard of it; B is as told."""
    restart = RestartView(A, 1, ASKED_AT, False, Before(None, None), new_settings=False)
    served = {"served_at": _before(900)}
    told, beside = an_instance("brokers-a-0", starts=2, **served), an_instance("brokers-b-0", **{**served, **other})
    return a_view(told, beside, restarts={A: restart}, orders={A: ASKED_AT})


def _is_kept_back(view: ClusterView, b: ReportSeen | None) -> bool:
    """With the last word of B."""
    reports = {A: a_report(view.instances[A], start_id=f"{A}-1"), B: b}
    return has_stale_stop(view, A, reports.get, NOW)


def test_an_order_is_given_while_everybody_serves_as_when_it_was_given() -> None:
    view = _asked()
    assert not _is_kept_back(view, b=a_report(view.instances[B]))


@pytest.mark.parametrize("state", ["failed", "stopped", "starting", "running"])
def test_an_order_waits_where_another_broker_ended_or_began_since(state: str) -> None:
    """One that runs again is registered by its process of before, for a session's time."""
    view = _asked()
    assert _is_kept_back(view, b=a_report(view.instances[B], state, since=_after(5)))
    assert not _is_kept_back(view, b=a_report(view.instances[B], state, since=_before(5))), "the gate saw that"


def test_when_a_process_ended_is_by_our_clock() -> None:
    view = _asked()
    wrong = timedelta(hours=3)
    seen = a_report(view.instances[B], "failed", since=_after(5) - wrong)
    slow = replace(seen, report=seen.report.model_copy(update={"at": NOW - wrong}))
    assert _is_kept_back(view, b=slow)
    seen = a_report(view.instances[B], "failed", since=_before(5) + wrong)
    fast = replace(seen, report=seen.report.model_copy(update={"at": NOW + wrong}))
    assert not _is_kept_back(view, b=fast)


def test_an_order_waits_where_another_vm_was_lost_since() -> None:
    for lost_at, waits in ((_after(5), True), (_before(5), False)):
        view = _asked(lost_at=lost_at)
        assert _is_kept_back(view, b=a_report(view.instances[B])) is waits


def test_an_order_waits_where_another_agent_has_fallen_silent_since() -> None:
    view = _asked()
    for heard_at, waits in ((_after(5), True), (_before(5), True), (_before(11), False), (_after(10), False)):
        silent = a_report(view.instances[B], received_at=heard_at)
        assert _is_kept_back(view, b=silent) is waits
    assert not _is_kept_back(view, b=None), "it never reported"


def test_who_was_told_to_stop_or_does_not_serve_yet_holds_nobody_up() -> None:
    gone = {"since": _after(5)}
    both = _asked()
    both = replace(both, settings=replace(both.settings, orders=frozen({A: ASKED_AT, B: ASKED_AT})))
    assert not _is_kept_back(both, b=a_report(both.instances[B], "stopping", **gone))
    for phase in (Phase.LAUNCHED, Phase.FENCING, Phase.FENCED):
        view = _asked()
        other = replace(view.instances[B], phase=phase)
        view = replace(view, instances=frozen({**view.instances, B: other}))
        assert not _is_kept_back(view, b=a_report(other, "starting", **gone))
