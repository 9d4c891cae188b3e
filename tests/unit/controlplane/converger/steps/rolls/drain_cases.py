"""A drain of one broker to its successor, 1000 to 1010, as a tick finds it."""

from dataclasses import replace
from typing import Any

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.drains import DrainView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.rolls.drains import drain_step
from planner.drain.plan import DrainPlan
from planner.observed import PartitionSeen, ThrottlesSeen
from tests.builders import (
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)

LIVE = (1000, 1001, 1002, 1010)
ONE, TWO, OTHER = a_move("orders-0"), a_move("orders-1"), a_move("payments-0")
PLAN = a_plan([ONE, OTHER], [TWO])
AT_HOME = tuple(a_partition(n) for n in ("orders-0", "orders-1", "payments-0"))
UNPLANNED = a_drain(plan_sha256="", batch=-1)


def moved(name: str) -> PartitionSeen:
    return a_partition(name, (1010, 1001, 1002))


def moving(name: str) -> PartitionSeen:
    return a_partition(name, (1010, 1000, 1001, 1002), isr=(1000, 1001, 1002), adding=(1010,), removing=(1000,))


def drain_decision(
    *partitions: PartitionSeen,
    drain: DrainView | None = None,
    plan: DrainPlan | None = PLAN,
    instances: tuple[Any, ...] = (),
    view: dict[str, Any] | None = None,
    throttles: ThrottlesSeen | None = None,
    waits_for_spark: str = "",
    **seen: Any,
) -> Decision:
    drain = drain or a_drain()
    there = (an_instance("brokers-a-0", 1, Phase.DRAINING), an_instance("brokers-a-0", 2), *instances)
    kafka = a_snapshot(*partitions, brokers=LIVE, throttles=throttles or ThrottlesSeen())
    values = {"kafka": kafka, "plan": plan, "plan_sha256": drain.plan.sha256, **seen}
    situation = a_situation(a_view(*there, drain=drain, **(view or {})), **values)
    decision = drain_step(replace(situation, waits_for_spark=waits_for_spark))
    assert decision is not None
    return decision


def reason_of(decision: Decision) -> str:
    return decision.wait.reason if decision.wait else ""
