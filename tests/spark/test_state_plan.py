"""One cluster's plan on Spark is the plan of this process, and so is its refusal."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.drain.model.document import read_state
from planner.drain.model.plan_document import plan_document
from planner.drain.model.state import BrokerState, ClusterState
from planner.drain.solver import Unsolvable, solve
from spark.jobs.state_plan import plan_state
from tests.unit.controlplane.cli.state_files import broker, state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def drained(*, disk_bytes: int = 100 * 2**30) -> ClusterState:
    """Broker 1 leaves; broker 2 of its rack takes what it has, if it fits."""
    brokers = [broker(1, "a"), broker(2, "a", disk_bytes=disk_bytes), broker(3, "b"), broker(4, "b")]
    found = read_state(json.dumps(state(brokers=brokers))).state
    states = found.brokers.state.copy()
    states[0] = BrokerState.OUTGOING
    return replace(found, brokers=replace(found.brokers, state=states))


def test_the_plan_is_the_same_as_in_process(spark_session: "SparkSession") -> None:
    cluster = drained()
    answer, here = plan_state(spark_session, cluster), solve(cluster)
    assert not isinstance(answer, Unsolvable)
    assert not isinstance(here, Unsolvable)
    assert plan_document(cluster, answer) == plan_document(cluster, here)


def test_a_refusal_comes_back_with_its_kind_its_partitions_and_the_feasible_part(spark_session: "SparkSession") -> None:
    cluster = drained(disk_bytes=6 * 2**30)
    answer, here = plan_state(spark_session, cluster, allow_partial=True), solve(cluster, allow_partial=True)
    assert isinstance(answer, Unsolvable)
    assert isinstance(here, Unsolvable)
    assert (answer.kind, answer.message) == (here.kind, here.message) == ("disk", here.message)
    assert np.array_equal(answer.stuck, here.stuck)
    assert answer.part is not None
    assert here.part is not None
    assert len(answer.part) > 0
    for column in ("row", "after", "source"):
        assert np.array_equal(getattr(answer.part, column), getattr(here.part, column))
