"""What a plan says, beside what the snapshot says: an entry of the plan file a row, in flat arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark.fleet.lists import NOBODY, Bools, Int32s, Ints, among, distinct, matrix_of
from spark.fleet.published import Entry, PublishedPlan

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """N entries whose partition the snapshot has, in list order; `position` of each in the list.

    `before`, `after`, `isr`: int32[N, W], padded with NOBODY. `added` marks members of `after`, `removed` those of
    `before`. `source`: the leader where the plan names none; `leader`, `source` are NOBODY where nobody is. `sent`,
    `rollback`: Kafka's documents say the same partition and `after`, or `before`.
    """

    position: Ints
    topic: Sequence[str]
    partition: Sequence[int]
    before: Int32s
    after: Int32s
    isr: Int32s
    added: Bools
    removed: Bools
    source: Int32s
    leader: Int32s
    min_isr: Int32s
    size_bytes: Ints
    start_s: Floats
    end_s: Floats
    sent: Bools
    rollback: Bools

    @property
    def copies(self) -> Ints:
        """Brokers that copy the partition, by entry."""
        copies: Ints = self.added.sum(axis=1)
        return copies


def moves_of(said: PublishedPlan, partitions: pa.Table) -> Moves:
    """The plan and the snapshot's PARTITIONS of its cluster in. Entries about others give no row."""
    row = _rows_of(said.entries, partitions)
    position = np.flatnonzero(row >= 0)
    entries = [said.entries[n] for n in position.tolist()]
    known = partitions.select(_OF_PARTITION).take(row[position])
    before, isr = matrix_of(known["replicas"]), matrix_of(known["isr"])
    after = _replicas(entries)
    leader = known["leader"].fill_null(pa.scalar(NOBODY, pa.int32())).to_numpy()
    named = np.array([NOBODY if e.get("source") is None else e["source"] for e in entries], dtype=np.int32)
    return Moves(
        position=position,
        topic=[entry["topic"] for entry in entries],
        partition=[entry["partition"] for entry in entries],
        before=before,
        after=after,
        isr=isr,
        added=distinct(after) & ~among(after, before),
        removed=distinct(before) & ~among(before, after),
        source=np.where(named == NOBODY, leader, named),
        leader=leader,
        min_isr=known["min_isr"].to_numpy(),
        size_bytes=known["size_bytes"].to_numpy(),
        start_s=_times(said.start_s, len(said.entries))[position],
        end_s=_times(said.end_s, len(said.entries))[position],
        sent=_same(said.sent, position, entries, after),
        rollback=_same(said.rollback, position, entries, before),
    )


_OF_PARTITION = ["replicas", "isr", "leader", "min_isr", "size_bytes"]


def _rows_of(entries: Sequence[Entry], partitions: pa.Table) -> Ints:
    """Where the partition of each entry is in the table, -1 where it is not."""
    names = partitions["topic"].combine_chunks().dictionary_encode()
    asked = pc.index_in(pa.array([e["topic"] for e in entries], pa.string()), value_set=names.dictionary)
    codes = asked.fill_null(-1).to_numpy(zero_copy_only=False)
    numbers = np.array([e["partition"] for e in entries], dtype=np.int64)
    held = _keys(names.indices.to_numpy(zero_copy_only=False), partitions["partition"].to_numpy())
    found = pc.index_in(pa.array(_keys(codes, numbers)), value_set=pa.array(held)).fill_null(-1)
    row: Ints = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(codes < 0, -1, row)


def _keys(topic: npt.NDArray[Any], partition: npt.NDArray[Any]) -> Ints:
    keys: Ints = topic.astype(np.int64) << 32 | partition.astype(np.int64) & 0xFFFFFFFF
    return keys


def _replicas(entries: Sequence[Entry]) -> Int32s:
    return matrix_of(pa.chunked_array([pa.array([e["replicas"] for e in entries], pa.list_(pa.int32()))]))


def _times(said: Sequence[float], count: int) -> Floats:
    """As many as there are entries, NaN where nothing is said."""
    times = np.full(max(count, len(said)), np.nan)
    times[: len(said)] = said
    return times


def _same(said: Sequence[Entry], position: Ints, entries: Sequence[Entry], replicas: Int32s) -> Bools:
    """Whether the entry of Kafka's documents at each `position` is about the same partition with these replicas."""
    nothing: Entry = {"topic": None, "partition": None, "replicas": []}
    told = [said[n] if n < len(said) else nothing for n in position.tolist()]
    alike = [a["topic"] == b["topic"] and a["partition"] == b["partition"] for a, b in zip(told, entries, strict=True)]
    listed = _replicas(told)
    width = max(listed.shape[1], replicas.shape[1])
    same: Bools = np.array(alike, dtype=np.bool_) & (_wide(listed, width) == _wide(replicas, width)).all(axis=1)
    return same


def _wide(matrix: Int32s, width: int) -> Int32s:
    return np.pad(matrix, ((0, 0), (0, width - matrix.shape[1])), constant_values=NOBODY)
