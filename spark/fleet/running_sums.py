"""Rules that hold at every instant, as running sums per broker over what starts and ends.

At one instant, ends come before starts: a slot or a disk is free when its copy is through. Of an entry with several
copies only the last one's end is known, so the others are taken to end as early as one fetch can: what is found
broken is broken.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spark.fleet.check_inputs import BrokerTable
from spark.fleet.lists import Bools, Int32s, Ints
from spark.fleet.moves import Floats, Moves
from spark.fleet.violation import Violation

_SLACK = 1e-6
_ENDS, _STARTS = 0, 1

RULES = ("disk", "slots of a target", "slots of a source", "bytes into a target", "bytes out of a source")
DISK, TAKING, GIVING, TAKEN, GIVEN = range(len(RULES))


@dataclass(frozen=True, slots=True, eq=False)
class _Events:
    """What changes a sum of one rule: of `broker`, at a time, ends before starts, by `change`."""

    broker: Int32s
    at_s: Floats
    order: Ints
    position: Ints
    change: Ints


def running_violations(moves: Moves, broker_table: BrokerTable, *, flow_bytes_per_s: float) -> Iterator[Violation]:
    """One per broker and rule."""
    for rule, events in _events(moves, flow_bytes_per_s).items():
        row = broker_table.row_of(events.broker)
        ordered = np.lexsort((events.position, events.order, events.at_s, events.broker))
        broker, change = events.broker[ordered], events.change[ordered]
        level = _running(broker, change)
        broken = ~_holds(rule, broker_table, row[ordered], events.at_s[ordered], level, change)
        broken &= events.order[ordered] == _STARTS
        yield from _worst(rule, broker, events.at_s[ordered], level, broken)


def _worst(rule: int, broker: Int32s, at_s: Floats, level: Ints, broken: Bools) -> Iterator[Violation]:
    """Of each broker its first instant, with the sum at the end of it."""
    at = np.flatnonzero(broken)
    _, first, times = np.unique(broker[at], return_index=True, return_counts=True)
    for begin, count in zip(first.tolist(), times.tolist(), strict=True):
        of_broker = at[begin : begin + count]
        last = of_broker[at_s[of_broker] == at_s[of_broker[0]]][-1:]
        place = int(last[0]) if last.size else int(of_broker[0])
        detail = f"{level[place]} at {at_s[place]:.0f} s, {count} times in all"
        yield Violation(RULES[rule], f"broker {broker[place]}", detail)


def _running(broker: Int32s, change: Ints) -> Ints:
    """Sums from the first event of each broker on; the brokers stand together."""
    total = np.cumsum(change)
    begins = np.flatnonzero(np.diff(broker, prepend=broker[:1] - 1))
    lengths = np.diff(begins, append=broker.size)
    running: Ints = total - np.repeat((total - change)[begins], lengths)
    return running


def _events(moves: Moves, flow_bytes_per_s: float) -> dict[int, _Events]:
    """The events of each rule. The copies of an entry leave their source as one: they may take it past its slots
    together."""
    copies, size = moves.copies, moves.size_bytes
    earliest = np.fmin(moves.start_s + size / flow_bytes_per_s, moves.end_s)
    copy_end_s = np.where(copies == 1, moves.end_s, earliest)
    row, place = np.nonzero(moves.added)
    target = moves.after[row, place]
    left, place = np.nonzero(moves.removed)
    leaves = moves.before[left, place]
    gives = np.flatnonzero(copies)
    source, given = moves.source[gives], copies[gives]
    one = np.ones(row.size, dtype=np.int64)

    def made(*parts: tuple[Int32s, Ints, Floats, int, Ints]) -> _Events:
        return _Events(
            broker=np.concatenate([broker for broker, *_ in parts]),
            at_s=np.concatenate([at_s[rows] for _, rows, at_s, *_ in parts]),
            order=np.concatenate([np.full(rows.size, order) for _, rows, _, order, _ in parts]),
            position=np.concatenate([moves.position[rows] for _, rows, *_ in parts]),
            change=np.concatenate([change for *_, change in parts]),
        )

    return {
        DISK: made((target, row, moves.start_s, _STARTS, size[row]), (leaves, left, moves.end_s, _ENDS, -size[left])),
        TAKING: made((target, row, moves.start_s, _STARTS, one), (target, row, copy_end_s, _ENDS, -one)),
        GIVING: made((source, gives, moves.start_s, _STARTS, given), (source, gives, copy_end_s, _ENDS, -given)),
        TAKEN: made((target, row, moves.end_s, _STARTS, size[row])),
        GIVEN: made((source, gives, moves.end_s, _STARTS, size[gives] * given)),
    }


def _holds(rule: int, broker_table: BrokerTable, row: Ints, at_s: Floats, level: Ints, change: Ints) -> Bools:
    """The rule of each sum; an unknown broker breaks it. Bytes that are through by now needed at least this long."""
    if rule == DISK:
        holds = broker_table.used_bytes[row] + level <= broker_table.allowed_bytes[row]
    elif rule == TAKING:
        holds = level <= broker_table.slots_in[row]
    elif rule == GIVING:
        holds = level - change < broker_table.slots_out[row]
    else:
        rate = broker_table.takes_bytes_per_s if rule == TAKEN else broker_table.gives_bytes_per_s
        with np.errstate(invalid="ignore"):
            holds = level <= rate[row] * at_s * (1 + _SLACK) + 1
    known: Bools = holds & (row >= 0)
    return known
