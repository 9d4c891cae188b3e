"""A column of lists as flat arrays, and what can be asked of all its rows at once.

Lists are short (a replica or ISR list has three members), so they are gone through place by place: a pass over all
rows per place, each over the rows that still need an answer. Nothing is sorted or hashed. No pass goes further than
`most` places, so one list of a million members costs no more passes than there are brokers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

NOBODY = -(2**31)
"""Pads the rows of a matrix; no broker has this id."""


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """N rows. `members`: of all rows, one after the other (a null is -1); `row` of each; `first[i]`, `length[i]`: where
    the members of row i are.
    """

    members: Int32s
    row: Ints
    first: Ints
    length: Ints

    def with_any(self, chosen: Bools) -> Bools:
        """Rows with a member for which `chosen` holds."""
        return np.bincount(self.row[chosen], minlength=self.length.size) > 0

    def repeating(self, most: int) -> Bools:
        """Rows that name a member twice, at most `most` places apart.

        Of more than `most` members drawn from `most` numbers, two that are alike stand that close.
        """
        again = np.zeros(self.members.size, dtype=np.bool_)
        for apart in range(1, min(most, int(self.length.max(initial=0)) - 1) + 1):
            alike = self.members[apart:] == self.members[:-apart]
            again[apart:] |= alike & (self.row[apart:] == self.row[:-apart])
        return self.with_any(again)

    def holding(self, sought: Int32s, row: Ints, most: int) -> Bools:
        """Whether sought[i] is among the first `most` members of row row[i]."""
        found = np.zeros(sought.size, dtype=np.bool_)
        left = np.arange(sought.size)
        for place in range(min(most, int(self.length.max(initial=0)))):
            left = left[self.length[row[left]] > place]
            hit = self.members[self.first[row[left]] + place] == sought[left]
            found[left[hit]] = True
            left = left[~hit]
        return found


def lists_of(column: Any) -> Lists:
    """A chunked Arrow column of lists of int32, no list null."""
    lists = column.combine_chunks()
    length: Ints = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    members = lists.flatten().fill_null(-1).to_numpy(zero_copy_only=False)
    return Lists(
        members=members, row=np.repeat(np.arange(length.size), length), first=np.cumsum(length) - length, length=length
    )


def matrix_of(column: Any) -> Int32s:
    """A chunked Arrow column of lists of int32 as a row each, padded with NOBODY; a null member is -1."""
    lists = lists_of(column)
    matrix = np.full((lists.length.size, int(lists.length.max(initial=0))), NOBODY, dtype=np.int32)
    matrix[np.arange(matrix.shape[1]) < lists.length[:, None]] = lists.members
    return matrix


def among(sought: Int32s, held: Int32s) -> Bools:
    """Marks the members of each row of `sought` that the same row of `held` has."""
    found: Bools = np.zeros(sought.shape, dtype=np.bool_)
    for place in range(held.shape[1]):
        found |= sought == held[:, place, None]
    found &= sought != NOBODY
    return found


def distinct(matrix: Int32s) -> Bools:
    """Marks the members of each row, each where it stands first."""
    first: Bools = matrix != NOBODY
    for place in range(1, matrix.shape[1]):
        first[:, place] &= ~(matrix[:, :place] == matrix[:, place, None]).any(axis=1)
    return first
