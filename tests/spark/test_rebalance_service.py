"""Rebalances through the planning service: behind drains, refused, lost, required. A fake worker, no Spark."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.converger.tick.planning import (
    PlannedRebalance,
    PlannerUnavailable,
    PlanningService,
    PlanningSettings,
    balanced,
)
from planner.rebalancing.ask import answered
from planner.rebalancing.plan import RebalancePlan, Unplanned
from tests.spark.test_planning_service import Start, jobs, lives, start
from tests.unit.planner.drain.drain_cases import roll
from tests.unit.planner.rebalancing.rebalance_cases import question, unplannable
from tests.waiting import until

__all__ = ["start"]


def assert_in_process(result: PlannedRebalance, why: str) -> None:
    assert result.engine == "in-process"
    assert why in result.note
    assert isinstance(result.answer, RebalancePlan)
    assert result.answer.copies.engine == "in-process"
    assert result.answer == answered(result.request)


def test_a_ready_worker_answers_with_plans_and_with_what_is_missing(start: Start) -> None:
    service = start("well")
    result = service.balance(question())
    assert (result.engine, result.note) == ("spark", "")
    expected = answered(question(), engine="spark")
    assert isinstance(expected, RebalancePlan)
    assert result.answer_bytes == expected.to_bytes()
    refused = service.balance(unplannable())
    assert (refused.engine, type(refused.answer)) == ("spark", Unplanned)


def test_spark_that_is_off_is_said_in_the_answer_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    service = PlanningService(PlanningSettings(use_spark=False))
    assert_in_process(service.balance(question()), "Spark is off")
    assert balanced(service, question()) == answered(question())
    assert "rebalance rebalance-1 was planned in-process: Spark is off" in caplog.text


def test_a_worker_killed_mid_plan_is_replaced_and_the_plan_is_made_here(start: Start, tmp_path: Path) -> None:
    service = start("dies once mid-plan")
    assert_in_process(service.balance(question()), "is gone")
    assert service.wait_until_ready(30)
    assert service.balance(question()).engine == "spark"
    assert len(lives(tmp_path)) == 2


def test_an_answer_that_breaks_a_rule_is_refused(start: Start) -> None:
    assert_in_process(start("breaks rules").balance(question()), "fewer racks than before")


def test_required_spark_never_accepts_an_answer_that_breaks_rules(start: Start) -> None:
    with pytest.raises(PlannerUnavailable, match=r"to rebalance rebalance-1 is refused: it breaks rules: fewer racks"):
        start("breaks rules", require_spark=True).balance(question())


def test_what_waits_while_jobs_run_shares_the_next_one(start: Start, tmp_path: Path) -> None:
    service = start("slow")
    engines: list[str] = []

    def asks(plan: Callable[[], str]) -> threading.Thread:
        thread = threading.Thread(target=lambda: engines.append(plan()))
        thread.start()
        return thread

    first = asks(lambda: service.balance(question()).engine)
    assert until(lambda: (tmp_path / "state" / "begun").exists())
    waiting = [asks(lambda: service.balance(question()).engine) for _ in range(3)]
    waiting += [asks(lambda: service.plan(roll()[1]).engine) for _ in range(3)]
    for thread in (first, *waiting):
        thread.join()
    assert engines == ["spark"] * 7
    assert jobs(tmp_path) == ["rebalance 1", "drain 3, rebalance 3"]
