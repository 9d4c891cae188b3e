"""The spec's own policy begins a rebalance for any goal that is missed by too much, by the figures of the plans."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.folds.rebalances import RULES
from controlplane.cluster.observed.cpu_shares import YOUNG, CpuNoted
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.rebalances import LastRebalance
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.moves.rebalances import REST_S, rebalance_step
from events import facts
from planner.observed import KafkaSnapshot
from tests.builders import NOW, a_partition, a_situation
from tests.unit.controlplane.converger.steps.moves.test_placements import a_cluster, a_look, situation

SIX = tuple(range(1000, 1006))
MB = 1e5
"""A tenth of the report's: the machines here have 104.9 MB/s of network."""
CONTINUOUS = "continuous: true"
EVEN = a_look(*(a_partition(f"orders-{n}", (SIX[n % 6],), min_isr=1) for n in range(72)))
"""Twelve equal logs on each broker, one replica each."""
HOT = dict(zip(SIX, (144, 144, 144, 12, 12, 12), strict=True))


def traffic(kafka: KafkaSnapshot = EVEN, by_broker: dict[int, int] | None = None) -> Traffic:
    rates = {p.name: (by_broker or HOT)[p.leader] * MB / 12 for p in kafka.partitions}
    return Traffic(rates, dict.fromkeys(SIX, 0.0), NOW, 60.0)


def asked(view: ClusterView | None = None, **seen: Any) -> facts.RebalanceRequested | None:
    decision: Decision | None = rebalance_step(
        a_situation(view or a_cluster(CONTINUOUS), **{"kafka": EVEN, "traffic": traffic(), **seen})
    )
    if decision is None:
        return None
    (request,) = decision.events
    assert isinstance(request, facts.RebalanceRequested)
    return request


def after(*happened: object) -> ClusterView:
    view = a_cluster(CONTINUOUS)
    for fact in happened:
        view = RULES[type(fact)](view, fact, NOW)
    return view


def ended(left: dict[str, float] | None, imbalance: float = 69.2) -> ClusterView:
    last = LastRebalance(NOW - timedelta(seconds=REST_S + 1), imbalance, left)
    return a_cluster(CONTINUOUS, last_rebalance=last)


def test_six_equal_brokers_of_which_three_take_twelve_times_as_much_are_rebalanced() -> None:
    """144/144/144/12/12/12 MB/s: all logs, replicas and leaders were even, the imbalance was 0, and nothing began."""
    request = asked()
    assert request is not None
    assert request.reason == (
        "goal leader-nic-in is 69 % from its even share, 20 % are allowed; too far are also nic-in (69 %) "
        "(spec.balance.continuous)"
    )
    assert decide(situation(a_cluster(CONTINUOUS), EVEN, traffic=traffic())).events == (request,)


@pytest.mark.parametrize("rates", [Traffic(), traffic(by_broker=dict.fromkeys(SIX, 144))], ids=["unknown", "even"])
def test_traffic_that_is_even_or_unknown_begins_nothing(rates: Traffic) -> None:
    assert asked(traffic=rates) is None


def test_what_the_last_one_could_not_better_begins_nothing_until_it_is_half_a_threshold_worse() -> None:
    stuck = {"nic-in": 69.2, "leader-nic-in": 69.2}
    assert asked(ended(stuck)) is None
    assert asked(ended({**stuck, "nic-in": 60.0})) is None
    assert asked(ended({**stuck, "nic-in": 59.0})) is not None


def test_one_goal_that_cannot_be_bettered_hides_no_other_one() -> None:
    assert asked(ended({"disk": 90.0}, imbalance=90.0)) is not None
    assert asked(ended(None, imbalance=90.0)) is None, "an earlier release told the worst alone"


def test_cpu_begins_one_where_metrics_tell_it_of_every_broker_and_are_young() -> None:
    cpu = CpuNoted(NOW, {b: 0.9 if HOT[b] > 12 else 0.1 for b in SIX})
    even = traffic(by_broker=dict.fromkeys(SIX, 12))
    request = asked(traffic=even, cpu=cpu)
    assert request is not None
    assert request.reason.startswith("goal cpu is 65 %"), request.reason
    assert asked(traffic=even, cpu=replace(cpu, at=NOW - YOUNG - timedelta(seconds=1))) is None
    assert asked(traffic=even, cpu=replace(cpu, used={1000: 0.9})) is None


def test_what_was_left_is_recorded_goal_by_goal_as_it_is_and_as_it_was_planned() -> None:
    view = after(
        facts.RebalanceRequested("r1", "policy", "why", threshold_percent=20.0),
        facts.RebalancePlanned("r1", "sha", "in-process", 1, 1, 1, 69.2, 40.0, {}, {"disk": [30.0, 12.0]}),
        facts.RebalanceCompleted("r1", 1, 1, 40.0, {"nic-in": 40.0}),
    )
    assert view.moves.last_rebalance == LastRebalance(NOW, 40.0, {"nic-in": 40.0})
    given_up = after(
        facts.RebalanceRequested("r1", "policy", "why", threshold_percent=20.0),
        facts.RebalancePlanned("r1", "sha", "in-process", 1, 1, 1, 69.2, 40.0, {}, {"disk": [30.0, 12.0]}),
        facts.RebalanceAbandoned("r1", "why", 0, 0),
    )
    assert given_up.moves.last_rebalance == LastRebalance(NOW, 69.2, {"disk": 30.0})
