"""Log directories in state and plan files: paths become rows of the directory table here, and rows become paths."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from planner.drain.model.files import BrokerEntry, LogDirEntry, MoveEntry, PartitionEntry, StateFile
from planner.drain.model.problem import StateProblem, StateProblemKind
from planner.drain.model.state import NO_BROKER, NOWHERE, ClusterState, Int32s, Int64s, LogDirs

ANY = "any"
"""Kafka's word for a directory of its own choice, or the one the replica is in."""

_RECEIVE = ("active", "new")

Paths = Mapping[int, frozenset[str]]
"""Broker id -> its paths; a broker whose directories are not known is missing."""


def log_dir_problems(file: StateFile) -> Iterator[StateProblem]:
    """What the file says about log directories that cannot be."""
    paths: dict[int, frozenset[str]] = {}
    for index, broker in enumerate(file["brokers"]):
        if "log_dirs" in broker:
            paths[broker["id"]] = frozenset(d["path"] for d in broker["log_dirs"])
            yield from _broker_problems(index, broker, broker["log_dirs"])
    for index, entry in enumerate(file["partitions"]):
        if "log_dirs" in entry:
            yield from _place_problems(f"partitions[{index}]", entry, entry["log_dirs"], paths)
    yield from _unaccounted(file)


def log_dirs_of(file: StateFile, ids: Int32s, replicas: Int32s) -> LogDirs | None:
    """The directory table of a sound file, None where no broker names any. `ids`: int32[B], `replicas`: rows."""
    named = {b["id"]: sorted(b["log_dirs"], key=lambda d: d["path"]) for b in file["brokers"] if "log_dirs" in b}
    if not named:
        return None
    rows = [(row, entry) for row, broker in enumerate(ids.tolist()) for entry in named.get(broker, ())]
    located = _located(file["partitions"], replicas, {(row, e["path"]): n for n, (row, e) in enumerate(rows)})
    alone = _only_dirs(np.array([row for row, _ in rows], dtype=np.int32), ids.size)
    located = np.where((located == NOWHERE) & (replicas != NO_BROKER), alone[replicas], located).astype(np.int32)
    held = _bytes_located(located, np.array([p["size_bytes"] for p in file["partitions"]], dtype=np.int64), len(rows))
    used = np.array([e.get("used_bytes", 0) for _, e in rows], dtype=np.int64)
    return LogDirs(
        broker=np.array([row for row, _ in rows], dtype=np.int32),
        path=tuple(e["path"] for _, e in rows),
        disk_bytes=np.array([e["disk_bytes"] for _, e in rows], dtype=np.int64),
        # A log may be told shorter than its longest replica: that much has to fit.
        used_bytes=np.maximum(used, held),
        located=located,
    )


def broker_log_dirs(log_dirs: LogDirs, broker: int) -> list[LogDirEntry]:
    """Entries of one broker row, [] where its directories are not known."""
    first, last = np.searchsorted(log_dirs.broker, [broker, broker + 1]).tolist()
    return [
        {
            "path": log_dirs.path[n],
            "disk_bytes": int(log_dirs.disk_bytes[n]),
            "used_bytes": int(log_dirs.used_bytes[n]),
        }
        for n in range(first, last)
    ]


def replica_log_dirs(log_dirs: LogDirs, replicas: Int32s) -> list[list[str | None]]:
    """Per row of `replicas` the path of each replica, None where it is not known."""
    paths = [*log_dirs.path, None]
    lists = zip(log_dirs.located.tolist(), replicas.tolist(), strict=True)
    return [
        [paths[d] for d, broker in zip(dirs, brokers, strict=True) if broker != NO_BROKER] for dirs, brokers in lists
    ]


def planned_paths(state: ClusterState, log_dirs: Int32s | None, replicas: Int32s) -> list[list[str]]:
    """Per entry the `log_dirs` of Kafka's reassignment JSON: a path or ANY for each replica."""
    if log_dirs is None or state.log_dirs is None:
        return [[ANY] * count for count in (replicas != NO_BROKER).sum(axis=1).tolist()]
    paths = [*state.log_dirs.path, ANY]
    lists = zip(log_dirs.tolist(), replicas.tolist(), strict=True)
    return [
        [paths[d] for d, broker in zip(dirs, brokers, strict=True) if broker != NO_BROKER] for dirs, brokers in lists
    ]


def move_problems(path: str, move: MoveEntry, known: Paths) -> Iterator[StateProblem]:
    """What an entry of a plan says about directories that the state contradicts."""
    dirs, name = move.get("log_dirs", []), f"{move['topic']}-{move['partition']}"
    if all(d == ANY for d in dirs):
        return
    if len(dirs) != len(move["replicas"]):
        message = f"{name}: {len(dirs)} log dirs for {len(move['replicas'])} replicas"
        yield StateProblem(StateProblemKind.CONTRADICTION, f"{path}.log_dirs", message)
        return
    for place, (broker, directory) in enumerate(zip(move["replicas"], dirs, strict=True)):
        if directory != ANY and broker in known and directory not in known[broker]:
            message = f"{name}: broker {broker} has no log dir {directory}"
            yield StateProblem(StateProblemKind.UNKNOWN, f"{path}.log_dirs[{place}]", message)


