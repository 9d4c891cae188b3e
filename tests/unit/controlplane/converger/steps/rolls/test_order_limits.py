"""The limits of orders on their way: how long they may be obeyed, who has gone since, which service is meant."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from agent.wire import ServiceReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.observed.report_pace import AT_REST, AT_WORK
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.stale_gates import somebody_has_gone
from controlplane.converger.questions.rolls.stale_stops import (
    ON_ITS_WAY,
    has_stale_stop,
    is_late,
    on_its_way,
    stale_orders,
)
from controlplane.converger.situation.decision import wait
from controlplane.converger.steps.rolls.stale_orders import REPEATED_FOR_S, beside_stale_orders, stale_order_step
from events import facts
from tests.builders import BEFORE, NOW, a_document, a_report, a_situation, a_snapshot, a_view, an_instance
from tests.unit.controlplane.cohosted import B1, a_sharing_view

A, B, CA = "brokers-a-0.g1", "brokers-b-0.g1", "controllers-a-0.g1"
LATE = NOW - timedelta(seconds=31)
INSTANT = timedelta(microseconds=1)


def _stopping(key: str = A, at: datetime = LATE, **more: Any) -> ClusterView:
    return a_view(an_instance(key.removesuffix(".g1"), 1, Phase.FENCING), **{"orders": {key: at}, **more})


def _reports(view: ClusterView) -> dict[str, ReportSeen]:
    return {k: a_report(i) for k, i in view.instances.items()}


def test_an_order_may_be_obeyed_for_as_long_as_it_counts_and_an_answer_takes() -> None:
    assert timedelta(seconds=45) == ON_ITS_WAY
    for age, obeyed in ((ON_ITS_WAY, B), (ON_ITS_WAY + INSTANT, "")):
        assert on_its_way(a_situation(a_view(orders={B: NOW - age})), but={A}) == obeyed
    assert on_its_way(a_situation(a_view(orders={B: NOW})), but={B}) == ""


def _two_on_one_vm(*told: str) -> tuple[ClusterView, ReportSeen]:
    """A broker and the server beside it, which run on; those in `told` were told to start anew."""
    view = a_sharing_view()
    host = replace(
        view.instances[B1],
        start=replace(view.instances[B1].start, count=2),
        member=replace(view.instances[B1].member, starts=2),
    )
    view = replace(
        view, instances={**view.instances, B1: host}, settings=replace(view.settings, orders=dict.fromkeys(told, LATE))
    )
    seen = a_report(host, start_id=f"{B1}-1")
    beside = {"name": "zookeeper", "state": "running", "start_id": f"{B1}/zookeeper-1", "node_id": 101, "since": BEFORE}
    services = (*seen.report.services, ServiceReport.model_validate(beside))
    return view, replace(seen, report=seen.report.model_copy(update={"services": services}))


SERVER = f"{B1}/zookeeper"


@pytest.mark.parametrize("told", [(B1,), (SERVER,), (B1, SERVER)])
def test_of_two_services_on_a_vm_those_that_were_told_are_late(told: tuple[str, ...]) -> None:
    view, seen = _two_on_one_vm(*told)
    situation = a_situation(view, reports={B1: seen})
    late = stale_orders(situation)
    assert [s.service_key for s in late] == list(told)
    assert all(is_late(situation, s) for s in late)
    others = [s for s in _services(view) if s.service_key not in told]
    assert not any(is_late(situation, s) for s in others)
    assert has_stale_stop(view, B1, {B1: seen}.get, NOW)


def _services(view: ClusterView) -> list[InstanceView]:
    from controlplane.cluster.views.members import services_on

    return list(services_on(view.instances[B1]))


def test_nobody_is_late_whose_vm_is_gone_or_unknown() -> None:
    gone = an_instance("brokers-a-0", 1, Phase.FENCING, lost_at=BEFORE)
    view = a_view(gone, orders={A: LATE, "brokers-x-9.g1": LATE})
    assert stale_orders(a_situation(view, reports=_reports(view))) == ()


@pytest.mark.parametrize(("silent_s", "told"), [(REPEATED_FOR_S, True), (REPEATED_FOR_S + 1, False)])
def test_whom_kafka_does_not_count_on_is_told_again_while_its_agent_is_silent_for_two_minutes(
    silent_s: float, told: bool
) -> None:
    assert REPEATED_FOR_S == 120
    view = _stopping()
    kafka = a_snapshot(brokers=(1001, 1002), fenced=(1000,))
    silent = a_report(view.instances[A], received_at=NOW - timedelta(seconds=silent_s))
    decision = stale_order_step(a_situation(view, kafka=kafka, reports={**_reports(view), A: silent}))
    assert (decision is not None) == told


def test_a_controller_without_a_vote_may_stop_whatever_the_quorum_is_like() -> None:
    left = an_instance("controllers-a-0", 1, Phase.FENCING, drained=True)
    view = a_view(left, orders={CA: LATE})
    unhealthy = a_snapshot()
    members = tuple(replace(m, lag=5000) for m in unhealthy.quorum.members)
    kafka = replace(unhealthy, quorum=replace(unhealthy.quorum, members=members))
    decision = stale_order_step(a_situation(view, kafka=kafka, reports=_reports(view)))
    assert decision is not None
    assert decision.events == (facts.OrderRenewed(CA, "it has no vote", ""),)


def test_who_waits_without_metadata_says_that_it_cannot_be_read() -> None:
    view = _stopping()
    told = beside_stale_orders(
        a_situation(view, kafka=None, reports=_reports(view)), wait(WaitReason.FENCING, "as tested")
    )
    assert told.sentence == (
        f"as tested; {A} did not hear of it within 30 s and is told again once it is safe: "
        "Kafka's metadata cannot be read"
    )


def test_what_waits_beside_a_stale_order_begins_no_roll_in_its_place() -> None:
    view = _stopping(document=a_document(version="4.2.0"), generation=2, recycling=2)
    told = beside_stale_orders(
        a_situation(view, kafka=a_snapshot(), reports=_reports(view)), wait(WaitReason.FENCING, "as tested")
    )
    assert not told.events
    assert told.sentence.startswith("as tested; ")


# --- who has gone since -----------------------------------------------------------------------------------------------

ASKED_AT = NOW - timedelta(seconds=20)


def _gone(b: InstanceView, last: Callable[[str], ReportSeen | None], **view: Any) -> bool:
    return somebody_has_gone(a_view(b, **view), ASKED_AT, last, NOW, but=A)


def test_a_vm_lost_since_has_gone_and_one_lost_before_was_seen_by_the_gate() -> None:
    for lost_at, gone in ((ASKED_AT, False), (ASKED_AT + INSTANT, True)):
        assert _gone(an_instance("brokers-b-0", lost_at=lost_at), lambda key: None) == gone


def test_who_fell_silent_since_may_have_gone_and_who_was_silent_before_was_so_then() -> None:
    assert timedelta(seconds=10) == AT_WORK.silent_after
    b = an_instance("brokers-b-0")
    for heard_at, gone in (
        (NOW - AT_WORK.silent_after, False),
        (NOW - AT_WORK.silent_after - INSTANT, True),
        (ASKED_AT - AT_WORK.silent_after + INSTANT, True),
        (ASKED_AT - AT_WORK.silent_after, False),
    ):
        last = a_report(b, received_at=heard_at)
        assert _gone(b, {B: last}.get) == gone, heard_at


def test_who_told_little_at_rest_and_died_is_noticed_as_soon_after_the_order_as_ever() -> None:
    """An order is work in hand: whoever lives is asked for more within a second."""
    b = an_instance("brokers-b-0")
    for heard_at, now, gone in (
        (ASKED_AT - timedelta(seconds=25), ASKED_AT + timedelta(seconds=2), False),
        (ASKED_AT - timedelta(seconds=25), ASKED_AT + timedelta(seconds=10), False),
        (ASKED_AT - timedelta(seconds=25), ASKED_AT + timedelta(seconds=10) + INSTANT, True),
        (ASKED_AT - timedelta(seconds=37), ASKED_AT + timedelta(seconds=11), False),
    ):
        last = replace(a_report(b, received_at=heard_at), pace=AT_REST)
        assert somebody_has_gone(a_view(b), ASKED_AT, {B: last}.get, now, but=A) == gone, (heard_at, now)


def test_a_process_that_began_with_the_order_had_begun_for_its_gate() -> None:
    b = an_instance("brokers-b-0")
    for since, gone in ((ASKED_AT, False), (ASKED_AT + INSTANT, True)):
        assert _gone(b, {B: a_report(b, since=since)}.get) == gone


def test_the_vm_itself_and_who_was_told_too_are_left_out() -> None:
    lost = {"lost_at": ASKED_AT + INSTANT}
    assert not _gone(an_instance("brokers-a-0", **lost), lambda key: None)
    assert not _gone(an_instance("brokers-b-0", **lost), lambda key: None, orders={B: ASKED_AT})
    assert _gone(an_instance("brokers-b-0", **lost), lambda key: None, orders={A: ASKED_AT})


def test_either_service_of_a_vm_that_ended_since_counts() -> None:
    view, seen = _two_on_one_vm()
    assert not somebody_has_gone(view, ASKED_AT, {B1: seen}.get, NOW, but=A)
    broker, server = seen.report.services
    for services in (
        (broker.model_copy(update={"since": NOW}), server),
        (broker, server.model_copy(update={"since": NOW})),
    ):
        ended = replace(seen, report=seen.report.model_copy(update={"services": services}))
        assert somebody_has_gone(view, ASKED_AT, {B1: ended}.get, NOW, but=A)
