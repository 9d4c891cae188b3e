"""Which brokers are restarted together: the proof, and each reason against it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.folds.settings import restart
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import Before, CanaryView, RestartView, RollingRestartView
from controlplane.converger.questions.running.restart_batch import restart_batch
from controlplane.converger.steps.running.restarts import restart_in_hand_step, restart_step
from events import facts
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change, Incumbent, NodeChange
from tests.builders import NODES, NOW, a_document, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance

DOCUMENT = a_document(brokers=6, max_unavailable=3, parallel=", maxParallelRestarts: 3")
BROKERS = (1000, 1001, 1002, 1003, 1004, 1005)
IDS = {"brokers-a-1": 1003, "brokers-b-1": 1004, "brokers-c-1": 1005}
A0, A1 = "brokers-a-0.g1", "brokers-a-1.g1"
SPREAD = (a_partition("orders-0", (1000, 1001, 1002)), a_partition("orders-1", (1003, 1004, 1005)))


def _cluster(**overrides: Any) -> ClusterView:
    there = [an_instance(node) for node in NODES]
    more = [an_instance(node, service_id=number) for node, number in IDS.items()]
    return a_view(*there, *more, **{"document": DOCUMENT, "recycling": 1, **overrides})


def _change(node: str, *, restarts: tuple[str, ...] = ()) -> NodeChange:
    number = IDS.get(node, 1000 + "abc".index(node[8]) if node.startswith("brokers") else 100)
    pool, rack, index = node.split("-")
    have = Incumbent(node, 1, rack, int(index), pool[:-1], number, "d", "4.1.1", "small", lost=False, restarts=restarts)
    return NodeChange(node, Change.RESTART, "because", None, have)


def _batch(view: ClusterView, *nodes: str, kafka: KafkaSnapshot | None = None, **change: Any) -> tuple[list[str], str]:
    seen = kafka or a_snapshot(*SPREAD, brokers=BROKERS)
    found = restart_batch(a_situation(view, kafka=seen), seen, [_change(n, **change) for n in nodes])
    return [c.node for c in found.changes], found.alone


def test_brokers_of_one_rack_that_share_no_partition_go_together_and_no_other_rack_joins() -> None:
    assert _batch(_cluster(), "brokers-a-0", "brokers-a-1", "brokers-b-0") == (["brokers-a-0", "brokers-a-1"], "")


def test_one_at_a_time_is_the_rule_unless_the_spec_says_otherwise() -> None:
    usual = a_document(brokers=6, max_unavailable=3)
    assert _batch(_cluster(document=usual), "brokers-a-0", "brokers-a-1") == (["brokers-a-0"], "")


def test_a_partition_that_would_lack_replicas_without_both_keeps_them_apart_and_is_named() -> None:
    shared = a_partition("ledger-0", (1000, 1003, 1001), min_isr=2)
    seen = a_snapshot(*SPREAD, shared, brokers=BROKERS)
    assert _batch(_cluster(), "brokers-a-0", "brokers-a-1", kafka=seen) == (
        ["brokers-a-0"],
        "brokers-a-1.g1 goes later: ledger-0 (ISR [1000, 1003, 1001], min 2) would lack replicas without brokers "
        "1000, 1003",
    )
    enough = a_partition("ledger-0", (1000, 1003, 1001, 1002), min_isr=2)
    spared = a_snapshot(*SPREAD, enough, brokers=BROKERS)
    assert _batch(_cluster(), "brokers-a-0", "brokers-a-1", kafka=spared) == (["brokers-a-0", "brokers-a-1"], "")


def test_a_topic_that_may_be_unavailable_excuses_one_broker_and_not_two() -> None:
    rollout = DOCUMENT.spec.rollout.model_copy(update={"allow_unavailable": ("ledger",)})
    excused = DOCUMENT.model_copy(update={"spec": DOCUMENT.spec.model_copy(update={"rollout": rollout})})
    shared = a_snapshot(*SPREAD, a_partition("ledger-0", (1000, 1003), min_isr=2), brokers=BROKERS)
    nodes, why = _batch(_cluster(document=excused), "brokers-a-0", "brokers-a-1", kafka=shared)
    assert (nodes, "ledger-0" in why) == (["brokers-a-0"], True)
    one = a_snapshot(*SPREAD, a_partition("ledger-0", (1000, 1001), min_isr=2), brokers=BROKERS)
    assert _batch(_cluster(document=excused), "brokers-a-0", "brokers-a-1", kafka=one)[0] == [
        "brokers-a-0",
        "brokers-a-1",
    ]


@pytest.mark.parametrize(
    ("partition", "why"),
    [
        (a_partition("ledger-0", (1003, 1004, 1005), isr=(1004, 1005)), "under-replicated"),
        (a_partition("ledger-0", (1003, 1004, 1005), removing=(1005,), min_isr=2), "being moved"),
        (a_partition("ledger-0", (1003, 1004), min_isr=2), "would fall below min ISR"),
    ],
    ids=["out of sync", "moving", "min ISR"],
)
def test_the_gate_of_every_restart_holds_for_each_of_them(partition: Any, why: str) -> None:
    nodes, alone = _batch(
        _cluster(), "brokers-a-0", "brokers-a-1", kafka=a_snapshot(*SPREAD, partition, brokers=BROKERS)
    )
    assert (nodes, why in alone) == (["brokers-a-0"], True), alone


def test_no_more_go_than_may_be_away() -> None:
    two = a_document(brokers=6, max_unavailable=2, parallel=", maxParallelRestarts: 2")
    lowered = two.spec.rollout.model_copy(update={"max_unavailable": 1})
    one = two.model_copy(update={"spec": two.spec.model_copy(update={"rollout": lowered})})
    assert _batch(_cluster(document=one), "brokers-a-0", "brokers-a-1") == (
        ["brokers-a-0"],
        "1 at a time may be away, by rollout.maxUnavailable",
    )


def test_a_controller_goes_alone() -> None:
    assert _batch(_cluster(), "controllers-a-0", "controllers-b-0") == (["controllers-a-0"], "")


def test_the_broker_that_leads_a_cluster_in_zookeeper_mode_goes_alone() -> None:
    leads = replace(a_snapshot(*SPREAD, brokers=BROKERS), controller=1003)
    assert _batch(_cluster(), "brokers-a-0", "brokers-a-1", kafka=leads) == (
        ["brokers-a-0"],
        "brokers-a-1.g1 is the active controller",
    )


def test_the_first_with_new_settings_is_watched_alone() -> None:
    told: dict[str, Any] = {"restarts": ("num.partitions",)}
    assert _batch(_cluster(), "brokers-a-0", "brokers-a-1", **told) == (
        ["brokers-a-0"],
        "brokers-a-0.g1 is the first with new settings, and is watched alone",
    )
    watched = _cluster(canaries={"broker": CanaryView(A0, 1, NOW, Before(None, None))})
    assert _batch(watched, "brokers-a-0", "brokers-a-1", **told)[0] == ["brokers-a-0", "brokers-a-1"]


# --- what becomes of several in hand ------------------------------------------------------------------------------


def _asked() -> ClusterView:
    keys = (A0, A1)
    return _cluster(rolling_restart=RollingRestartView("r", keys, keys, "asked by anna: new certificates", NOW))


def test_each_request_names_those_before_it_and_says_its_number() -> None:
    decision = restart_step(a_situation(_asked(), kafka=a_snapshot(*SPREAD, brokers=BROKERS)))
    assert decision is not None
    first, second = decision.events
    assert isinstance(first, facts.RestartRequested)
    assert isinstance(second, facts.RestartRequested)
    assert (first.key, first.beside, second.key, second.beside) == (A0, (), A1, (A0,))
    assert (first.reason[-6:], second.reason[-6:]) == ("1 of 2", "2 of 2")
    assert decision.sentence.startswith(
        f"restarting {A0}, {A1} together (rack a) (asked by anna: new certificates, 1 of"
    )


def test_the_fold_takes_a_second_one_only_where_its_request_says_so() -> None:
    view = _cluster()
    first = facts.RestartRequested(A0, 1, 2, {}, {}, False, "asked")
    second = facts.RestartRequested(A1, 1, 2, {}, {}, False, "asked", beside=(A0,))
    after = restart(restart(view, first, NOW), second, NOW)
    assert set(after.settings.restarts) == {A0, A1}
    with pytest.raises(ValueError, match=f"{A0} is being restarted already"):
        restart(restart(view, first, NOW), replace(second, beside=()), NOW)
    with pytest.raises(ValueError, match=f"{A1} is being restarted already"):
        restart(after, replace(second, start=3), NOW)


def _both_in_hand(since_s: float) -> ClusterView:
    there = [an_instance("brokers-a-0", starts=2), an_instance("brokers-a-1", service_id=1003, starts=2)]
    since = NOW - timedelta(seconds=since_s)
    in_hand = {k: RestartView(k, 1, since, False, Before(None, None), new_settings=False) for k in (A0, A1)}
    view = _cluster(restarts=in_hand)
    return replace(view, instances={**view.instances, **{i.key: i for i in there}})


def _decision(view: ClusterView, a0: str, a1: str) -> Any:
    since = {k: view.settings.restarts[k].since for k in (A0, A1)}
    told = {k: a_report(view.instances[k], s, start_id=f"{k}-2", since=since[k]) for k, s in ((A0, a0), (A1, a1))}
    return restart_in_hand_step(a_situation(view, kafka=a_snapshot(*SPREAD, brokers=BROKERS), reports=told))


def test_who_is_back_is_done_and_the_other_one_is_waited_for() -> None:
    assert _decision(_both_in_hand(10), "running", "running").events == (
        facts.RestartCompleted(A0),
        facts.RestartCompleted(A1),
    )
    assert _decision(_both_in_hand(10), "running", "starting").events == (facts.RestartCompleted(A0),)
    waiting = _decision(_both_in_hand(10), "starting", "starting")
    assert (waiting.events, A0 in waiting.sentence, A1 in waiting.sentence) == ((), True, True)


def test_each_that_is_overdue_is_started_once_more() -> None:
    asked = _decision(_both_in_hand(121), "failed", "starting").events
    assert [(e.key, e.start) for e in asked] == [(A0, 3), (A1, 3)]
