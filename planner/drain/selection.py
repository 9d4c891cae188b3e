"""Which partitions this round may move, and why the others wait. A copy that cannot finish is not started."""

from dataclasses import dataclass

import numpy as np

from planner.drain.arrays import ClusterModel, Int64s
from planner.drain.request import DrainRequest
from planner.observed import TopicPartition


@dataclass(frozen=True, slots=True, order=True)
class Deferred:
    """A partition that keeps a replica on an outgoing broker for now."""

    name: TopicPartition
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """`rows` of the model to move now, largest first; `deferred` in (topic, partition) order."""

    rows: Int64s
    deferred: tuple[Deferred, ...]


def select(request: DrainRequest) -> Selection:
    """Split the partitions on outgoing brokers into those that can move now and those that must wait.

    A reassignment completes only when *every* target replica is in the ISR (KRaft,
    ReplicationControlManager), so a partition whose staying replicas are not all in sync would hold its
    throttle and disk for an unknown time.
    """
    model = request.cluster
    hosted = model.rows_hosted_by(request.outgoing)
    moving = model.moving[hosted]
    headless = model.leader[hosted] < 0
    lagging = ~_stayers_in_sync(model, hosted, request.outgoing)
    waits = moving | headless | lagging
    ready = hosted[~waits]
    order = np.lexsort((ready, -model.size_bytes[ready]))
    deferred = [
        Deferred(model.name(row), _reason(request, int(row), bool(is_moving), bool(no_leader)))
        for row, is_moving, no_leader in zip(hosted[waits], moving[waits], headless[waits], strict=True)
    ]
    return Selection(rows=ready[order], deferred=tuple(deferred))


def _stayers_in_sync(model: ClusterModel, rows: Int64s, outgoing: tuple[int, ...]) -> np.ndarray:
    replicas, isr = model.replicas[rows], model.isr[rows]
    in_sync = (replicas[:, :, None] == isr[:, None, :]).any(axis=2)
    excused = (replicas < 0) | np.isin(replicas, np.array(outgoing, dtype=np.int32))
    return np.asarray((in_sync | excused).all(axis=1))


def _reason(request: DrainRequest, row: int, is_moving: bool, no_leader: bool) -> str:
    if is_moving:
        return "another reassignment of it is running"
    if no_leader:
        return "it has no leader to copy from"
    isr = set(request.cluster.isr[row].tolist())
    late = [r for r in request.cluster.replicas_of(row) if r not in isr and r not in request.outgoing]
    return f"its replica on broker {', '.join(map(str, late))} is out of sync"