def known_paths(state: ClusterState) -> Paths:
    found: dict[int, set[str]] = {}
    if state.log_dirs is not None:
        for row, path in zip(state.log_dirs.broker.tolist(), state.log_dirs.path, strict=True):
            found.setdefault(int(state.brokers.id[row]), set()).add(path)
    return {broker: frozenset(paths) for broker, paths in found.items()}


def planned_log_dirs(state: ClusterState, moves: Sequence[MoveEntry], after: Int32s) -> Int32s | None:
    """int32, shape of `after`: the state's directories that a plan names; None where it names none that is known."""
    if state.log_dirs is None or all(d == ANY for move in moves for d in move.get("log_dirs", ())):
        return None
    table = state.log_dirs
    index = {key: n for n, key in enumerate(zip(table.broker.tolist(), table.path, strict=True))}
    planned = np.full(after.shape, NOWHERE, dtype=np.int32)
    for entry, move in enumerate(moves):
        for place, directory in enumerate(move.get("log_dirs", ())[: len(move["replicas"])]):
            planned[entry, place] = index.get((int(after[entry, place]), directory), NOWHERE)
    return planned


def _broker_problems(index: int, broker: BrokerEntry, entries: list[LogDirEntry]) -> Iterator[StateProblem]:
    first: dict[str, int] = {}
    for n, entry in enumerate(entries):
        if first.setdefault(entry["path"], n) != n:
            message = f"{entry['path']} is already log_dirs[{first[entry['path']]}] of broker {broker['id']}"
            yield StateProblem(StateProblemKind.TWICE, f"brokers[{index}].log_dirs[{n}]", message)
    together = sum(e["disk_bytes"] for e in entries)
    if broker.get("disk_bytes", 0) > together:
        message = f"have {together} bytes together, but disk_bytes of broker {broker['id']} is {broker['disk_bytes']}"
        yield StateProblem(StateProblemKind.CONTRADICTION, f"brokers[{index}].log_dirs", message)


def _place_problems(
    path: str, entry: PartitionEntry, dirs: Sequence[str | None], known: Paths
) -> Iterator[StateProblem]:
    name = f"{entry['topic']}-{entry['partition']}"
    if len(dirs) != len(entry["replicas"]):
        message = f"{name}: {len(dirs)} log dirs for {len(entry['replicas'])} replicas"
        yield StateProblem(StateProblemKind.CONTRADICTION, f"{path}.log_dirs", message)
        return
    for place, (broker, directory) in enumerate(zip(entry["replicas"], dirs, strict=True)):
        if directory is not None and directory not in known.get(broker, ()):
            message = f"{name}: broker {broker} has no log dir {directory} in this file"
            yield StateProblem(StateProblemKind.UNKNOWN, f"{path}.log_dirs[{place}]", message)


def _unaccounted(file: StateFile) -> Iterator[StateProblem]:
    """A directory without `used_bytes` is empty but for what is located; a replica that nobody locates may be in it."""
    open_: dict[int, tuple[int, int]] = {}
    for index, broker in enumerate(file["brokers"]):
        for n, entry in enumerate(broker.get("log_dirs", ())):
            if "used_bytes" not in entry and broker.get("state", "active") in _RECEIVE and len(broker["log_dirs"]) > 1:
                open_.setdefault(broker["id"], (index, n))
    if not open_:
        return
    unlocated = dict.fromkeys(open_, 0)
    for partition in file["partitions"]:
        dirs: Sequence[str | None] = partition.get("log_dirs", ())
        for place, replica in enumerate(partition["replicas"]):
            if replica in unlocated and (place >= len(dirs) or dirs[place] is None):
                unlocated[replica] += 1
    for replica, count in unlocated.items():
        index, n = open_[replica]
        if count:
            message = f"is missing, and nobody says where {count} replicas of broker {replica} are"
            yield StateProblem(StateProblemKind.SHAPE, f"brokers[{index}].log_dirs[{n}].used_bytes", message)


def _located(entries: Sequence[PartitionEntry], replicas: Int32s, index: Mapping[tuple[int, str], int]) -> Int32s:
    located = np.full(replicas.shape, NOWHERE, dtype=np.int32)
    for row, entry in enumerate(entries):
        for place, directory in enumerate(entry.get("log_dirs", ())):
            if directory is not None:
                located[row, place] = index[int(replicas[row, place]), directory]
    return located


def _only_dirs(broker: Int32s, brokers: int) -> Int32s:
    """int32[B]: the one directory of a broker that has one, NOWHERE for others."""
    only = np.full(brokers, NOWHERE, dtype=np.int32)
    only[broker] = np.arange(broker.size, dtype=np.int32)
    only[np.bincount(broker, minlength=brokers) > 1] = NOWHERE
    return only


def _bytes_located(located: Int32s, size_bytes: Int64s, dirs: int) -> Int64s:
    held = np.zeros(dirs, dtype=np.int64)
    row, place = np.nonzero(located != NOWHERE)
    np.add.at(held, located[row, place], size_bytes[row])
    return held


def as_document(state: ClusterState, document: dict[str, Any]) -> dict[str, Any]:
    """The state file's document with the log directories of its brokers and replicas in it, where they are known."""
    table = state.log_dirs
    if table is None:
        return document
    for row, broker in enumerate(document["brokers"]):
        entries = broker_log_dirs(table, row)
        if entries:
            broker["log_dirs"] = entries
    located = replica_log_dirs(table, state.partitions.replicas)
    for entry, paths in zip(document["partitions"], located, strict=True):
        if any(paths):
            entry["log_dirs"] = paths
    return document
