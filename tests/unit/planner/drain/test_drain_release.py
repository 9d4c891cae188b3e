"""Which entries start in a tick: slots, the horizon for logs shorter than it, and the order of the plan."""

from collections import Counter

from hypothesis import given, settings, strategies as st

from planner.drain.plan import Move, Port
from planner.drain.release import HORIZON_S, LEAST_BYTES, MOST_A_PAIR, ReleaseEntry, released

MIB = 2**20
SLOTS = Port(2, 10 * MIB, 12 * MIB, 1)
HORIZON = int(HORIZON_S * SLOTS.promised_bytes_per_s)


def entry(number: int, size: int, *, source: int = 1, targets: tuple[int, ...] = (9,)) -> ReleaseEntry:
    return ReleaseEntry(Move("t", number, (source,), targets, size), source, targets, size)


def started(waiting: list[ReleaseEntry], running: list[ReleaseEntry] | None = None, *, most: int = 100) -> list[int]:
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


WIDE = Port(8, 10 * MIB, 12 * MIB, 1)
LONG = int(HORIZON_S * WIDE.promised_bytes_per_s)


def over(waiting: list[ReleaseEntry], running: list[ReleaseEntry], port: Port = WIDE) -> list[int]:
    ports = dict.fromkeys((1, 2, 3, 8, 9), port)
    return [m.partition for m in released(waiting, running, into=ports, out=ports, most=100)]


def test_a_way_with_three_copies_lets_those_of_other_ways_go_first() -> None:
    waiting = [entry(n, LONG) for n in range(6)] + [entry(n, LONG, source=2) for n in range(6, 12)]
    assert over(waiting, [])[:6] == [0, 1, 2, 6, 7, 8]


def test_no_slot_stays_empty_for_the_sake_of_a_way() -> None:
    assert over([entry(n, LONG) for n in range(12)], []) == list(range(8))
    assert over([entry(0, LONG)], [entry(20 + n, LONG) for n in range(3)]) == [0]


def test_short_logs_fill_a_way_by_their_bytes_alone() -> None:
    waiting = [entry(n, MIB) for n in range(20)] + [entry(20, MIB, source=2)]
    assert over(waiting, []) == list(range(21)), "20 MiB last two seconds"


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from((1, 2, 3)),
        st.sampled_from(((8,), (9,), (8, 9))),
        st.one_of(st.just(LONG), st.integers(0, 2 * LONG)),
    ),
    max_size=40,
)


def made(told: list[tuple[int, tuple[int, ...], int]], first: int) -> list[ReleaseEntry]:
    return [entry(first + n, size, source=source, targets=targets) for n, (source, targets, size) in enumerate(told)]


@settings(max_examples=200, deadline=None)
@given(told=ENTRIES, begun=ENTRIES.map(lambda every: every[:6]), slots=st.integers(1, 12))
def test_ways_are_kept_as_long_as_others_could_run_and_slots_always(
    told: list[tuple[int, tuple[int, ...], int]], begun: list[tuple[int, tuple[int, ...], int]], slots: int
) -> None:
    """Judged afterwards, without the code that chose: every long copy beyond the third of its way was started last, and
    when it was, nothing of another way that is still waiting had a slot."""
    port = Port(slots, 10 * MIB, 12 * MIB, 1)
    waiting, running = made(told, 0), made(begun, 100)
    chosen = over(waiting, running, port)
    by_number = {e.move.partition: e for e in waiting}
    copies: Counter[tuple[str, int]] = Counter()
    size: Counter[tuple[str, int]] = Counter()
    ways: Counter[tuple[int, int]] = Counter()
    way_bytes: Counter[tuple[int, int]] = Counter()

    def take(e: ReleaseEntry) -> None:
        copies["out", e.source] += len(e.targets)
        size["out", e.source] += max(e.bytes_each, LEAST_BYTES) * len(e.targets)
        for target in e.targets:
            copies["in", target] += 1
            size["in", target] += max(e.bytes_each, LEAST_BYTES)
            ways[e.source, target] += 1
            way_bytes[e.source, target] += max(e.bytes_each, LEAST_BYTES)

    def has_slots(e: ReleaseEntry) -> bool:
        at = [("out", e.source), *(("in", target) for target in e.targets)]
        return all(copies[b] < slots or size[b] < HORIZON_S * port.promised_bytes_per_s for b in at)

    def is_full(e: ReleaseEntry) -> bool:
        full = HORIZON_S * port.promised_bytes_per_s
        return any(ways[e.source, t] >= MOST_A_PAIR and way_bytes[e.source, t] >= full for t in e.targets)

    for e in running:
        take(e)
    left = dict(by_number)
    for number in chosen:
        e = left.pop(number)
        assert has_slots(e), "slots are never overrun"
        if is_full(e):
            assert not [o for o in left.values() if has_slots(o) and not is_full(o)], "another way could have run"
        take(e)
    assert not [e for e in left.values() if has_slots(e)], "no slot that could be used stays empty"
