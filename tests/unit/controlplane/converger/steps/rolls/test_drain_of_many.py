"""Drains of many partitions: how often a tick goes through the plan does not depend on how many are left."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from planner.drain.plan import Move
from tests.builders import a_drain, a_move, a_partition, a_plan, a_snapshot
from tests.unit.controlplane.converger.steps.rolls.drain_cases import LIVE, drain_decision, moved, moving, reason_of


class Counted(tuple[Move, ...]):
    """Moves of a plan that know how often they were gone through."""

    times = 0

    def __iter__(self) -> Iterator[Move]:
        type(self).times += 1
        return super().__iter__()


def _times(state: Any, count: int) -> tuple[int, str]:
    names = [f"orders-{n}" for n in range(count)]
    plan = a_plan([a_move(name) for name in names])
    Counted.times = 0
    plan = replace(plan, moves=Counted(plan.moves))
    kafka = a_snapshot(*(state(name) for name in names), brokers=LIVE)
    return_ = drain_decision(kafka=kafka, plan=plan, drain=a_drain(batch=0))
    return Counted.times, reason_of(return_)


def _settling(name: str) -> Any:
    return a_partition(name, (1010, 1000, 1001, 1002))


@pytest.mark.parametrize("state", [a_partition, moving, moved, _settling])
def test_ten_times_the_partitions_are_gone_through_as_often(state: Any) -> None:
    assert _times(state, 200) == _times(state, 20)
