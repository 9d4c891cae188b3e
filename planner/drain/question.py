"""The question a drain request puts to the planner: a ClusterState, and the way back to the request's rows.

Only partitions that may be touched are in it: those to move, and those at rest with all replicas in sync, whose
order of leaders may be evened out. What others occupy is taken off the disks instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from planner.drain.arrays import UNKNOWN, Int32s, Int64s
from planner.drain.model.hardware import Hardware, unknown_hardware
from planner.drain.model.state import NOWHERE, Bools, Brokers, BrokerState, ClusterState, Floats, LogDirs, Partitions
from planner.drain.request import DrainRequest
from planner.drain.throttle import FLOW_BYTES_PER_S, usable_volumes

_BOUNDLESS_BYTES = 2**53
"""Disk of a broker that receives nothing and told nothing: it must not count as the fullest."""


@dataclass(frozen=True, slots=True, eq=False)
class DrainQuestion:
    """`row`: int64[P], the model row of each of the state's partitions."""

    state: ClusterState
    row: Int64s


def question_of(
    request: DrainRequest,
    moving: Int64s,
    *,
    ingress: Floats,
    egress: Floats,
    destinations: Mapping[int, tuple[int, ...]] | None = None,
) -> DrainQuestion:
    """What the planner is asked: `moving` are the model rows to move, `ingress` and `egress` float64[B] bytes/s.

    `destinations` (broker rows) default to each outgoing broker's successor, else to every usable target.
    """
    rows = np.sort(np.concatenate([moving, _at_rest(request)]))
    state = ClusterState(
        brokers=_brokers(request, rows, ingress, egress),
        partitions=_partitions(request, rows),
        disk_limit=request.disk_limit_fraction,
        flow_bytes_per_s=FLOW_BYTES_PER_S,
        destinations=_destinations(request) if destinations is None else destinations,
        log_dirs=_log_dirs(request, rows),
        hardware=_hardware(request),
    )
    return DrainQuestion(state, rows)


def eligible_targets(request: DrainRequest) -> Bools:
    """Per broker row: named as a target, live, and its disk is known. A guess about a disk may fill it."""
    brokers = request.cluster.brokers
    named = np.isin(brokers.id, np.array(request.targets, dtype=np.int32))
    return np.asarray(named & brokers.live & (brokers.total_bytes > 0))


def disk_room(request: DrainRequest) -> Int64s:
    """Bytes each broker row may still take before its disk limit; below 0 where it is above that already."""
    brokers = request.cluster.brokers
    limit = np.floor(brokers.total_bytes * request.disk_limit_fraction).astype(np.int64)
    return np.asarray(limit - (brokers.total_bytes - brokers.free_bytes), dtype=np.int64)


def conflicting(request: DrainRequest, moving: Int64s) -> Bools:
    """Per moved row: a successor cannot take its predecessor's replica, which must go elsewhere. It holds the partition
    already; or it is in another rack than Kafka has its predecessor in, and one that stays is in that rack, too."""
    conflict = np.zeros(moving.size, dtype=np.bool_)
    replicas, brokers = request.cluster.replicas[moving], request.cluster.brokers
    rows = as_rows(replicas, brokers.id)
    stays = (replicas >= 0) & ~np.isin(replicas, np.array(request.outgoing, dtype=np.int32))
    for old, new in request.successors.items():
        led_away = (replicas == old).any(axis=1)
        conflict |= led_away & (replicas == new).any(axis=1)
        before, after = (int(np.searchsorted(brokers.id, b)) for b in (old, new))
        if max(before, after) >= brokers.id.size or brokers.rack[before] == brokers.rack[after]:
            continue
        beside = np.where(stays, brokers.rack[np.where(stays, rows, 0)], UNKNOWN)
        worse = (beside == brokers.rack[after]).any(axis=1) & ~(beside == brokers.rack[before]).any(axis=1)
        conflict |= led_away & worse
    return conflict


def as_rows(replicas: Int32s, ids: Int32s) -> Int32s:
    """Broker ids to rows of the (sorted) broker table; padding stays -1."""
    found = np.searchsorted(ids, replicas)
    return np.where(replicas < 0, UNKNOWN, found).astype(np.int32)


def _at_rest(request: DrainRequest) -> Int64s:
    """Rows without a replica on an outgoing broker that nobody moves, led, with every replica in sync."""
    model = request.cluster
    outgoing = np.array(request.outgoing, dtype=np.int32)
    rest = ~np.isin(model.replicas, outgoing).any(axis=1) & ~model.moving & (model.leader >= 0)
    rest &= (_in_sync(model.replicas, model.isr) | (model.replicas < 0)).all(axis=1)
    return np.flatnonzero(rest).astype(np.int64)


def _in_sync(replicas: Int32s, isr: Int32s) -> Bools:
    found: Bools = ((replicas[:, :, None] == isr[:, None, :]) & (replicas[:, :, None] >= 0)).any(axis=2)
    return found


