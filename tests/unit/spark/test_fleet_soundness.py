"""Wrong input of every kind: found by name, with the kind a caller can act on."""

import math
from typing import Any

import pytest

from planner.drain.model.problem import StateProblemKind
from spark.fleet.soundness import broker_problems, partition_problems, policy_problems
from tests.unit.spark.fleet_cases import small_state, tables_of, with_cell

STATE = small_state()
TABLES = tables_of(STATE)
POLICY: dict[str, Any] = {"disk_limit": 0.85, "flow_bytes_per_s": 7e7, "destinations": None}


def test_a_sound_cluster_has_no_problem() -> None:
    assert [*policy_problems(POLICY, TABLES["brokers"])] == []
    assert [*broker_problems(TABLES["brokers"])] == []
    assert [*partition_problems(TABLES["partitions"], TABLES["brokers"])] == []


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("id", 1001, StateProblemKind.TWICE),
        ("rack", None, StateProblemKind.SHAPE),
        ("rack", "", StateProblemKind.SHAPE),
        ("state", "sleepy", StateProblemKind.SHAPE),
        ("disk_bytes", None, StateProblemKind.FIGURE),
        ("disk_bytes", -1, StateProblemKind.FIGURE),
        ("ingress_bytes_per_s", math.nan, StateProblemKind.FIGURE),
        ("egress_bytes_per_s", 0.0, StateProblemKind.FIGURE),
        ("egress_bytes_per_s", math.inf, StateProblemKind.FIGURE),
    ],
)
def test_a_broker_that_cannot_be_planned_with_is_named(column: str, value: Any, kind: StateProblemKind) -> None:
    found = [*broker_problems(with_cell(TABLES["brokers"], column, 3, value))]
    assert [(problem.kind, problem.path) for problem in found] == [(kind, f"brokers.{column}")]
    assert "broker 100" in found[0].message


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("replicas", [1001, 1002, 4242], StateProblemKind.UNKNOWN),
        ("replicas", [], StateProblemKind.SHAPE),
        ("replicas", None, StateProblemKind.SHAPE),
        ("isr", None, StateProblemKind.SHAPE),
        ("size_bytes", None, StateProblemKind.FIGURE),
        ("size_bytes", -1, StateProblemKind.FIGURE),
        ("size_bytes", 2**62, StateProblemKind.FIGURE),
        ("min_isr", 4, StateProblemKind.CONTRADICTION),
        ("min_isr", 0, StateProblemKind.CONTRADICTION),
        ("leader", 4242, StateProblemKind.CONTRADICTION),
        ("write_bytes_per_s", math.nan, StateProblemKind.FIGURE),
        ("read_bytes_per_s", -1.0, StateProblemKind.FIGURE),
        ("partition", 1, StateProblemKind.TWICE),
    ],
)
def test_a_partition_that_cannot_be_planned_with_is_named(column: str, value: Any, kind: StateProblemKind) -> None:
    found = [*partition_problems(with_cell(TABLES["partitions"], column, 0, value), TABLES["brokers"])]
    assert (kind, f"partitions.{column}") in [(problem.kind, problem.path) for problem in found]


def test_a_broker_in_sync_without_a_replica_and_one_named_twice_are_named() -> None:
    first, second, third = TABLES["partitions"]["replicas"][0].as_py()
    other = next(b for b in STATE.brokers.id.tolist() if b not in (first, second, third))
    strange = with_cell(TABLES["partitions"], "isr", 0, [first, other])
    assert {p.kind for p in partition_problems(strange, TABLES["brokers"])} == {StateProblemKind.CONTRADICTION}
    twice = with_cell(TABLES["partitions"], "replicas", 0, [first, second, first])
    kinds = {p.kind for p in partition_problems(twice, TABLES["brokers"])}
    assert StateProblemKind.TWICE in kinds


def test_many_alike_problems_are_counted_not_listed() -> None:
    sizes = TABLES["partitions"]
    for row in range(20):
        sizes = with_cell(sizes, "size_bytes", row, -1)
    found = [*partition_problems(sizes, TABLES["brokers"])]
    assert len(found) == 4
    assert found[-1].message.startswith("17 more")


def test_unknown_rates_are_no_problem() -> None:
    unknown = with_cell(TABLES["partitions"], "write_bytes_per_s", 0, None)
    assert [*partition_problems(unknown, TABLES["brokers"])] == []


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"disk_limit": 1.2}, StateProblemKind.FIGURE),
        ({"disk_limit": math.nan}, StateProblemKind.FIGURE),
        ({"flow_bytes_per_s": None}, StateProblemKind.FIGURE),
        ({"flow_bytes_per_s": math.inf}, StateProblemKind.FIGURE),
        ({"destinations": {1001: [4242]}}, StateProblemKind.UNKNOWN),
        ({"destinations": {1002: [1003]}}, StateProblemKind.CONTRADICTION),
    ],
)
def test_a_policy_that_means_nothing_is_named(change: dict[str, Any], kind: StateProblemKind) -> None:
    assert [p.kind for p in policy_problems({**POLICY, **change}, TABLES["brokers"])] == [kind]
