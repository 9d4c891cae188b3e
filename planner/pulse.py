"""How a running move has come on: when its copies last grew, and when they last came closer to the log. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime

from planner.observed import PartitionSeen


@dataclass(frozen=True, slots=True)
class MovePulse:
    """One move as it was seen so far, bytes. `left_bytes` is the least that was ever missing, -1 while nobody knows.

    `grew_at`: when bytes or a replica in sync last came; `closer_at`: when less was missing than ever before. What is
    written meanwhile makes a copy grow that never arrives.
    """

    target: tuple[int, ...]
    arrived_bytes: int
    in_sync: int
    left_bytes: int
    began: datetime
    grew_at: datetime
    closer_at: datetime


def felt(before: MovePulse | None, seen: PartitionSeen, at: datetime) -> MovePulse:
    """The pulse after another look at a partition that moves. Another target is another move."""
    arrived = sum(seen.arrived_bytes) if seen.arrived_bytes else -1
    in_sync = sum(r in seen.isr for r in seen.target)
    left = _left(seen)
    if before is None or before.target != seen.target:
        return MovePulse(seen.target, arrived, in_sync, left, at, at, at)
    grew = arrived > before.arrived_bytes >= 0 or in_sync > before.in_sync
    closer = 0 <= left < before.left_bytes or in_sync > before.in_sync
    return replace(
        before,
        arrived_bytes=arrived if arrived >= 0 else before.arrived_bytes,
        in_sync=in_sync,
        left_bytes=left if before.left_bytes < 0 or 0 <= left < before.left_bytes else before.left_bytes,
        grew_at=at if grew else before.grew_at,
        closer_at=at if closer else before.closer_at,
    )


def _left(seen: PartitionSeen) -> int:
    """Bytes missing on the new replicas; -1 where the leader or one of them has not told."""
    if seen.leader_bytes < 0 or not seen.arrived_bytes:
        return -1
    return sum(max(0, seen.leader_bytes - arrived) for arrived in seen.arrived_bytes)
