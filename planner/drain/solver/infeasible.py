"""A typed no: everything that is in the way, the partitions each thing holds back, and the smallest thing that would
help. Never a dropped replica.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import ClusterState, Int32s
from planner.quantities import human_bytes, named

Kind = Literal["repair", "broker", "destination", "disk", "log-dir"]


@dataclass(frozen=True, slots=True, eq=False)
class Obstacle:
    """One thing in the way. `stuck`: int32[S], rows of the partitions it holds back.

    `kind`: partitions need repair first, a broker is missing, the destinations that were named may not take them, disk
    is missing, or whole logs fit no single log directory. `message` has the numbers, and the smallest addition where
    one would help. `next_step`: what a person can do about it. `widen`: drained broker ids with those that could take
    what their destinations may not.
    """

    kind: Kind
    message: str
    stuck: Int32s
    next_step: str
    widen: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Unsolvable:
    """No plan empties the drained brokers. `reasons`: one at least, and every partition that cannot move is in one.

    `movable`: how many partitions could move all the same. `part`: a schedule for those, when it was asked for.
    """

    reasons: tuple[Obstacle, ...]
    movable: int = 0
    part: Schedule | None = None

    @property
    def kind(self) -> Kind:
        """Of the first reason."""
        return self.reasons[0].kind

    @property
    def message(self) -> str:
        """All reasons in one line."""
        return "; ".join(reason.message for reason in self.reasons)

    @property
    def stuck(self) -> Int32s:
        """int32[S], ascending: rows of all partitions that cannot move."""
        return np.unique(np.concatenate([reason.stuck for reason in self.reasons])).astype(np.int32)


def refusal_document(refusal: Unsolvable) -> dict[str, Any]:
    """As JSON, without the part. Rows are the state's."""
    reasons = [
        {
            "kind": reason.kind,
            "message": reason.message,
            "stuck": reason.stuck.tolist(),
            "next_step": reason.next_step,
            "widen": [[source, list(others)] for source, others in reason.widen],
        }
        for reason in refusal.reasons
    ]
    return {"reasons": reasons, "movable": refusal.movable}


def refusal_from(document: Mapping[str, Any], part: Schedule | None = None) -> Unsolvable:
    """The inverse of `refusal_document`; raises KeyError or TypeError."""
    reasons = tuple(
        Obstacle(
            kind=reason["kind"],
            message=reason["message"],
            stuck=np.array(reason["stuck"], dtype=np.int32),
            next_step=reason["next_step"],
            widen=tuple((int(source), tuple(others)) for source, others in reason["widen"]),
        )
        for reason in document["reasons"]
    )
    return Unsolvable(reasons, int(document["movable"]), part)


def no_log_dir(state: ClusterState, rows: Int32s, directory: int, room_bytes: int) -> Obstacle:
    """Partitions whose logs fit no single directory of their target, though the broker has room. `directory`: the one
    that has the most, `room_bytes`.
    """
    assert state.log_dirs is not None
    size = int(state.partitions.size_bytes[rows].max())
    broker = int(state.brokers.id[state.log_dirs.broker[directory]])
    # a directory that is above its limit has no room, not less than none
    room = max(0, room_bytes)
    path = state.log_dirs.path[directory]
    message = (
        f"{partitions_named(state, rows)} fit no log directory: of broker {broker} {path} has the most "
        f"room, {human_bytes(room)} below the limit of {state.disk_limit:.0%}, and the largest log has "
        f"{human_bytes(size)}: make room for {human_bytes(size - room)} more there"
    )
    return Obstacle("log-dir", message, rows, f"make room for {human_bytes(size - room)} more on broker {broker}")


def partitions_named(state: ClusterState, rows: Int32s) -> str:
    """`orders-3, orders-4, orders-7 and 12 more`."""
    parts = state.partitions
    return named([f"{parts.topics[parts.topic[row]]}-{parts.partition[row]}" for row in rows.tolist()])
