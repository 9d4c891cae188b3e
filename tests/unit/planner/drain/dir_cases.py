"""Clusters whose brokers have several log directories, by hand and drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, NOWHERE, ClusterState, LogDirs
from tests.unit.planner.drain.judge_cases import ACTIVE, OUTGOING, cluster, padded

Dirs = Mapping[int, Sequence[tuple[str, int, int]]]
"""Broker row -> (path, disk bytes, used bytes) of each of its directories."""


def with_dirs(state: ClusterState, dirs: Dirs, located: Mapping[tuple[int, int], str] | None = None) -> ClusterState:
    """`located`: (partition row, broker row) -> path. A broker's disk is as large as its directories together."""
    rows = [(broker, *entry) for broker, entries in sorted(dirs.items()) for entry in sorted(entries)]
    index = {(broker, path): n for n, (broker, path, _, _) in enumerate(rows)}
    replicas = state.partitions.replicas
    where = np.full(replicas.shape, NOWHERE, dtype=np.int32)
    for (partition, broker), path in (located or {}).items():
        where[partition, replicas[partition].tolist().index(broker)] = index[broker, path]
    disk = state.brokers.disk_bytes.copy()
    for broker, entries in dirs.items():
        disk[broker] = sum(size for _, size, _ in entries)
    return replace(
        state,
        brokers=replace(state.brokers, disk_bytes=disk),
        log_dirs=LogDirs(
            broker=np.array([r[0] for r in rows], dtype=np.int32),
            path=tuple(r[1] for r in rows),
            disk_bytes=np.array([r[2] for r in rows], dtype=np.int64),
            used_bytes=np.array([r[3] for r in rows], dtype=np.int64),
            located=where,
        ),
    )


def in_dirs(state: ClusterState, schedule: Schedule, paths: Sequence[Sequence[str | None]]) -> Schedule:
    """The schedule with a path, or None, for each replica after."""
    assert state.log_dirs is not None
    index = dict(zip(zip(state.log_dirs.broker.tolist(), state.log_dirs.path, strict=True), range(99), strict=False))
    rows = [
        [NOWHERE if path is None else index[broker, path] for broker, path in zip(after, named, strict=False)]
        for after, named in zip(schedule.after.tolist(), paths, strict=True)
    ]
    return replace(schedule, log_dirs=padded(rows, schedule.after.shape[1]))


def paths_of(state: ClusterState, schedule: Schedule) -> dict[tuple[int, int], str]:
    """(partition row, broker row) -> path, of every replica the schedule names a directory for."""
    assert state.log_dirs is not None
    if schedule.log_dirs is None:
        return {}
    return {
        (row, broker): state.log_dirs.path[directory]
        for row, after, dirs in zip(
            schedule.row.tolist(), schedule.after.tolist(), schedule.log_dirs.tolist(), strict=True
        )
        for broker, directory in zip(after, dirs, strict=True)
        if directory != NOWHERE and broker != NO_BROKER
    }


def drawn(seed: int) -> ClusterState:
    """Two or three racks, a broker or two leave, the others have one to four directories of unlike size and fill."""
    random = Random(seed)
    racks = "".join(random.choice("abc") for _ in range(random.randint(3, 7)))
    leaving = random.randint(1, min(2, len(racks) - 2))
    states = [OUTGOING] * leaving + [ACTIVE] * (len(racks) - leaving)
    width = random.randint(1, min(3, len(racks) - leaving))
    replicas = [random.sample(range(len(racks)), width) for _ in range(random.randint(1, 30))]
    sizes = [random.choice([0, random.randrange(1, 400), random.randrange(1, 40)]) for _ in replicas]
    state = cluster(racks, states, replicas, size=sizes, disk_limit=random.choice([0.85, 0.9, 1.0]), flow=100.0)
    held = {b: sum(s for s, r in zip(sizes, replicas, strict=True) if b in r) for b in range(len(racks))}
    dirs, spread = {}, random.choice([150, 400, 1500])
    for broker in range(len(racks)):
        if broker >= leaving and random.random() < 0.15:
            continue
        count = random.randint(1, 4)
        shares = [held[broker] // count] * count
        dirs[broker] = [
            (f"/d{n}", share + random.randrange(30, spread), share + random.randrange(20))
            for n, share in enumerate(shares)
        ]
    return with_dirs(state, dirs) if dirs else state
