"""Orders that were not heard in time: kept back, and given again once they are safe."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.cluster.folds.orders import UNJUDGED
from controlplane.cluster.folds.steps import frozen
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.rolls.stale_stops import has_stale_stop, may_have_stale_stop
from controlplane.converger.situation.decision import wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.stale_orders import beside_stale_orders, stale_order_step
from controlplane.converger.steps.running.restarts import restart_in_hand_step
from events import facts
from tests.builders import NOW, a_document, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance

A, B = "brokers-a-0.g1", "brokers-b-0.g1"
CONTROLLER = "controllers-a-0.g1"
PARTITIONS = [a_partition(f"orders-{n}") for n in range(3)]
LATE = NOW - timedelta(seconds=31)
IN_TIME = NOW - timedelta(seconds=30)
WELL = a_snapshot(*PARTITIONS)
ONE_DEAD = a_snapshot(
    *(a_partition(p.name.topic + f"-{p.name.partition}", isr=(1000, 1002)) for p in PARTITIONS),
    brokers=(1000, 1002),
    fenced=(1001,),
)


def _restarting(at: datetime = LATE, key: str = A, **overrides: Any) -> ClusterView:
    """That service was asked to start for the second time, at `at`."""
    restart = RestartView(key, 1, at, False, Before(None, None), new_settings=False)
    told = an_instance(key.removesuffix(".g1"), starts=2)
    return a_view(told, **{"restarts": {key: restart}, "orders": {key: at}, **overrides})


def _stopping(at: datetime = LATE, **about: Any) -> ClusterView:
    return a_view(an_instance("brokers-a-0", 1, Phase.FENCING, **about), orders={A: at})


def _as_before(view: ClusterView, key: str = A, state: str = "running", **about: Any) -> ReportSeen:
    """Its agent tells of the first start."""
    return a_report(view.instances[key], state, start_id=f"{key}-1", **about)


def _seen(view: ClusterView, key: str = A, **seen: Any) -> Situation:
    others: Mapping[str, InstanceView] = {k: i for k, i in view.instances.items() if k != key}
    reports = {k: a_report(i) for k, i in others.items()}
    told = seen.pop("told", None) or _as_before(view, key)
    return a_situation(view, **{"kafka": WELL, "reports": {**reports, key: told}, **seen})


# --- what is kept back --------------------------------------------------------------------------------------------


def _is_kept_back(view: ClusterView, key: str, seen: ReportSeen | None) -> bool:
    return has_stale_stop(view, key, {key: seen}.get, NOW)


def test_what_a_serving_service_did_not_hear_within_30_s_is_kept_back() -> None:
    for asked in (_restarting, _stopping):
        view = asked(LATE)
        assert may_have_stale_stop(view, A)
        assert _is_kept_back(view, A, _as_before(view))
        assert not _is_kept_back(asked(IN_TIME), A, _as_before(view))
    assert not may_have_stale_stop(a_view(), A)


@pytest.mark.parametrize("state", ["stopped", "failed", "stopping", "waiting"])
def test_who_does_not_run_is_told_at_once(state: str) -> None:
    view = _restarting()
    assert not _is_kept_back(view, A, _as_before(view, state=state))


def test_who_has_obeyed_and_who_was_never_heard_is_told_as_always() -> None:
    view = _restarting()
    assert not _is_kept_back(view, A, a_report(view.instances[A]))
    assert not _is_kept_back(view, A, None)
    assert not _is_kept_back(view, B, a_report(view.instances[B])), "the order is another VM's"


def test_a_start_after_a_stop_that_was_taken_back_is_kept_back_from_who_never_stopped() -> None:
    view = _restarting(UNJUDGED, restarts={})
    assert _is_kept_back(view, A, _as_before(view))
    assert not _is_kept_back(view, A, _as_before(view, state="stopped"))


def test_nothing_is_kept_back_of_a_cluster_that_is_destroyed() -> None:
    document = a_document()
    doomed = document.model_copy(update={"spec": document.spec.model_copy(update={"deletion_policy": "destroy"})})
    view = _restarting(tombstone="asked for", document=doomed)
    assert not _is_kept_back(view, A, _as_before(view))


# --- given again --------------------------------------------------------------------------------------------------


def test_it_is_given_again_once_its_gate_is_open() -> None:
    for view in (_restarting(), _stopping()):
        decision = stale_order_step(_seen(view))
        assert decision is not None
        assert decision.events == (
            facts.OrderRenewed(A, "all 3 partitions on broker 1000 keep their min ISR without it"),
        )


def test_a_restart_heard_late_waits_for_a_broker_that_died_meanwhile() -> None:
    for view in (_restarting(), _stopping()):
        assert stale_order_step(_seen(view, kafka=ONE_DEAD)) is None


def test_it_is_not_given_again_to_an_agent_that_is_not_heard_nor_without_metadata() -> None:
    view = _restarting()
    silent = _as_before(view, received_at=NOW - timedelta(seconds=31))
    assert stale_order_step(_seen(view, told=silent)) is None
    assert stale_order_step(_seen(view, kafka=None)) is None


def test_whom_kafka_does_not_count_on_is_told_though_its_agent_is_silent() -> None:
    view = _restarting()
    silent = _as_before(view, received_at=NOW - timedelta(seconds=31))
    dead = a_snapshot(*PARTITIONS, brokers=(1001, 1002), fenced=(1000,))
    decision = stale_order_step(_seen(view, told=silent, kafka=dead))
    assert decision is not None
    assert decision.events == (facts.OrderRenewed(A, "Kafka does not count on it"),)


def test_whom_nobody_hears_is_told_while_all_others_serve_alone() -> None:
    """It was back in the ISR when it heard of it, and was stopped beside one that had died meanwhile (seed 26511)."""
    view = a_view(
        an_instance("brokers-a-0", starts=2), an_instance("brokers-b-0", lost_at=NOW), orders={A: LATE}, restarts={}
    )
    dead = a_snapshot(*(replace(p, isr=(1002,), leader=1002) for p in PARTITIONS), brokers=(1002,), fenced=(1000, 1001))
    silent, heard = (_as_before(view, received_at=NOW - timedelta(seconds=s)) for s in (31, 1))
    assert stale_order_step(_seen(view, told=silent, kafka=dead)) is None
    assert stale_order_step(_seen(view, told=heard, kafka=dead)) is not None


def test_a_vm_that_nobody_hears_for_long_fills_no_history_with_orders() -> None:
    view = _restarting()
    dead = a_snapshot(*PARTITIONS, brokers=(1001, 1002), fenced=(1000,))
    silent = _as_before(view, received_at=NOW - timedelta(seconds=121))
    assert stale_order_step(_seen(view, told=silent, kafka=dead)) is None
    heard = _as_before(view, received_at=NOW)
    assert stale_order_step(_seen(view, told=heard, kafka=dead)) is not None


def test_a_controller_is_told_again_while_the_others_are_a_majority() -> None:
    view = _restarting(key=CONTROLLER)
    assert stale_order_step(_seen(view, CONTROLLER)) is not None
    lost = view.instances["controllers-b-0.g1"]
    down = {lost.key: a_report(lost, "failed")}
    situation = _seen(view, CONTROLLER)
    reports = {**situation.seen.reports, **down}
    assert stale_order_step(a_situation(view, kafka=WELL, reports=reports)) is None


def test_orders_are_given_again_one_at_a_time() -> None:
    view = _restarting(orders={A: LATE, B: NOW - timedelta(seconds=44)})
    assert stale_order_step(_seen(view)) is None, "B may obey any moment"
    later = _restarting(orders={A: LATE, B: NOW - timedelta(seconds=46)})
    assert stale_order_step(_seen(later)) is not None


def test_no_node_is_handed_over_beside_a_broker_that_may_yet_obey() -> None:
    """B was told 3 s ago to start anew, and serves: with A stopped for its next VM, one of three would be left."""
    successor = an_instance("brokers-a-0", 2, Phase.LAUNCHED, service_id=1000, handover=True, bound=False)
    document = a_document(strategy="reattach", max_unavailable=2)
    view = _restarting(NOW - timedelta(seconds=3), B)
    view = replace(view, document=document, instances=frozen({**view.instances, successor.key: successor}))
    seen = _seen(view, B)
    reports = {**seen.seen.reports, successor.key: a_report(successor, "")}
    decision = decide(replace(seen, seen=replace(seen.seen, reports=reports)))
    assert decision.wait is not None
    assert decision.wait.reason == "MinIsrGate"
    assert not any(isinstance(event, facts.FenceRequested) for event in decision.events)
    assert decision.sentence == (f"handover of brokers-a-0: {B} was told to stop or to start anew, and may yet obey")


def test_an_order_that_is_not_stale_is_nothing_to_it() -> None:
    assert stale_order_step(_seen(a_view())) is None
    assert stale_order_step(_seen(_restarting(IN_TIME))) is None


# --- meanwhile ----------------------------------------------------------------------------------------------------


def test_a_restart_that_was_not_heard_is_not_taken_back_at_its_deadline() -> None:
    view = _restarting(NOW - timedelta(seconds=500))
    decision = restart_in_hand_step(_seen(view, kafka=ONE_DEAD))
    assert decision is not None
    assert (decision.events, decision.sentence) == ((), f"{A} runs on as before its restart")


def test_who_waits_for_it_says_why_it_is_not_told() -> None:
    view = _stopping()
    decision = decide(_seen(view, kafka=ONE_DEAD))
    assert decision.wait is not None
    assert decision.wait.reason == "Fencing"
    assert f"{A} did not hear of it within 30 s and is told again once it is safe: broker 1001" in decision.sentence


def test_a_broker_that_died_meanwhile_gets_its_successor_first() -> None:
    lost = an_instance("brokers-b-0", lost_at=NOW - timedelta(seconds=400))
    view = a_view(an_instance("brokers-a-0", 1, Phase.FENCING), lost, orders={A: LATE}, recycling=1)
    waits = wait(WaitReason.FENCING, "waiting for proof that it stopped")
    decision = beside_stale_orders(_seen(view, kafka=ONE_DEAD), waits)
    assert [type(event) for event in decision.events] == [facts.SurgeRequested]
    assert beside_stale_orders(_seen(_stopping(IN_TIME), kafka=ONE_DEAD), waits) is waits
