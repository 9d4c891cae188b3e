"""Rules about lists, row by row: as the plain loops over Python lists say, whatever the lists are."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from spark.fleet.lists import NOBODY, Lists, among, distinct, lists_of, matrix_of


def _column(rows: list[list[int | None]]) -> Any:
    """In two chunks, the second of them a slice: offsets start anywhere."""
    kind = pa.list_(pa.int32())
    return pa.chunked_array([pa.array(rows[:1], kind), pa.array([[7], *rows[1:]], kind).slice(1)])


def _lists(rows: list[list[int | None]]) -> Lists:
    return lists_of(_column(rows))


def test_members_stand_in_the_order_of_their_rows() -> None:
    lists = _lists([[3, 1], [], [2, None]])
    assert lists.members.tolist() == [3, 1, 2, -1]
    assert lists.row.tolist() == [0, 0, 2, 2]
    assert lists.length.tolist() == [2, 0, 2]
    assert lists.with_any(lists.members == 2).tolist() == [False, False, True]


@pytest.mark.parametrize("longest", [1, 3, 9])
def test_what_repeats_and_what_is_held_is_what_loops_over_the_rows_find(longest: int) -> None:
    draw = np.random.default_rng(longest)
    rows = [draw.integers(0, 9, draw.integers(0, longest + 1)).tolist() for _ in range(500)]
    sought, row = draw.integers(0, 9, 2_000).astype(np.int32), draw.integers(0, 500, 2_000)
    lists = _lists(rows)
    assert lists.repeating(9).tolist() == [len(set(members)) < len(members) for members in rows]
    held = [member in rows[i] for member, i in zip(sought.tolist(), row.tolist(), strict=True)]
    assert lists.holding(sought, row, 9).tolist() == held


def test_a_list_longer_than_all_brokers_together_names_one_twice() -> None:
    lists = _lists([[1, 2, 3] * 30_000, [3, 2, 1]])
    assert lists.repeating(3).tolist() == [True, False]


def test_no_rows_have_nothing_to_say() -> None:
    lists = lists_of(pa.chunked_array([pa.array([], pa.list_(pa.int32()))]))
    assert lists.repeating(3).tolist() == []
    assert lists.holding(np.zeros(0, np.int32), np.zeros(0, np.int64), 3).tolist() == []


def test_a_matrix_has_a_list_in_each_row_and_nobody_after_it() -> None:
    matrix = matrix_of(pa.chunked_array([pa.array([[3, 1, 3], [], [2, None]], pa.list_(pa.int32()))]))
    assert matrix.tolist() == [[3, 1, 3], [NOBODY] * 3, [2, -1, NOBODY]]
    assert distinct(matrix).tolist() == [[True, True, False], [False] * 3, [True, True, False]]
    held = matrix_of(pa.chunked_array([pa.array([[1], [2], [-1, 2]], pa.list_(pa.int32()))]))
    assert among(matrix, held).tolist() == [[False, True, False], [False] * 3, [True, True, False]]
