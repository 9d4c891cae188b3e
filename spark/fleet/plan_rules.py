"""Rules about a plan as a whole: every replica accounted for, each partition once, checkpoints, its own figures."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from spark.fleet.check_inputs import BrokerTable
from spark.fleet.lists import NOBODY, Int32s, Ints
from spark.fleet.moves import Moves
from spark.fleet.published import PublishedPlan
from spark.fleet.violation import Violation

MOST_PER_CHECKPOINT = 10_000
"""Kafka applies at most so many changes per request (MAX_RECORDS_PER_USER_OP, KAFKA-14996)."""

_SAME = 1e-9
"""Relative; the same sums in another order."""


def plan_violations(said: PublishedPlan, moves: Moves, broker_table: BrokerTable) -> Iterator[Violation]:
    """The plan, `moves_of` and `broker_table_of` it in."""
    yield from _twice(moves)
    yield from _left_behind(broker_table)
    yield from _lists(said, len(moves.topic))
    yield from _figures(said, moves, broker_table)


def _twice(moves: Moves) -> Iterator[Violation]:
    entries = Counter(zip(moves.topic, moves.partition, strict=True))
    for (topic, partition), count in entries.items():
        if count > 1:
            yield Violation("each partition once", f"{topic}-{partition}", f"{count} entries")


def _left_behind(broker_table: BrokerTable) -> Iterator[Violation]:
    for row in np.flatnonzero(~broker_table.receives & (broker_table.dropped != broker_table.held)).tolist():
        detail = f"holds {broker_table.held[row]} replicas, {broker_table.dropped[row]} leave"
        yield Violation("drained brokers end empty", f"broker {broker_table.id[row]}", detail)


def _lists(said: PublishedPlan, known: int) -> Iterator[Violation]:
    """Every list of the plan has an element per entry, every entry is known, checkpoints divide the list."""
    entries, ends = len(said.entries), list(said.checkpoints)
    lengths = {len(one) for one in (said.sent, said.rollback, said.start_s, said.end_s)}
    in_step = all(1 <= end - last <= MOST_PER_CHECKPOINT for last, end in pairwise([0, *ends]))
    asked = {
        "every list as long as the plan": lengths == {entries},
        "every entry is in the snapshot": known == entries,
        "checkpoints divide the plan": entries == 0 or (in_step and ends[-1:] == [entries]),
    }
    for rule, holds in asked.items():
        if not holds:
            yield Violation(rule, "plan", f"{entries} entries, {known} known, checkpoints {ends}")


def _figures(said: PublishedPlan, moves: Moves, broker_table: BrokerTable) -> Iterator[Violation]:
    """What the certificate says against the same figures, summed up here from the snapshot and the entries."""
    for name, found in _summed_up(moves, broker_table).items():
        value = said.values.get(name)
        if value is None or not math.isclose(value, found, rel_tol=_SAME, abs_tol=_SAME * 1e-3):
            yield Violation("the certificate says what is", "certificate", f"{name}: said {value}, is {found}")


def _summed_up(moves: Moves, broker_table: BrokerTable) -> Mapping[str, float]:
    fill = (broker_table.used_bytes + broker_table.taken) / np.maximum(broker_table.disk_bytes, 1)
    turned = _led_by_another(moves.after, moves.leader) - _led_by_another(moves.before, moves.leader)
    return {
        "bytes": int((moves.size_bytes * moves.copies).sum()),
        "makespan_s": float(moves.end_s.max(initial=0.0)),
        "disk": float(fill[broker_table.receives].max(initial=0.0)),
        "leaders": int((broker_table.first + broker_table.led).max(initial=0)),
        "leader_changes": int(broker_table.changed.sum() + turned.sum()),
        "release_s": float(broker_table.gone_s[~broker_table.receives].sum()),
    }


def _led_by_another(replicas: Int32s, leader: Int32s) -> Ints:
    """1 where the first of the list is not who leads now; nobody is another."""
    heads = replicas[:, 0] if replicas.shape[1] else np.full(leader.size, NOBODY, dtype=np.int32)
    another: Ints = ((heads != NOBODY) & (heads != leader)).astype(np.int64)
    return another
