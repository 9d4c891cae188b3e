"""The job on a real session: the same plans as in-process, and a second check that does not trust the first."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from planner.drain.codec import answer_to_bytes
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.solve import solve
from planner.kinds import DRAIN
from spark.jobs.drain_plan import plan_drains
from spark.schemas import ANSWERS, OUTCOMES, PARTITIONS, REQUESTS
from spark.sources import keys_of, partitions_frame, requests_frame
from spark.transforms.validation import DRAIN_RULES, validated
from tests.unit.planner.drain.drain_cases import case_of, request, roll, scale_down, snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_spark_and_in_process_plans_agree(spark_session: "SparkSession") -> None:
    requests = [roll()[1], scale_down()[1], *(case_of(seed)[1] for seed in range(40))]
    outcomes = plan_drains(spark_session, requests)
    kinds = {type(outcome.answer) for outcome in outcomes}
    assert kinds == {DrainPlan, Infeasible}
    for asked, outcome in zip(requests, outcomes, strict=True):
        assert outcome.violations == ()
        assert outcome.answer_bytes == answer_to_bytes(solve(asked, engine="spark"))


def test_the_plan_says_it_came_from_spark(spark_session: "SparkSession") -> None:
    asked = roll()[1]
    answer = plan_drains(spark_session, [asked])[0].answer
    assert isinstance(answer, DrainPlan)
    assert answer.engine == "spark"
    assert replace(answer, engine="in-process") == solve(asked)


def test_a_cluster_without_partitions_is_planned_too(spark_session: "SparkSession") -> None:
    empty = request(snapshot({1: "a", 2: "b"}, []), outgoing=(1,), targets=(2,))
    outcome = plan_drains(spark_session, [empty])[0]
    assert outcome.answer_bytes == answer_to_bytes(solve(empty, engine="spark"))


def test_no_row_is_lost_behind_a_cluster_without_partitions(spark_session: "SparkSession") -> None:
    empty = request(snapshot({1: "a", 2: "b"}, []), outgoing=(1,), targets=(2,))
    requests = [roll()[1], empty, scale_down()[1]]
    assert partitions_frame(spark_session, DRAIN, requests).count() == sum(len(r.cluster) for r in requests)


def test_no_request_is_no_job(spark_session: "SparkSession") -> None:
    assert plan_drains(spark_session, []) == []


def test_frames_keep_their_contract(spark_session: "SparkSession") -> None:
    requests = [roll()[1], scale_down()[1]]
    assert requests_frame(spark_session, DRAIN, requests).schema == REQUESTS
    partitions = partitions_frame(spark_session, DRAIN, requests)
    assert partitions.schema == PARTITIONS
    assert partitions.count() == sum(len(r.cluster) for r in requests)


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
    requests = [asked] * len(BROKEN)
    answers = [(key, b"{}", moves) for key, moves in zip(keys_of(DRAIN, requests), BROKEN.values(), strict=True)]
    given = spark_session.createDataFrame(answers, ANSWERS)
    frame = validated(given, requests_frame(spark_session, DRAIN, requests), DRAIN_RULES)
    assert frame.columns == OUTCOMES.names
    found = {row["plan_key"]: row["violations"] for row in frame.collect()}
    for key, rule in zip(keys_of(DRAIN, requests), BROKEN, strict=True):
        assert (rule in found[key]) if rule else found[key] == []
