"""What is wrong with one cluster's tables, found on whole columns before the kernel sees them.

A snapshot comes from many hands. One cluster with a NaN, an unknown broker or no rack gets a typed answer of its own;
arrays that are not checked here would make the kernel plan nonsense.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from planner.drain.model.problem import StateProblem, StateProblemKind
from planner.drain.model.state import BrokerState
from spark.fleet.lists import Bools, Int32s, Ints, lists_of

MOST_PER_RULE = 3
"""Problems named of each kind; the number of the others is said."""

_STATES = {state.name.lower() for state in BrokerState}
_FIGURES = ("disk_bytes", "ingress_bytes_per_s", "egress_bytes_per_s")
_MOST_BYTES = 2**60


def policy_problems(policy: dict[str, Any], brokers: pa.Table) -> Iterator[StateProblem]:
    """`disk_limit` in (0, 1], `flow_bytes_per_s` > 0, destinations from drained to receiving brokers."""
    limit, flow = policy["disk_limit"], policy["flow_bytes_per_s"]
    if limit is None or not 0 < limit <= 1:
        yield StateProblem(
            StateProblemKind.FIGURE, "clusters.disk_limit", f"{limit} is not a fraction of a disk: above 0, at most 1"
        )
    if flow is None or not 0 < flow < float("inf"):
        yield StateProblem(
            StateProblemKind.FIGURE, "clusters.flow_bytes_per_s", f"{flow} bytes/s: a positive number is needed"
        )
    state_of: dict[Any, Any] = dict(zip(brokers["id"].to_pylist(), brokers["state"].to_pylist(), strict=True))
    for source, targets in (policy["destinations"] or {}).items():
        if state_of.get(source) not in ("outgoing", "dead"):
            message = f"broker {source} is {state_of.get(source, 'unknown')}: nothing leaves it"
            yield StateProblem(_kind_of(source, state_of), "clusters.destinations", message)
        for target in targets:
            if state_of.get(target) not in ("active", "new"):
                message = f"broker {target} is {state_of.get(target, 'unknown')} and may not receive"
                yield StateProblem(_kind_of(target, state_of), "clusters.destinations", message)


def broker_problems(brokers: pa.Table) -> Iterator[StateProblem]:
    """Ids once, known states, a rack each, figures that are positive and finite (of a dead broker: not negative)."""
    ids = brokers["id"].to_pylist()
    for broker in sorted({b for b in ids if b is not None and ids.count(b) > 1}):
        yield StateProblem(
            StateProblemKind.TWICE, "brokers.id", f"broker {broker} stands there {ids.count(broker)} times"
        )
    for row in brokers.to_pylist():
        name = f"broker {row['id']}"
        if row["id"] is None or row["id"] < 0:
            yield StateProblem(StateProblemKind.SHAPE, "brokers.id", f"{name}: an id from 0 up is needed")
        if not row["rack"]:
            yield StateProblem(
                StateProblemKind.SHAPE, "brokers.rack", f"{name} has no rack: rules about racks cannot be kept"
            )
        if row["state"] not in _STATES:
            message = f"{name} is {row['state']!r}, known are {', '.join(sorted(_STATES))}"
            yield StateProblem(StateProblemKind.SHAPE, "brokers.state", message)
        for figure in _FIGURES:
            value = row[figure]
            if value is None or not np.isfinite(value) or value < 0 or (value == 0 and row["state"] != "dead"):
                yield StateProblem(
                    StateProblemKind.FIGURE, f"brokers.{figure}", f"{name} has {value}: a positive number is needed"
                )


def partition_problems(partitions: pa.Table, brokers: pa.Table) -> Iterator[StateProblem]:
    """Every rule on all rows at once. Rules about other columns are asked only of tables without nulls."""
    nulls = [*_nulls(partitions)]
    yield from nulls
    if not nulls:
        known = np.unique(brokers["id"].to_numpy().astype(np.int64))
        rows = _Rows(partitions)
        yield from _list_problems(rows, known)
        yield from _figure_problems(rows, partitions)
        yield from _name_problems(rows, partitions)


class _Rows:
    """A partitions table, its lists as flat arrays."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.replicas, self.isr = lists_of(table["replicas"]), lists_of(table["isr"])
        self.leader: Int32s = table["leader"].fill_null(pa.scalar(-1, pa.int32())).to_numpy()

    def named(self, bad: Bools, kind: StateProblemKind, column: str, message: str) -> Iterator[StateProblem]:
        """The first rows where `bad` holds, then how many more there are."""
        rows = np.flatnonzero(bad)
        for row in rows[:MOST_PER_RULE].tolist():
            name = f"{self.table['topic'][row].as_py()}-{self.table['partition'][row].as_py()}"
            yield StateProblem(kind, f"partitions.{column}", f"{name} {message}")
        if rows.size > MOST_PER_RULE:
            yield StateProblem(kind, f"partitions.{column}", f"{rows.size - MOST_PER_RULE} more {message}")


