"""Rebalance questions and answers survive the trip to a worker."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from planner.drain.columns import PARTITIONS as SHARED
from planner.drain.plan import canonical
from planner.rebalancing.ask import answered
from planner.rebalancing.codec import (
    PARTITIONS,
    answer_from_bytes,
    answer_to_bytes,
    partitions_table,
    question_document,
    question_from,
)
from planner.rebalancing.plan import RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion, question_of
from tests.unit.planner.rebalancing.rebalance_cases import asked, drawn, question, seen, unplannable

QUESTIONS = st.integers(0, 2**32).map(drawn)


@settings(max_examples=60, deadline=None)
@given(QUESTIONS)
def test_a_question_comes_back_as_it_went(ask: RebalanceQuestion) -> None:
    table = partitions_table(ask)
    assert table.schema.equals(PARTITIONS)
    again = question_from(question_document(ask), table)
    assert again == ask
    assert canonical(question_document(again)) == canonical(question_document(ask))


@settings(max_examples=30, deadline=None)
@given(QUESTIONS)
def test_an_answer_comes_back_as_it_went(ask: RebalanceQuestion) -> None:
    answer = answered(ask, engine="spark")
    assert answer_from_bytes(answer_to_bytes(answer)) == answer


def test_drawn_questions_have_plans_with_moves_and_refusals() -> None:
    answers = [answered(drawn(seed)) for seed in range(60)]
    assert {type(a) for a in answers} == {RebalancePlan, Unplanned}
    assert sum(isinstance(a, RebalancePlan) and bool(a.copies.moves) for a in answers) > 20


def test_the_columns_of_a_drain_are_those_of_a_rebalance() -> None:
    assert PARTITIONS.names[: len(SHARED.names)] == SHARED.names


def test_rows_that_a_shuffle_turned_are_put_in_order() -> None:
    ask = question()
    table = partitions_table(ask)
    turned = pa.concat_tables([table.slice(11), table.slice(0, 11)])
    assert question_from(question_document(ask), turned) == ask


def test_rows_that_got_lost_are_noticed() -> None:
    ask = question()
    with pytest.raises(ValueError, match="rebalance-1 came with 23 of 24 partitions"):
        question_from(question_document(ask), partitions_table(ask).slice(1))


def test_the_order_of_partitions_in_the_snapshot_does_not_matter() -> None:
    turned = replace(seen(), partitions=tuple(reversed(seen().partitions)))
    assert question_of(asked(), turned) == question_of(asked(), seen())


def test_engines_differ_in_their_name_only() -> None:
    here, there = answered(question()), answered(question(), engine="spark")
    assert isinstance(here, RebalancePlan)
    assert isinstance(there, RebalancePlan)
    assert (here.copies.engine, there.copies.engine) == ("in-process", "spark")
    assert replace(there, copies=replace(there.copies, engine="in-process")) == here


def test_a_cluster_nobody_can_plan_on_is_answered_with_what_is_missing() -> None:
    answer = answered(unplannable())
    assert isinstance(answer, Unplanned)
    assert (answer.kind, answer.rebalance_id) == ("NothingToRead", "rebalance-1")
    assert "broker 1000 has not told how large its disk is" in answer.message


@pytest.mark.parametrize("raw", [b"", b"{]", b"{}", b'{"rebalance_format": 9}'])
def test_other_bytes_are_no_answer(raw: bytes) -> None:
    with pytest.raises(ValueError):
        answer_from_bytes(raw)
