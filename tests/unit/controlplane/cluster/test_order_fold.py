"""The dates of orders: when a stop, or another start, was found safe last."""

from datetime import datetime, timedelta

from controlplane.cluster.fold import evolve
from controlplane.cluster.folds.orders import UNJUDGED, dated
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_for
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW, a_view, an_instance

A, B = "brokers-a-0.g1", "brokers-b-0.g1"
RESTART = facts.RestartRequested(A, 1, 2, {}, {}, False, "asked by anna")
STOP = facts.FenceRequested((A,), "handover to brokers-a-0.g2")


def apply(view: ClusterView, event: object, at: datetime = NOW) -> ClusterView:
    new, version = encode(event, f"e{view.version}"), view.version + 1
    recorded = Recorded(version, "c", version, new.event_id, new.type, new.schema, new.data, "t", None, None, 1, at)
    return evolve(view, recorded)


def _after(*events: object, view: ClusterView | None = None) -> ClusterView:
    view = view or a_view()
    for event in events:
        view = apply(view, event)
    assert not view.history.unreadable
    return view


def test_a_restart_is_an_order_until_it_is_over() -> None:
    asked = _after(RESTART)
    assert set(asked.settings.orders) == {A}
    assert set(_after(facts.RestartRevertRequested(A, 3, "not back"), view=asked).settings.orders) == {A}
    assert not _after(facts.RestartCompleted(A), view=asked).settings.orders


def test_a_stop_is_an_order_until_it_is_proved() -> None:
    asked = _after(STOP)
    assert set(asked.settings.orders) == {A}
    assert not _after(facts.NodeFenced(A, "agent"), view=asked).settings.orders


def test_a_stop_that_is_taken_back_leaves_a_start_that_no_gate_was_asked_about() -> None:
    back = _after(STOP, facts.FenceReverted(A, "metadata names it again"))
    assert back.settings.orders[A] == UNJUDGED
    assert back.instances[A].start.count == 2


def test_what_a_migration_starts_anew_are_orders_to_all_of_those() -> None:
    view = a_view()
    after = dated(view, view, facts.MigrationServiceStarted("broker", (1000, 1001), "both", False, "why"), NOW)
    assert after.settings.orders == {A: NOW, B: NOW}


def test_an_order_that_is_given_again_has_a_new_date_and_its_restart_as_long_as_at_first() -> None:
    asked = _after(RESTART)
    later = NOW + timedelta(minutes=3)
    renewed = apply(asked, facts.OrderRenewed(A, "the gate is open"), later)
    assert renewed.settings.orders == {A: later}
    assert renewed.settings.restarts[A].since == later
    assert document_for(renewed, A, epoch=1) == document_for(asked, A, epoch=1), "the same start, not another one"


def test_nothing_is_given_again_that_was_not_given() -> None:
    assert "could be told again" in apply(a_view(), facts.OrderRenewed(A, "why")).history.unreadable


def test_a_vm_that_is_to_stop_for_good_is_not_restarted_any_more() -> None:
    """It was: 120 s later that restart was "not back", and held up everybody's (seed 26241)."""
    stopping = _after(RESTART, STOP)
    assert not stopping.settings.restarts
    assert set(stopping.settings.orders) == {A}
    assert not _after(facts.FenceReverted(A, "metadata names it again"), view=stopping).settings.restarts


def test_a_vm_that_is_retired_has_no_orders() -> None:
    orders = {A: NOW, f"{A}/zookeeper": NOW, B: NOW}
    gone = a_view(an_instance("brokers-a-0", 1, Phase.RETIRED), orders=orders)
    assert set(dated(a_view(), gone, facts.RetireCompleted("intent-4"), NOW).settings.orders) == {B}