def _nulls(table: pa.Table) -> Iterator[StateProblem]:
    for column in ("topic", "partition", "replicas", "isr", "min_isr", "size_bytes"):
        missing = table[column].null_count
        if missing:
            kind = StateProblemKind.FIGURE if column == "size_bytes" else StateProblemKind.SHAPE
            yield StateProblem(kind, f"partitions.{column}", f"is missing in {missing} of {table.num_rows} rows")


def _list_problems(rows: _Rows, known: Ints) -> Iterator[StateProblem]:
    """Whom the lists name. Of lists that name an unknown broker or one twice nothing more is asked; all others are no
    longer than there are brokers.
    """
    replicas, isr, most = rows.replicas, rows.isr, known.size
    unknown = replicas.with_any(~np.isin(replicas.members, known))
    yield from rows.named(unknown, StateProblemKind.UNKNOWN, "replicas", "has a replica on a broker that is not there")
    yield from rows.named(replicas.length == 0, StateProblemKind.SHAPE, "replicas", "has no replica")
    twice = replicas.repeating(most) | isr.repeating(most)
    yield from rows.named(twice, StateProblemKind.TWICE, "replicas", "names a broker twice")
    told = unknown | twice
    holds = replicas.holding(isr.members, isr.row, most)
    strange = isr.with_any(~holds) & ~told
    yield from rows.named(strange, StateProblemKind.CONTRADICTION, "isr", "has a broker in sync that holds no replica")
    in_sync = isr.holding(rows.leader, np.arange(rows.leader.size), most)
    outside = (rows.leader >= 0) & ~in_sync & ~told
    yield from rows.named(
        outside, StateProblemKind.CONTRADICTION, "leader", "is led by a broker that is not in its ISR"
    )


def _figure_problems(rows: _Rows, table: pa.Table) -> Iterator[StateProblem]:
    size, least = table["size_bytes"].to_numpy(), table["min_isr"].to_numpy()
    strange = (size < 0) | (size > _MOST_BYTES)
    yield from rows.named(strange, StateProblemKind.FIGURE, "size_bytes", "has a log size below 0 or beyond all disks")
    never = (least < 1) | (least > np.maximum(rows.replicas.length, 1))
    yield from rows.named(
        never, StateProblemKind.CONTRADICTION, "min_isr", "has a min ISR its replicas can never reach"
    )
    for column in ("write_bytes_per_s", "read_bytes_per_s"):
        known = table[column].is_valid().to_numpy()
        rate = table[column].fill_null(pa.scalar(0.0)).to_numpy()
        bad = known & ~((rate >= 0) & np.isfinite(rate))
        yield from rows.named(bad, StateProblemKind.FIGURE, column, "has a rate below 0, or NaN (null is unknown)")


def _name_problems(rows: _Rows, table: pa.Table) -> Iterator[StateProblem]:
    topic = table["topic"].combine_chunks().dictionary_encode()
    codes = topic.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    keys = codes << 32 | table["partition"].to_numpy().astype(np.int64) & 0xFFFFFFFF
    yield from rows.named(_repeated(keys), StateProblemKind.TWICE, "partition", "stands there more than once")


def _repeated(keys: Ints) -> Bools:
    """True for every occurrence of a key after its first."""
    again = np.ones(keys.size, dtype=np.bool_)
    again[np.unique(keys, return_index=True)[1]] = False
    return again


def _kind_of(broker: int, state_of: dict[Any, Any]) -> StateProblemKind:
    return StateProblemKind.CONTRADICTION if broker in state_of else StateProblemKind.UNKNOWN
