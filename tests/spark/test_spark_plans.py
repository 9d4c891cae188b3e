"""The job on a real session: the same plans as in-process, and a second check that does not trust the first."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from planner.drain.codec import answer_to_bytes
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.kinds import DRAIN, REBALANCE, PlanTask
from spark.jobs.plans import planned
from spark.schemas import ANSWERS, OUTCOMES, REQUESTS
from spark.sources import keys_of, requests_frame
from spark.transforms.validation import validated
from tests.unit.planner.drain.drain_cases import case_of, request, roll, scale_down, snapshot
from tests.unit.planner.rebalancing.rebalance_cases import drawn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def tasks(requests: Sequence[DrainRequest]) -> list[PlanTask]:
    return [PlanTask(DRAIN, request) for request in requests]


def test_spark_and_in_process_plans_agree(spark_session: "SparkSession") -> None:
    requests = [roll()[1], scale_down()[1], *(case_of(seed)[1] for seed in range(40))]
    outcomes = planned(spark_session, tasks(requests))
    kinds = {type(DRAIN.from_bytes(outcome.answer_bytes)) for outcome in outcomes}
    assert kinds == {DrainPlan, Infeasible}
    for asked, outcome in zip(requests, outcomes, strict=True):
        assert outcome.violations == ()
        assert outcome.answer_bytes == answer_to_bytes(solve(asked, engine="spark"))


def test_the_plan_says_it_came_from_spark(spark_session: "SparkSession") -> None:
    asked = roll()[1]
    answer = DRAIN.from_bytes(planned(spark_session, tasks([asked]))[0].answer_bytes)
    assert isinstance(answer, DrainPlan)
    assert answer.engine == "spark"
    assert replace(answer, engine="in-process") == solve(asked)


def test_a_cluster_without_partitions_is_planned_too(spark_session: "SparkSession") -> None:
    empty = request(snapshot({1: "a", 2: "b"}, []), outgoing=(1,), targets=(2,))
    outcome = planned(spark_session, tasks([empty]))[0]
    assert outcome.answer_bytes == answer_to_bytes(solve(empty, engine="spark"))


def test_what_fails_in_one_cluster_is_told_of_it_alone(spark_session: "SparkSession") -> None:
    good = roll()[1]
    broken = PlanTask(replace(DRAIN, document=lambda request: {"not": "a request"}), good)
    first, failed, last = planned(spark_session, [PlanTask(DRAIN, good), broken, PlanTask(DRAIN, scale_down()[1])])
    assert (first.failure, last.failure) == ("", "")
    assert first.answer_bytes == answer_to_bytes(solve(good, engine="spark"))
    assert (failed.answer_bytes, failed.violations) == (b"", ())
    assert "KeyError" in failed.failure


def test_fifty_clusters_of_both_kinds_are_planned_in_one_job(spark_session: "SparkSession") -> None:
    """Each gets the bytes that it gets in-process."""
    asked = [PlanTask(DRAIN, case_of(seed)[1]) for seed in range(30)]
    asked += [PlanTask(REBALANCE, drawn(seed)) for seed in range(20)]
    asked = asked[::2] + asked[1::2]
    for task, outcome in zip(asked, planned(spark_session, asked), strict=True):
        assert (outcome.failure, outcome.violations) == ("", ())
        assert outcome.answer_bytes == task.kind.to_bytes(task.kind.solve(task.request, "spark"))


def test_no_request_is_no_job(spark_session: "SparkSession") -> None:
    assert planned(spark_session, tasks([])) == []


def test_frames_keep_their_contract(spark_session: "SparkSession") -> None:
    assert requests_frame(spark_session, tasks([roll()[1], scale_down()[1]])).schema == REQUESTS


MOVE = {"topic": "orders", "partition": 0, "before": [1000, 1001, 1002], "after": [1003, 1001, 1002], "bytes": 1}
BROKEN: dict[str, list[dict[str, Any]]] = {
    "": [MOVE],
    "replica count changes": [{**MOVE, "after": [1003, 1001]}],
    "a broker twice in a replica list": [{**MOVE, "after": [1003, 1001, 1001]}],
    "a replica stays on an outgoing broker": [{**MOVE, "after": [1000, 1001, 1002]}],
    "a replica that is to stay moves": [{**MOVE, "after": [1002, 1003, 1001], "before": [1000, 1001, 1004]}],
    "a broker that is not a target receives": [{**MOVE, "after": [1004, 1001, 1002]}],
    "fewer racks than before": [{**MOVE, "after": [1004, 1001, 1002]}],
    "a partition moved twice": [MOVE, MOVE],
}


def test_the_second_check_finds_each_broken_rule(spark_session: "SparkSession") -> None:
    racks = {1000: "a", 1001: "b", 1002: "c", 1003: "a", 1004: "b", 1005: "a"}
    asked = request(snapshot(racks, []), outgoing=(1000,), targets=(1003,))
    requests = tasks([asked] * len(BROKEN))
    answers = [(key, b"{}", moves, None) for key, moves in zip(keys_of(requests), BROKEN.values(), strict=True)]
    given = spark_session.createDataFrame(answers, ANSWERS)
    frame = validated(given, requests_frame(spark_session, requests))
    assert frame.columns == OUTCOMES.names
    found = {row["plan_key"]: row["violations"] for row in frame.collect()}
    for key, rule in zip(keys_of(requests), BROKEN, strict=True):
        assert (rule in found[key]) if rule else found[key] == []
