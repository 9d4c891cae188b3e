"""Moves between the directories of a broker: nothing overfilled, nothing moved that need not be, and it ends."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from planner.log_dirs.moves import BAND, DISK_LIMIT, DirMove, NoRoom, bytes_above, emptied, evened
from planner.observed import LogDirSeen, TopicPartition

GIB = 1024**3


def tp(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def a_dir(path: str, *logs: int, total: int = 1000, sizes: dict[TopicPartition, int], others: int = 0) -> LogDirSeen:
    used = sum(sizes[tp(n)] for n in logs)
    return LogDirSeen(path, used, total, total - used - others, frozenset(tp(n) for n in logs))


def moved(dirs: Sequence[LogDirSeen], moves: Sequence[DirMove], sizes: dict[TopicPartition, int]) -> list[LogDirSeen]:
    """The directories once all of it has arrived."""
    found = {d.path: d for d in dirs}
    for move in moves:
        size = sizes[move.name]
        giver, taker = found[move.before], found[move.after]
        assert move.name in giver.replicas
        found[move.before] = replace(
            giver, replicas=giver.replicas - {move.name}, used_bytes=giver.used_bytes - size,
            usable_bytes=giver.usable_bytes + size,
        )  # fmt: skip
        found[move.after] = replace(
            taker, replicas=taker.replicas | {move.name}, used_bytes=taker.used_bytes + size,
            usable_bytes=taker.usable_bytes - size,
        )  # fmt: skip
    return list(found.values())


def in_use(d: LogDirSeen) -> int:
    return d.total_bytes - d.usable_bytes


@st.composite
def brokers(draw: st.DrawFn) -> tuple[list[LogDirSeen], dict[TopicPartition, int]]:
    sizes: dict[TopicPartition, int] = {}
    dirs = []
    for number in range(draw(st.integers(2, 4))):
        total, used, logs = draw(st.sampled_from([500, 1000, 2000])), 0, []
        for size in draw(st.lists(st.integers(0, 200), max_size=12)):
            if used + size <= total:
                name = len(sizes)
                sizes[tp(name)], used = size, used + size
                logs.append(name)
        others = draw(st.integers(0, total - used))
        dirs.append(a_dir(f"/data{number}", *logs, total=total, sizes=sizes, others=others))
    return dirs, sizes


@settings(max_examples=200, deadline=None)
@given(brokers())
def test_emptying_moves_what_is_there_once_and_overfills_nothing(
    given_: tuple[list[LogDirSeen], dict[TopicPartition, int]],
) -> None:
    dirs, sizes = given_
    leaving = dirs[0]
    try:
        moves = emptied(dirs, sizes, leaving.path)
    except NoRoom:
        room = sum(max(0, int(d.total_bytes * DISK_LIMIT) - in_use(d)) for d in dirs[1:])
        largest = max(sizes[n] for n in leaving.replicas)
        bytes_there = sum(sizes[n] for n in leaving.replicas)
        # Onto directories that are all too full not even empty logs are moved.
        assert room == 0 or bytes_there > room - largest * (len(dirs) - 1), "it would have fitted easily"
        return
    assert {m.name for m in moves} == leaving.replicas
    assert sum(m.bytes for m in moves) == sum(sizes[n] for n in leaving.replicas), "the bound: no plan needs fewer"
    after = moved(dirs, moves, sizes)
    assert not after[0].replicas
    for before, now in zip(dirs[1:], after[1:], strict=True):
        assert in_use(now) <= max(in_use(before), int(now.total_bytes * DISK_LIMIT))


@settings(max_examples=200, deadline=None)
@given(brokers())
def test_evening_out_moves_no_more_than_is_above_the_even_share_and_ends(
    given_: tuple[list[LogDirSeen], dict[TopicPartition, int]],
) -> None:
    dirs, sizes = given_
    moves = evened(dirs, sizes)
    assert sum(m.bytes for m in moves) <= bytes_above(dirs, sizes)
    assert len({m.name for m in moves}) == len(moves), "no replica twice"
    after = moved(dirs, moves, sizes)
    assert bytes_above(after, sizes) <= bytes_above(dirs, sizes) - sum(m.bytes for m in moves) + len(dirs)
    assert not evened(after, sizes), "a second plan is empty"


@settings(max_examples=100, deadline=None)
@given(brokers(), st.integers(0, 3))
def test_a_plan_goes_on_where_the_one_before_was_left(
    given_: tuple[list[LogDirSeen], dict[TopicPartition, int]], begun: int
) -> None:
    """Moves that are on their way are neither begun again nor forgotten: a server that died loses nothing."""
    dirs, sizes = given_
    try:
        plan = emptied(dirs, sizes, dirs[0].path)
    except NoRoom:
        return
    running = plan[:begun]
    seen = [replace(d, arriving={m.name: 0 for m in running if m.after == d.path}) for d in dirs]
    rest = emptied(seen, sizes, dirs[0].path)
    assert {m.name for m in rest} == {m.name for m in plan[begun:]}


def test_disks_within_the_band_are_even() -> None:
    sizes = {tp(n): 10 for n in range(100)}
    dirs = [a_dir("/a", *range(52), sizes=sizes), a_dir("/b", *range(52, 100), sizes=sizes)]
    assert abs(in_use(dirs[0]) - in_use(dirs[1])) / 1000 <= 2 * BAND
    assert evened(dirs, sizes) == ()


def test_the_emptiest_disk_takes_first_and_by_the_share_of_each() -> None:
    sizes = {tp(n): 100 for n in range(8)}
    dirs = [a_dir("/a", *range(8), sizes=sizes), a_dir("/b", sizes=sizes), a_dir("/c", total=2000, sizes=sizes)]
    after = {d.path: in_use(d) / d.total_bytes for d in moved(dirs, evened(dirs, sizes), sizes)}
    assert after == {"/a": 0.2, "/b": 0.2, "/c": 0.2}


def test_what_does_not_fit_is_told_with_the_numbers() -> None:
    sizes = {tp(0): 500, tp(1): 500}
    dirs = [a_dir("/a", 0, sizes=sizes), a_dir("/b", 1, sizes=sizes)]
    with pytest.raises(NoRoom, match=r"/a holds 500 B that are to leave, .* room for 400 B up to 90%"):
        emptied(dirs, sizes, "/a")
    with pytest.raises(ValueError, match="there is no log directory /c; there is /a, /b"):
        emptied(dirs, sizes, "/c")


def test_a_log_on_its_way_counts_whole_where_it_goes() -> None:
    sizes = {tp(0): 500, tp(1): 450}
    arriving = replace(a_dir("/b", sizes=sizes), arriving={tp(0): 0})
    with pytest.raises(NoRoom):
        emptied([a_dir("/a", 0, 1, sizes=sizes), arriving], sizes, "/a")
