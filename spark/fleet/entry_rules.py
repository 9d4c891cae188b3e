"""Rules that one entry keeps or breaks on its own: where its replicas go, who is read, what Kafka is sent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import to_json

from spark.fleet.check_inputs import BrokerTable
from spark.fleet.lists import NOBODY, Bools, Int32s, Ints, among, distinct
from spark.fleet.moves import Moves
from spark.fleet.violation import Violation

_SLACK = 1e-6
"""Relative; times and rates are floating point."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the snapshot says of a cluster as a whole. `destinations`: brokers that have receivers of their own."""

    disk_limit: float
    flow_bytes_per_s: float
    destinations: Mapping[int, Sequence[int]]


def entry_violations(moves: Moves, broker_table: BrokerTable, policy: Policy) -> Iterator[Violation]:
    """Every rule on all entries at once; entries that keep every rule cost nothing more."""
    with np.errstate(invalid="ignore"):
        rules = _rules(moves, broker_table, policy)
    for rule, holds in rules.items():
        for row in np.flatnonzero(~holds).tolist():
            yield Violation(rule, f"{moves.topic[row]}-{moves.partition[row]}", _detail(moves, row))


def _rules(moves: Moves, broker_table: BrokerTable, policy: Policy) -> dict[str, Bools]:
    """Name -> whether it holds, by entry; what is unknown counts as broken."""
    before, after, isr = moves.before, moves.after, moves.isr
    size_before, size_after, copies = _size(before), _size(after), moves.copies
    stays = copies == 0
    source, takes = moves.source[:, None], moves.size_bytes / policy.flow_bytes_per_s
    waiting = distinct(before) & ~among(before, isr) & ~broker_table.chosen(before, broker_table.dead)
    kept = distinct(before) & among(before, after) & among(before, isr)
    source_lives = (broker_table.row_of(source) >= 0) & ~broker_table.chosen(source, broker_table.dead)
    racks_left = np.unique(broker_table.rack[broker_table.receives]).size
    least_racks = np.minimum(_racks(broker_table, before), racks_left)
    took = (moves.end_s - moves.start_s) * (1 + _SLACK) + _SLACK
    return {
        "as many replicas as before": size_after == size_before,
        "every replica on a broker of its own": distinct(after).sum(axis=1) == size_after,
        "nothing stays on a drained broker": ~broker_table.chosen(after, ~broker_table.receives).any(axis=1),
        "what may stay stays": ~(moves.removed & ~broker_table.chosen(before, ~broker_table.receives)).any(axis=1),
        "targets may receive": ~(moves.added & ~broker_table.chosen(after, broker_table.receives)).any(axis=1),
        "targets are the named ones": _as_named(moves, policy),
        "racks": _racks(broker_table, after) >= least_racks,
        "everyone is in sync first": stays | ~waiting.any(axis=1),
        "min ISR when done": kept.sum(axis=1) + copies >= moves.min_isr,
        "the source is in sync": stays | among(source, isr)[:, 0],
        "the source is alive": stays | source_lives[:, 0],
        "it ends": np.isfinite(moves.end_s) & (moves.start_s >= 0),
        "no faster than one fetch": stays | (took >= takes),
        "Kafka is sent the plan": moves.sent,
        "rollback is what was": moves.rollback,
    }


def _size(matrix: Int32s) -> Ints:
    size: Ints = (matrix != NOBODY).sum(axis=1)
    return size


def _racks(broker_table: BrokerTable, brokers: Int32s) -> Ints:
    """Different racks in each row; all brokers that are not there are in one of their own."""
    row = broker_table.row_of(brokers)
    code = np.where(brokers == NOBODY, NOBODY, np.where(row >= 0, broker_table.rack[row], -1)).astype(np.int32)
    racks: Ints = distinct(code).sum(axis=1)
    return racks


def _as_named(moves: Moves, policy: Policy) -> Bools:
    """Who leaves a broker with receivers of its own goes to one of these."""
    holds = np.ones(len(moves.topic), dtype=np.bool_)
    for broker, targets in policy.destinations.items():
        leaves = (moves.removed & (moves.before == broker)).any(axis=1)
        reached = (moves.added & np.isin(moves.after, np.asarray(targets, dtype=np.int32))).any(axis=1)
        holds &= ~leaves | reached
    return holds


def _detail(moves: Moves, row: int) -> str:
    lists = {name: _members(getattr(moves, name)[row]) for name in ("before", "after", "isr")}
    said: dict[str, Any] = {**lists, "start_s": float(moves.start_s[row]), "end_s": float(moves.end_s[row])}
    if moves.source[row] != NOBODY:
        said = {**lists, "source": int(moves.source[row]), **said}
    return to_json(said, inf_nan_mode="strings").decode()


def _members(row: Int32s) -> list[int]:
    members: list[int] = row[row != NOBODY].tolist()
    return members
