"""Which entries start in a tick: slots, the horizon for logs shorter than it, and the order of the plan."""

from planner.drain.plan import Move, Port
from planner.drain.release import HORIZON_S, LEAST_BYTES, Entry, released

MIB = 2**20
SLOTS = Port(2, 10 * MIB, 12 * MIB, 1)
HORIZON = int(HORIZON_S * SLOTS.promised_bytes_per_s)


def entry(number: int, size: int, *, source: int = 1, targets: tuple[int, ...] = (9,)) -> Entry:
    return Entry(Move("t", number, (source,), targets, size), source, targets, size)


def started(waiting: list[Entry], running: list[Entry] | None = None, *, most: int = 100) -> list[int]:
    into, out = dict.fromkeys((8, 9), SLOTS), dict.fromkeys((1, 2), Port(None, 10 * MIB, 12 * MIB, 1))
    return [m.partition for m in released(waiting, running or [], into=into, out=out, most=most)]


def test_long_logs_take_as_many_slots_as_there_are() -> None:
    assert started([entry(n, HORIZON) for n in range(5)]) == [0, 1]
    assert started([entry(n, HORIZON) for n in range(5)], [entry(7, HORIZON)]) == [0]
    assert started([entry(n, HORIZON) for n in range(5)], [entry(7, HORIZON), entry(8, 1)]) == []


def test_short_logs_start_ahead_for_as_long_as_the_horizon_lasts() -> None:
    assert started([entry(n, 5 * MIB) for n in range(20)]) == list(range(6))
    assert started([entry(n, 5 * MIB) for n in range(20)], [entry(40 + n, 5 * MIB) for n in range(4)]) == [0, 1]


def test_a_later_entry_overtakes_a_blocked_one() -> None:
    full = [entry(7, HORIZON), entry(8, HORIZON)]
    assert started([entry(0, MIB), entry(1, MIB, targets=(8,)), entry(2, MIB)], full) == [1]


def test_all_copies_of_an_entry_start_at_once() -> None:
    full = [entry(7, HORIZON), entry(8, HORIZON)]
    assert started([entry(0, MIB, targets=(8, 9)), entry(1, MIB, targets=(8,))], full) == [1]


def test_a_source_has_slots_too() -> None:
    ports = {1: Port(1, 10 * MIB, 12 * MIB, 1)}
    waiting = [entry(0, HORIZON), entry(1, HORIZON), entry(2, HORIZON, source=2)]
    assert [m.partition for m in released(waiting, [], into={}, out=ports, most=9)] == [0, 2]


def test_empty_logs_count_for_something() -> None:
    count = len(started([entry(n, 0) for n in range(1000)], most=1000))
    assert count == HORIZON // LEAST_BYTES


def test_changes_of_order_take_no_slot() -> None:
    full = [entry(7, HORIZON), entry(8, HORIZON)]
    assert started([entry(0, 0, targets=())], full) == [0]


def test_no_more_than_one_request_holds() -> None:
    assert started([entry(n, 0) for n in range(9)], most=4) == [0, 1, 2, 3]
