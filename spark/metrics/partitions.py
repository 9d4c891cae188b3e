"""Which replicas a set of arrays is about, and how arrays about different replicas are laid side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Place = npt.NDArray[np.int64] | slice


@dataclass(frozen=True, slots=True, eq=False)
class BrokerPartitions:
    """Parallel arrays, one entry per replica of one broker; `topic` indexes `topics`."""

    topics: tuple[str, ...]
    topic: Ints
    partition: Ints

    def __len__(self) -> int:
        return len(self.topic)

    def same_as(self, other: "BrokerPartitions") -> bool:
        return (
            self.topics == other.topics
            and np.array_equal(self.topic, other.topic)
            and np.array_equal(self.partition, other.partition)
        )


def union(several: Sequence[BrokerPartitions]) -> tuple[BrokerPartitions, list[Place]]:
    """All replicas of `several` (one or more), each once, and where the entries of each stand among them.

    Brokers say the same replicas minute after minute: that case costs no sort.
    """
    first = several[0]
    if all(first.same_as(other) for other in several[1:]):
        return first, [slice(None)] * len(several)
    names = tuple(sorted({name for one in several for name in one.topics}))
    code = {name: position for position, name in enumerate(names)}
    keys = []
    for one in several:
        codes = np.array([code[name] for name in one.topics], dtype=np.int64)
        keys.append(codes[one.topic] << 32 | one.partition)
    every = np.unique(np.concatenate(keys))
    together = BrokerPartitions(names, (every >> 32).astype(np.int32), (every & 0xFFFFFFFF).astype(np.int32))
    return together, [np.searchsorted(every, key) for key in keys]


def stacked(rows: Sequence[Floats | Ints], places: Sequence[Place], width: int) -> Floats:
    """(row, replica) -> figure, NaN where a row does not hold the replica."""
    matrix = np.full((len(rows), width), np.nan)
    for target, row, place in zip(matrix, rows, places, strict=True):
        target[place] = row
    return matrix
