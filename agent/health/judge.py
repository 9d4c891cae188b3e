"""Findings from a history of vitals. Pure: one rule per finding, each with the numbers it went by.

A rule speaks only when what it needs was told, and for as long as it says: a busy second is no finding.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from agent.health.trend import slope, thinned
from agent.health.vitals import Vitals, VitalsFinding

MOST_POINTS = 60
"""Of a trend."""

NEARLY_ALL = 0.85
"""Of threads, descriptors or heap: what is left does not carry a burst."""

BUSY_IDLE, BUSY_FOR_S = 0.05, 60.0
"""Request handlers or network processors with less idle time than that, for so long, are the bottleneck."""

LEAK_COLLECTIONS, LEAK_FOR_S, LEAK_FULL_IN_S = 6, 300.0, 3600.0
COLLECTING_SHARE, COLLECTING_FOR_S = 0.5, 45.0
LAG_MS, LAG_FOR_S = 30_000, 30.0
"""Active controllers write a no-op record every 0.5 s (metadata.max.idle.interval.ms), so a broker's lag stays below a
second while it follows."""
WRITES_NOTHING_FOR_S, NO_OPS = 30.0, 10
"""An active controller that has left out ten of those records decides nothing. With three samples in that time, so that
one that stood still altogether, and goes on, is not taken for stuck."""
SESSION_FOR_S = 30.0
"""A session lasts 18 s without ZooKeeper (zookeeper.session.timeout.ms); then the broker is gone for the others."""
OUTSTANDING, OVERLOADED_FOR_S = 100, 60.0
"""ZooKeeper itself takes no more from its clients at 1,000 (zookeeper.globalOutstandingLimit)."""
UPDATE_MS, SLOW_FOR_S, UPDATES = 500.0, 60.0, 10
"""Half of what ZooKeeper warns of for writing its log alone (fsync.warningthresholdms): an election or a change of an
ISR takes several updates. Fewer updates than that in the time say nothing."""
FILLING_FOR_S, FILLING_FULL_IN_S = 120.0, 86_400.0
FILLING_TELLS_OF = 24
"""How far ahead a trend is believed, in times of how long it was seen: an hour tells of a day. Two minutes of a load
that has just begun said of every young broker that its disk is full within hours."""
RECENT_S = 1800.0
"""What rules other than that of disks look back at: a heap of an hour ago says nothing of the leak of today."""
COPIES_TAKE = 1.05
"""Of a disk, for each byte that is copied: indexes and what the file system keeps come beside it."""
FULL_SHARE = 0.05

_Rule = Callable[[Sequence[Vitals]], Iterator[tuple[str, str, dict[str, float]]]]


def judge(history: Sequence[Vitals], before: Sequence[VitalsFinding] = ()) -> tuple[VitalsFinding, ...]:
    """What is wrong now, by name. `history` is of one process, oldest first; `before` is what was wrong at the last
    look: a finding keeps the time it began. Empty without history."""
    if not history:
        return ()
    began = {f.name: f.since_s for f in before}
    now_s = history[-1].at_s
    found = [
        VitalsFinding(name, message, began.get(name, now_s), numbers)
        for rules, seen in ((_RULES, _since(history, now_s - RECENT_S)), (_LONG_RULES, history))
        for rule in rules
        for name, message, numbers in rule(seen)
    ]
    return tuple(sorted(found, key=lambda f: f.name))


def _deadlock(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    last = history[-1]
    if last.jvm.deadlocked and len(history) > 1 and history[-2].jvm.deadlocked == last.jvm.deadlocked:
        names = ", ".join(last.jvm.deadlocked[:4])
        message = f"{len(last.jvm.deadlocked)} threads wait for each other for ever: {names}"
        yield "deadlock", message, {"threads": float(len(last.jvm.deadlocked))}


def _heap(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    points = _after_collections(history)
    full = history[-1].jvm.old_max_bytes
    if not points or not full:
        return
    used = points[-1][1]
    numbers = {"used_bytes": used, "max_bytes": float(full)}
    if len(points) >= 3 and all(y >= NEARLY_ALL * full for _, y in points[-3:]):
        message = f"{_mib(used)} of {_mib(full)} MiB of old generation are left in use after each of 3 collections"
        yield "heap_full", message, numbers
        return
    grows = slope(thinned(points, MOST_POINTS))
    if grows is None or grows <= 0 or len(points) < LEAK_COLLECTIONS or points[-1][0] - points[0][0] < LEAK_FOR_S:
        return
    full_in_s = (full - used) / grows
    if full_in_s <= LEAK_FULL_IN_S and _rises(points):
        message = (
            f"what collections cannot free grows by {_mib(grows * 60):.1f} MiB a minute ({len(points)} collections); "
            f"the heap is full in {full_in_s / 60:.0f} min"
        )
        yield "memory_leak", message, {**numbers, "bytes_per_s": grows, "full_in_s": full_in_s}


def _collecting(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    stretch = _last(history, COLLECTING_FOR_S)
    if stretch is None or stretch[0].jvm.collecting_ms_total is None or stretch[-1].jvm.collecting_ms_total is None:
        return
    spent_s = (stretch[-1].jvm.collecting_ms_total - stretch[0].jvm.collecting_ms_total) / 1000
    share = spent_s / (stretch[-1].at_s - stretch[0].at_s)
    if share >= COLLECTING_SHARE:
        yield "gc_thrashing", f"{share:.0%} of the time goes into garbage collection", {"share": share}


def _limits(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    last = history[-1]
    for name, what, used, most in (
        ("threads_exhausted", "threads", last.jvm.threads, last.jvm.threads_max),
        ("descriptors_exhausted", "open files", last.jvm.descriptors, last.jvm.descriptors_max),
    ):
        if used is not None and most and used >= NEARLY_ALL * most:
            numbers = {"used": float(used), "max": float(most)}
            yield name, f"{used} of {most} {what} are in use", numbers


def _busy(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    stretch = _last(history, BUSY_FOR_S)
    if stretch is None:
        return
    for name, what, values in (
        ("request_handlers_busy", "request handlers", [v.request_handler_idle for v in stretch]),
        ("network_processors_busy", "network processors", [v.network_processor_idle for v in stretch]),
    ):
        known = [v for v in values if v is not None]
        if len(known) == len(values) and max(known) < BUSY_IDLE:
            over_s = stretch[-1].at_s - stretch[0].at_s
            message = f"{what} were idle {max(known):.1%} of the time at most over {over_s:.0f} s"
            yield name, message, {"idle": max(known), "over_s": over_s}


def _storage(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    last = history[-1]
    if last.cleaner_dead_threads:
        message = f"{last.cleaner_dead_threads} log cleaner threads are dead: compacted topics only grow"
        yield "log_cleaner_dead", message, {"threads": float(last.cleaner_dead_threads)}
    if last.uncleanable_partitions:
        message = f"the log cleaner has given up on {last.uncleanable_partitions} partitions"
        yield "log_cleaner_gave_up", message, {"partitions": float(last.uncleanable_partitions)}
    if last.offline_log_dirs:
        message = f"{last.offline_log_dirs} log directories are offline"
        yield "log_dir_failed", message, {"log_dirs": float(last.offline_log_dirs)}


def _disk(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    last, written = history[-1], _written(history)
    for name, free in sorted(last.free_bytes.items()):
        total = last.total_bytes.get(name, 0)
        numbers = {"free_bytes": float(free), "total_bytes": float(total)}
        points = [(v.at_s, float(v.free_bytes[name])) for v in history if name in v.free_bytes]
        fills = min(-(slope(thinned(points, MOST_POINTS)) or 0.0), written.get(name, 0.0))
        if total and free < FULL_SHARE * total:
            yield f"disk_full:{name}", f"{name}: {_mib(free)} of {_mib(total)} MiB are free", numbers
        elif fills > 0 and (full_in_s := free / fills) <= min(FILLING_FULL_IN_S, FILLING_TELLS_OF * _span_s(points)):
            message = f"{name}: full in {full_in_s / 3600:.1f} h at {_mib(fills * 60):.1f} MiB a minute"
            yield f"disk_filling:{name}", message, {**numbers, "bytes_per_s": fills, "full_in_s": full_in_s}


def _written(history: Sequence[Vitals]) -> Mapping[str, float]:
    """By disk, the bytes a second by which clients filled it in the last `FILLING_FOR_S`, deletions left out; empty
    before there is so much to look at. What a drain copies ends with it, and whoever planned it knows that there is
    room.
    """
    stretch = _last(history, FILLING_FOR_S)
    if stretch is None:
        return {}
    fell = {disk: _fell(stretch, disk) for disk in stretch[-1].free_bytes}
    before, now = stretch[0].copied_total, stretch[-1].copied_total
    copied = COPIES_TAKE * (now - before) if before is not None and now is not None else 0.0
    clients = max(0.0, 1 - copied / sum(fell.values())) if any(fell.values()) else 0.0
    over_s = stretch[-1].at_s - stretch[0].at_s
    return {disk: clients * bytes_ / over_s for disk, bytes_ in fell.items()}


def _fell(stretch: Sequence[Vitals], disk: str) -> int:
    free = [v.free_bytes[disk] for v in stretch if disk in v.free_bytes]
    return sum(max(0, a - b) for a, b in pairwise(free))


def _metadata(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    last = history[-1]
    if last.metadata.errors:
        message = (
            f"{last.metadata.errors} metadata records could not be applied: what the broker believes is not what is"
        )
        yield "metadata_errors", message, {"errors": float(last.metadata.errors)}
    stretch = _last(history, LAG_FOR_S)
    lags = [v.metadata.lag_ms for v in stretch or ()]
    known = [lag for lag in lags if lag is not None]
    if stretch and len(known) == len(lags) and min(known) >= LAG_MS:
        yield "metadata_lag", f"its metadata is {known[-1] / 1000:.0f} s old", {"lag_s": known[-1] / 1000}


def _controller(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """The thread that decides may stand still while the one that talks to the quorum goes on: nobody else leads."""
    stretch, every_ms = _last(history, WRITES_NOTHING_FOR_S) or (), history[-1].metadata.no_op_every_ms
    if len(stretch) < 3 or not every_ms or every_ms * NO_OPS > WRITES_NOTHING_FOR_S * 1000:
        return
    ends = {v.metadata.log_end for v in stretch}
    if all(v.metadata.is_active_controller for v in stretch) and len(ends) == 1 and None not in ends:
        for_s = stretch[-1].at_s - stretch[0].at_s
        message = f"it leads the quorum and has written nothing for {for_s:.0f} s, not the record of each {every_ms} ms"
        yield "controller_stuck", message, {"for_s": for_s}


def _identity(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """A build of a release may have a suffix to its number."""
    last = history[-1]
    if last.identity is None or last.wanted is None or len(history) < 2 or history[-2].identity != last.identity:
        return
    (node, version), (wanted_node, wanted_version) = last.identity, last.wanted
    if node != wanted_node or version.partition("-")[0] != wanted_version:
        message = f"it runs as node {node} with Kafka {version}, and node {wanted_node} with {wanted_version} is wanted"
        yield "wrong_identity", message, {"node": float(node)}


def _zookeeper(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    stretch = _last(history, SESSION_FOR_S)
    states = [v.zookeeper.session for v in stretch or ()]
    if states and all(state not in (None, "CONNECTED") for state in states):
        message = (
            f"no session with ZooKeeper for {SESSION_FOR_S:.0f} s (its client says {states[-1]}): the other brokers "
            "take this one for dead while it still answers"
        )
        yield "zookeeper_session", message, {"for_s": SESSION_FOR_S}


def _overloaded(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    waiting = [v.zookeeper.outstanding_requests for v in _last(history, OVERLOADED_FOR_S) or ()]
    known = [n for n in waiting if n is not None]
    if known and len(known) == len(waiting) and min(known) >= OUTSTANDING:
        message = (
            f"{known[-1]} requests wait for this server, and never fewer than {min(known)} in {OVERLOADED_FOR_S:.0f} s"
        )
        yield "zookeeper_overloaded", message, {"outstanding": float(known[-1])}


def _slow(history: Sequence[Vitals]) -> Iterator[tuple[str, str, dict[str, float]]]:
    stretch = _last(history, SLOW_FOR_S) or ()
    if not stretch:
        return
    first, last = stretch[0], stretch[-1]
    if first.zookeeper.updates_total is None or last.zookeeper.updates_total is None:
        return
    if first.zookeeper.update_ms_total is None or last.zookeeper.update_ms_total is None:
        return
    updates = last.zookeeper.updates_total - first.zookeeper.updates_total
    if (
        updates >= UPDATES
        and (mean_ms := (last.zookeeper.update_ms_total - first.zookeeper.update_ms_total) / updates) >= UPDATE_MS
    ):
        message = f"an update took {mean_ms:.0f} ms on average in the last {SLOW_FOR_S:.0f} s ({updates} updates)"
        yield "zookeeper_slow", message, {"update_ms": mean_ms, "updates": float(updates)}


_RULES: tuple[_Rule, ...] = (
    _deadlock,
    _heap,
    _collecting,
    _limits,
    _busy,
    _storage,
    _metadata,
    _controller,
    _identity,
    _zookeeper,
    _overloaded,
    _slow,
)
_LONG_RULES: tuple[_Rule, ...] = (_disk,)


def _since(history: Sequence[Vitals], at_s: float) -> Sequence[Vitals]:
    return [vitals for vitals in history if vitals.at_s >= at_s]


def _span_s(points: Sequence[tuple[float, float]]) -> float:
    return points[-1][0] - points[0][0] if points else 0.0


def _after_collections(history: Sequence[Vitals]) -> list[tuple[float, float]]:
    """(time, bytes) after each collection of the old generation: the same number again is the same collection."""
    points: list[tuple[float, float]] = []
    for vitals in history:
        used = vitals.jvm.old_used_bytes
        if used and (not points or points[-1][1] != used):
            points.append((vitals.at_s, float(used)))
    return points


def _rises(points: Sequence[tuple[float, float]]) -> bool:
    """Whether each third of the points lies above the one before: a cache that fills up once levels off."""
    n = len(points) // 3
    first, middle, final = ([y for _, y in part] for part in (points[:n], points[n:-n], points[-n:]))
    return max(first) < min(final) and sum(first) / len(first) < sum(middle) / len(middle) < sum(final) / len(final)


def _last(history: Sequence[Vitals], seconds: float) -> Sequence[Vitals] | None:
    """The samples of the last so many seconds, one from before that among them; None when there is none that old."""
    since_s = history[-1].at_s - seconds
    older = [n for n, vitals in enumerate(history) if vitals.at_s <= since_s]
    return history[older[-1] :] if older else None


def _mib(size: float) -> float:
    return round(size / (1024 * 1024), 1)
