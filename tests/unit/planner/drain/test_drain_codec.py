"""Requests, answers and plans survive the trip."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings

from planner.drain.codec import (
    answer_from_bytes,
    answer_to_bytes,
    partitions_table,
    request_document,
    request_from,
    request_from_json,
    request_to_json,
)
from planner.drain.plan import DrainPlan, PlanUnreadable
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot
from tests.unit.planner.drain.drain_cases import cases, request, roll, scale_down


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_request_comes_back_as_it_went(case: tuple[KafkaSnapshot, DrainRequest]) -> None:
    asked = case[1]
    assert request_from(request_document(asked), partitions_table(asked.cluster)) == asked
    assert request_from_json(request_to_json(asked)) == asked


@settings(max_examples=60, deadline=None)
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


def test_a_truncated_plan_is_refused() -> None:
    plan = solve(roll()[1])
    assert isinstance(plan, DrainPlan)
    with pytest.raises(PlanUnreadable):
        DrainPlan.from_bytes(plan.to_bytes()[:-20])
