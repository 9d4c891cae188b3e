"""What people asked for single nodes of a cluster that runs, beside its spec: part of its stream, see `facts`."""

from dataclasses import dataclass

from events.registry import fact


@fact("rolling_restart.requested", schema=1)
@dataclass(frozen=True, slots=True)
class RollingRestartRequested:
    """The services on these instances are to be started anew where they are, one at a time.

    `keys` are those that served when it was asked for; one that is replaced meanwhile has been started anew by that.
    The server beside a broker is `KEY/zookeeper` among them.
    `reason` names who asked, and why.
    """

    request: str
    keys: tuple[str, ...]
    reason: str


@fact("rolling_restart.completed", schema=1)
@dataclass(frozen=True, slots=True)
class RollingRestartCompleted:
    """Each of them was started anew, or has a successor that was."""

    request: str


@fact("node.replace_requested", schema=1)
@dataclass(frozen=True, slots=True)
class NodeReplaceRequested:
    """The VM of this instance is to go, though nothing in the spec says so: its node gets the next generation.

    `reason` names who asked, and why. `new_disk`: its disk goes with it, also where the policy would hand it over.
    `disks`: of its log directories these alone begin anew; the next VM takes over the id and the other disks.
    """

    key: str
    reason: str
    new_disk: bool = False
    disks: tuple[str, ...] = ()


@fact("evacuation.requested", schema=1)
@dataclass(frozen=True, slots=True)
class EvacuationRequested:
    """The brokers on these instances are to be emptied and kept empty: they stay, and receive nothing any more.

    `targets`: ids of the brokers that may take what they hold, empty for every one that receives. A throttle of 0 is
    that of the spec, any other one bounds it.
    """

    keys: tuple[str, ...]
    reason: str
    targets: tuple[int, ...] = ()
    throttle_mib_per_s: int = 0


@fact("evacuation.completed", schema=1)
@dataclass(frozen=True, slots=True)
class EvacuationCompleted:
    """They hold no replica. `drain` is the one that did it, "" where nothing was there to move."""

    drain: str
    keys: tuple[str, ...]
    bytes: int
    moves: int


@fact("evacuation.ended", schema=1)
@dataclass(frozen=True, slots=True)
class EvacuationEnded:
    """They may receive replicas again; nothing is moved back by that."""

    keys: tuple[str, ...]
    reason: str


@fact("disk_moves.requested", schema=1)
@dataclass(frozen=True, slots=True)
class DiskMovesRequested:
    """Replicas of this broker (an id) are to move between its own log directories: off `path`, or, where that is "",
    until its disks are even. `bytes_per_s` bounds them all together, 0 where what the broker has stays in force.
    """

    broker: int
    path: str
    reason: str
    bytes_per_s: int = 0


@fact("disk_moves.throttled", schema=1)
@dataclass(frozen=True, slots=True)
class DiskMovesThrottled:
    """All of them together are to go at `bytes_per_s` from now on: recorded before the broker is told, so that it is
    known of a value in force that it is ours."""

    broker: int
    bytes_per_s: int
    reason: str


@fact("disk_moves.cancel_requested", schema=1)
@dataclass(frozen=True, slots=True)
class DiskMovesCancelRequested:
    """A person wants no more of them: what moves ends, nothing more begins."""

    broker: int
    reason: str


@fact("disk_moves.ended", schema=1)
@dataclass(frozen=True, slots=True)
class DiskMovesEnded:
    """Nothing moves there any more: it is done, a person wants no more, or it cannot be had. What moved stays."""

    broker: int
    reason: str


@fact("offline.fix_requested", schema=1)
@dataclass(frozen=True, slots=True)
class OfflineFixRequested:
    """A person gives these brokers (ids) up: what is on them while they do not serve, or in log directories of theirs
    that are offline while they do, is made anew on others."""

    brokers: tuple[int, ...]
    reason: str


@fact("offline.fix_ended", schema=1)
@dataclass(frozen=True, slots=True)
class OfflineFixEnded:
    """They are given up no more: nothing is left to be made anew, or they serve again with all their directories."""

    brokers: tuple[int, ...]
    reason: str
