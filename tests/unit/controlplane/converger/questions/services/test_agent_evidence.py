"""A broker that has just gone is alive by Kafka's word until its session ends: what agents say against it counts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.migration import MigrationView
from controlplane.converger.questions.health.cure_gates import healing_gate
from controlplane.converger.questions.rolls.stop_gates import broker_gate, service_down
from controlplane.converger.questions.running.restart_safety import restart_safety
from controlplane.converger.questions.services.agent_evidence import (
    is_unproved,
    says_it_is_down,
    session_s,
    why_not_serving,
)
from controlplane.converger.questions.unavailability import may_go_away
from tests.builders import BEFORE, NOW, a_document, a_report, a_situation, a_snapshot, a_view, an_instance
from tests.unit.controlplane.migration_samples import in_zookeeper_mode

A, C = "brokers-a-0.g1", "brokers-c-0.g1"
ALL = a_snapshot()
AGO_S = (NOW - ALL.at).total_seconds()
"""How old the look at Kafka is."""


def _view(**view: Any) -> ClusterView:
    return a_view(an_instance("brokers-c-0", served_at=BEFORE - timedelta(hours=1)), **view)


def _report(view: ClusterView, began_ago_s: float = 3600.0, state: str = "running", **report: Any) -> Any:
    """Began so long before the look at Kafka."""
    since = ALL.at - timedelta(seconds=began_ago_s)
    return {C: a_report(view.instances[C], state, since=since, **report)}


def _why(view: ClusterView, reports: Any) -> str:
    return why_not_serving(a_situation(view, kafka=ALL, reports=reports), ALL, view.instances[C])


def _as_node(node: int) -> dict[str, Any]:
    found = {"name": "wrong_identity", "since": BEFORE, "message": "as told", "numbers": {"node": float(node)}}
    return {"findings": (found,)}


def test_a_broker_that_has_served_long_is_kafkas_affair() -> None:
    assert not _why(_view(), _report(_view()))


def test_one_that_does_not_run_does_not_serve_and_an_old_word_is_left_to_kafka() -> None:
    view = _view()
    assert _why(view, _report(view, state="waiting")) == "waiting"
    old = _report(view, state="waiting", received_at=NOW - timedelta(seconds=31))
    assert not _why(view, old)
    assert not says_it_is_down(a_situation(view, kafka=ALL, reports=old), view.instances[C])


def test_one_that_runs_as_another_node_does_not_serve() -> None:
    view = _view()
    assert _why(view, _report(view, **_as_node(7))) == "its process runs as node 7"
    assert not _why(view, _report(view, **_as_node(1002)))  # of another release, and itself
    assert not _why(view, _report(view, received_at=NOW - timedelta(seconds=31), **_as_node(7)))


@pytest.mark.parametrize(("began_ago_s", "is_counted"), [(0.0, False), (8.9, False), (9.0, True)])
def test_one_that_began_by_itself_is_counted_once_the_session_before_it_is_over(
    began_ago_s: float, is_counted: bool
) -> None:
    view = _view()
    why = _why(view, _report(view, began_ago_s))
    assert why == ("" if is_counted else "it began by itself, and Kafka may mean the process before it for 9 s")


def test_a_start_that_was_asked_for_is_proved_by_itself() -> None:
    view = a_view(an_instance("brokers-c-0", served_at=NOW))
    assert not _why(view, _report(view, 2.0))
    never = a_view(an_instance("brokers-c-0"))
    assert not _why(never, _report(never, 2.0))


def test_how_long_ago_it_began_is_by_the_clock_of_its_vm() -> None:
    view, skew = _view(), timedelta(hours=2)
    began = ALL.at - timedelta(minutes=5)
    seen = a_report(view.instances[C], since=began + skew)
    ahead = replace(seen, report=seen.report.model_copy(update={"at": NOW + skew}))
    assert not _why(view, {C: ahead})


def test_starts_of_a_migration_are_proved_by_its_own_steps() -> None:
    view = _view(migration=MigrationView("kraft", 2, BEFORE, a_document()))
    assert not _why(view, _report(view, 2.0))


def test_how_long_a_session_lasts_is_read_from_the_spec() -> None:
    def told(view: ClusterView) -> float:
        return session_s(a_situation(view, kafka=ALL))

    assert told(a_view()) == 9.0
    assert told(in_zookeeper_mode()) == 18.0
    config = ", config: {broker.session.timeout.ms: 20000}"
    assert told(a_view(document=a_document(config=config))) == 20.0


@pytest.mark.parametrize("said", [{"began_ago_s": 2.0}, _as_node(7)], ids=["began by itself", "as another"])
def test_no_second_broker_is_stopped_while_kafka_may_still_mean_the_process_before(said: dict[str, Any]) -> None:
    view = _view()
    situation = a_situation(view, kafka=ALL, reports=_report(view, **said))
    one = view.instances[A]
    assert not may_go_away(situation, ALL, one).open
    assert not broker_gate(situation, ALL, one).open
    assert not healing_gate(situation, ALL, one).open
    assert not restart_safety(situation, ALL, one).is_safe
    assert service_down(situation, ALL, one).startswith(f"{C} is not counted on: ")


def test_that_it_began_by_itself_excuses_no_stop_of_it_while_another_is_away() -> None:
    gone = an_instance("brokers-b-0", lost_at=BEFORE)
    view = a_view(an_instance("brokers-c-0", served_at=BEFORE), gone)
    situation = a_situation(view, kafka=ALL, reports=_report(view, 2.0))
    assert is_unproved(situation, ALL, view.instances[C])
    assert not may_go_away(situation, ALL, view.instances[C]).open
    alone = a_situation(_view(), kafka=ALL, reports=_report(_view(), 2.0))
    assert may_go_away(alone, ALL, _view().instances[C]).open