def _brokers(request: DrainRequest, rows: Int64s, ingress: Floats, egress: Floats) -> Brokers:
    brokers = request.cluster.brokers
    outgoing = np.isin(brokers.id, np.array(request.outgoing, dtype=np.int32))
    successors = np.isin(brokers.id, np.array(list(request.successors.values()), dtype=np.int32))
    state = np.select(
        [outgoing & brokers.live, outgoing, successors],
        [BrokerState.OUTGOING, BrokerState.DEAD, BrokerState.NEW],
        BrokerState.ACTIVE,
    )
    return Brokers(
        id=brokers.id,
        rack=brokers.rack,
        racks=brokers.racks,
        state=state.astype(np.int8),
        disk_bytes=_disks(request, rows),
        ingress_bytes_per_s=ingress,
        egress_bytes_per_s=egress,
    )


def _disks(request: DrainRequest, rows: Int64s) -> Int64s:
    """Disk sizes under which the logs of `rows` leave exactly the room that was measured: other files, other logs and
    bytes on their way (both copies are held until a move ends) are taken off.
    """
    model, brokers = request.cluster, request.cluster.brokers
    replicas = as_rows(model.replicas[rows], brokers.id)
    held = replicas >= 0
    sizes = np.broadcast_to(model.size_bytes[rows][:, None], replicas.shape)[held]
    used: Int64s = np.zeros(brokers.id.size, dtype=np.int64)
    np.add.at(used, replicas[held], sizes)
    # + 1 byte: rounding down must not take the last byte that fits
    fitting = np.floor((used + disk_room(request) + 1) / request.disk_limit_fraction).astype(np.int64)
    return np.where(brokers.total_bytes > 0, np.maximum(fitting, 1), _BOUNDLESS_BYTES)


def _hardware(request: DrainRequest) -> Hardware | None:
    """What migration may use of the volumes, where any is known."""
    if not request.volumes.bytes_per_s:
        return None
    ids = request.cluster.brokers.id
    return replace(unknown_hardware(ids.size), disk_io_bytes_per_s=usable_volumes(request))


def _log_dirs(request: DrainRequest, rows: Int64s) -> LogDirs | None:
    """Directories of brokers that have several; the only one of a broker is its disk. What is on its way counts as in
    use. Where replicas are is left open: none leaves a broker that stays.
    """
    table = request.cluster.brokers.log_dirs
    several = table.one_of_several()
    if not several.size:
        return None
    return LogDirs(
        broker=table.broker[several].astype(np.int32),
        path=tuple(table.path[n] for n in several.tolist()),
        disk_bytes=table.total_bytes[several],
        used_bytes=table.total_bytes[several] - table.free_bytes[several],
        located=np.full((rows.size, request.cluster.replicas.shape[1]), NOWHERE, dtype=np.int32),
    )


def _partitions(request: DrainRequest, rows: Int64s) -> Partitions:
    model, ids = request.cluster, request.cluster.brokers.id
    replicas = model.replicas[rows]
    leaving = np.isin(replicas, np.array(request.outgoing, dtype=np.int32))
    live = np.append(request.cluster.brokers.live, False)[as_rows(replicas, ids)]
    # A late replica on a live outgoing broker leaves without being read (see solve): it is no reason to wait.
    in_sync = _in_sync(replicas, model.isr[rows]) | (leaving & live)
    written = model.write_bytes_per_s[rows].astype(np.float64)
    unknown: npt.NDArray[np.float64] = np.full(rows.size, np.nan)
    return Partitions(
        topics=model.topics,
        topic=model.topic[rows],
        partition=model.partition[rows],
        replicas=as_rows(replicas, ids),
        in_sync=in_sync,
        leader=as_rows(model.leader[rows], ids),
        min_isr=model.min_isr[rows],
        size_bytes=model.size_bytes[rows],
        write_bytes_per_s=np.where(written >= 0, written, np.nan),
        read_bytes_per_s=unknown,
    )


def _destinations(request: DrainRequest) -> dict[int, tuple[int, ...]]:
    """Broker rows. Without successors every usable target of the broker's set is open; brokers that stay but may not
    receive are not."""
    brokers = request.cluster.brokers
    row = {int(b): i for i, b in enumerate(brokers.id)}
    able = tuple(int(i) for i in np.flatnonzero(eligible_targets(request)))
    free = set(able) == {i for b, i in row.items() if b not in request.outgoing}
    bound: dict[int, tuple[int, ...]] = {}
    for old in request.outgoing:
        successor = request.successors.get(old)
        if old in row and successor is not None:
            bound[row[old]] = (row[successor],)
        elif old in row and (request.sets or not free):
            beside = set(request.sets.beside(old, request.targets))
            bound[row[old]] = tuple(i for i in able if int(brokers.id[i]) in beside)
    return bound
