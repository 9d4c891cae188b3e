"""Requests, answers and plans survive the trip."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings

from planner.drain.codec import (
    answer_from_bytes,
    answer_to_bytes,
    request_document,
    request_from,
)
from planner.drain.columns import partitions_table
from planner.drain.plan import DrainPlan, PlanUnreadable
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot
from tests.unit.planner.drain.drain_cases import cases, request, roll, scale_down


@settings(max_examples=40, deadline=None)
@given(cases())
def test_a_request_comes_back_as_it_went(case: tuple[KafkaSnapshot, DrainRequest]) -> None:
    asked = case[1]
    assert request_from(request_document(asked), partitions_table(asked.cluster)) == asked


def test_where_write_rates_come_from_crosses_with_the_request() -> None:
    seen, _ = roll()
    asked = request(seen, outgoing=(1000,), targets=(1003,), write_rates_from="growth of logs")
    assert request_from(request_document(asked), partitions_table(asked.cluster)).write_rates_from == "growth of logs"


@settings(max_examples=40, deadline=None)
@given(cases())
def test_an_answer_comes_back_as_it_went(case: tuple[KafkaSnapshot, DrainRequest]) -> None:
    answer = solve(case[1])
    assert answer_from_bytes(answer_to_bytes(answer)) == answer


def test_a_sliced_table_of_several_chunks_is_read_in_order() -> None:
    _, asked = scale_down()
    table = partitions_table(asked.cluster)
    pieces = pa.concat_tables([table.slice(0, 3), table.slice(3, 10), table.slice(13)])
    assert request_from(request_document(asked), pieces) == asked


def test_rows_that_got_lost_are_noticed() -> None:
    _, asked = scale_down()
    with pytest.raises(ValueError, match="39 of 40 partitions"):
        request_from(request_document(asked), partitions_table(asked.cluster).slice(1))


def test_rows_that_a_shuffle_turned_are_put_in_order() -> None:
    _, asked = scale_down()
    table = partitions_table(asked.cluster)
    turned = pa.concat_tables([table.slice(20), table.slice(0, 20)])
    assert request_from(request_document(asked), turned) == asked


def test_the_same_request_gives_the_same_bytes() -> None:
    assert answer_to_bytes(solve(roll()[1])) == answer_to_bytes(solve(roll()[1]))


def test_the_order_of_partitions_in_the_snapshot_does_not_matter() -> None:
    seen, asked = roll()
    turned = replace(seen, partitions=tuple(reversed(seen.partitions)))
    again = request(turned, outgoing=(1000,), targets=(1003,), successors={1000: 1003})
    assert again == asked


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"format":1}', b'{"format":99}', b"\xff\x00", b"null"])
def test_bytes_that_are_no_plan_are_refused(raw: bytes) -> None:
    with pytest.raises(PlanUnreadable):
        DrainPlan.from_bytes(raw)


FORMAT_1 = {
    "format": 1,
    "drain_id": "d1",
    "cluster_uid": "u1",
    "engine": "spark",
    "round": 2,
    "moves": [["t", 0, [1, 2], [3, 2], 10], ["t", 1, [1, 2], [3, 2], 20], ["t", 2, [2, 1], [2, 3], 30]],
    "batches": [[[2, 0], 40, 3.0], [[1], 20, 2.5]],
    "leader_throttle": {"1": 1000, "2": 1000},
    "follower_throttle": {"3": 1000},
    "deferred": [["t", 3, "it has no leader to copy from"]],
    "certificate": {
        "moves": 3, "replicas": 3, "bytes": 60, "bytes_bound": 60, "bytes_ratio": 1.0, "eta_s": 5.5,
        "eta_bound_s": 4.0, "eta_ratio": 1.1, "rack_violations": 0, "stayers_moved": 0, "disk_max_fraction": 0.5,
        "disk_max_broker": 3, "bandwidth_source": "catalogue", "assumptions": ["a"],
    },
}  # fmt: skip


def test_a_plan_the_release_before_has_stored_is_gone_on_with() -> None:
    plan = DrainPlan.from_bytes(json.dumps(FORMAT_1).encode())
    assert [m.partition for m in plan.moves] == [2, 0, 1]
    assert plan.checkpoints == (2, 3)
    assert [[m.partition for m in plan.stretch(n)] for n in (0, 1)] == [[2, 0], [1]]
    assert (plan.follower_throttle, plan.into[3].promised_bytes_per_s) == ({3: 1000}, 800)
    assert plan.certificate.measures.makespan_s.value == 5.5
    assert DrainPlan.from_bytes(plan.to_bytes()) == plan


def test_a_plan_of_format_1_that_lost_a_move_is_refused() -> None:
    with pytest.raises(PlanUnreadable):
        DrainPlan.from_bytes(json.dumps({**FORMAT_1, "batches": [[[2, 0], 40, 3.0]]}).encode())


def test_a_truncated_plan_is_refused() -> None:
    plan = solve(roll()[1])
    assert isinstance(plan, DrainPlan)
    with pytest.raises(PlanUnreadable):
        DrainPlan.from_bytes(plan.to_bytes()[:-20])
