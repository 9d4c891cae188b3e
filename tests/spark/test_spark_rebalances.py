"""Rebalance plans on a real session: the bytes of in-process plans, and a second check that trusts nothing of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from planner.kinds import REBALANCE, PlanTask
from planner.rebalancing.ask import answered
from planner.rebalancing.codec import answer_to_bytes
from planner.rebalancing.plan import RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion, question_of
from spark.jobs.plans import planned
from spark.schemas import ANSWERS, OUTCOMES
from spark.sources import keys_of, requests_frame
from spark.transforms.validation import validated
from tests.unit.planner.rebalancing.rebalance_cases import asked, drawn, question, seen, unplannable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def tasks(questions: Sequence[RebalanceQuestion]) -> list[PlanTask]:
    return [PlanTask(REBALANCE, question) for question in questions]


def test_spark_and_in_process_plans_agree_to_the_byte(spark_session: "SparkSession") -> None:
    questions = [question(), question(new=()), unplannable(), *(drawn(seed) for seed in range(30))]
    outcomes = planned(spark_session, tasks(questions))
    answers = [REBALANCE.from_bytes(outcome.answer_bytes) for outcome in outcomes]
    assert {type(answer) for answer in answers} == {RebalancePlan, Unplanned}
    moved = [answer for answer in answers if isinstance(answer, RebalancePlan) and answer.copies.moves]
    assert len(moved) > 10
    assert {plan.copies.engine for plan in moved} == {"spark"}
    for ask, outcome in zip(questions, outcomes, strict=True):
        assert outcome.violations == ()
        assert outcome.answer_bytes == answer_to_bytes(answered(ask, engine="spark"))


def test_a_cluster_without_partitions_costs_no_other_its_plan(spark_session: "SparkSession") -> None:
    empty = question_of(asked(), seen(count=0))
    questions = [question(), empty, question()]
    for ask, outcome in zip(questions, planned(spark_session, tasks(questions)), strict=True):
        assert outcome.answer_bytes == answer_to_bytes(answered(ask, engine="spark"))


def test_no_question_is_no_job(spark_session: "SparkSession") -> None:
    assert planned(spark_session, []) == []


MOVE = {"topic": "orders-0", "partition": 0, "before": [1000, 1001, 1002], "after": [1003, 1001, 1002], "bytes": 1}
BROKEN: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "": [MOVE],
    "replica count changes": [{**MOVE, "after": [1003, 1001]}],
    "a broker twice in a replica list": [{**MOVE, "after": [1003, 1001, 1001]}],
    "a broker that is not a target receives": [{**MOVE, "before": [1003, 1001, 1002], "after": [1000, 1001, 1002]}],
    "a broker that is to be left alone gives": [{**MOVE, "before": [1005, 1001, 1002]}],
    "a move moves nothing": [{**MOVE, "after": [1000, 1001, 1002]}],
    "fewer racks than before": [{**MOVE, "after": [1000, 1003, 1002]}],
    "a partition moved twice": [MOVE, MOVE],
}


def test_the_second_check_finds_each_broken_rule(spark_session: "SparkSession") -> None:
    """Broker 1003 is new and in the rack of 1000; 1005 is to be left alone."""
    ask = question_of(asked(receivers=(1000, 1001, 1002, 1003, 1004), new=(1003,)), seen())
    asks = tasks([ask] * len(BROKEN))
    keys = keys_of(asks)
    answers = [(key, b"{}", list(moves), None) for key, moves in zip(keys, BROKEN.values(), strict=True)]
    given = spark_session.createDataFrame(answers, ANSWERS)
    frame = validated(given, requests_frame(spark_session, asks))
    assert frame.columns == OUTCOMES.names
    found = {row["plan_key"]: row["violations"] for row in frame.collect()}
    for key, rule in zip(keys, BROKEN, strict=True):
        assert (rule in found[key]) if rule else found[key] == []
