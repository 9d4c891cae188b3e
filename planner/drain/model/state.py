"""The cluster a plan is made for, as struct of arrays: small enough to cross a process, fast enough for kernels.

Inside, brokers are *rows* (0 .. B-1 in ascending id), never ids; topics are codes. Ids and names come back only
at the edges (planner.drain.model.document, .arrow).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from events.spec.broker_sets import NO_SETS, BrokerSets
from planner.drain.model.hardware import Hardware
from planner.drain.model.volumes import Volumes

Int8s: TypeAlias = npt.NDArray[np.int8]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]

NO_BROKER = -1
"""No broker: the padding of replica lists, a partition without a leader, an entry without a chosen source."""

NO_RACK = "none"
"""The rack of everybody where nobody has one: rules about racks then bind nobody."""

NOWHERE = -1
"""No log directory: where a replica is, or is to go, is not known or left to Kafka."""


class BrokerState(IntEnum):
    """What a broker is to a plan. ACTIVE and NEW may receive; replicas on OUTGOING and DEAD have to leave.

    NEW is an ACTIVE broker that is empty by design (a successor, a surge). DEAD can neither receive nor be read.
    """

    ACTIVE = 0
    OUTGOING = 1
    NEW = 2
    DEAD = 3


@dataclass(frozen=True, slots=True, eq=False)
class Brokers:
    """B brokers, ascending by id. `rack` is a code into `racks`; a broker without a rack is refused at the edge.

    `ingress_bytes_per_s` and `egress_bytes_per_s` are what migration may use: head-room, client traffic and steady
    replication are already taken off. `disk_bytes` is the whole of the disk (log dirs together).
    """

    id: Int32s
    rack: Int32s
    racks: tuple[str, ...]
    state: Int8s
    disk_bytes: Int64s
    ingress_bytes_per_s: Floats
    egress_bytes_per_s: Floats

    def __len__(self) -> int:
        return int(self.id.size)

    @property
    def may_receive(self) -> Bools:
        may: Bools = (self.state == BrokerState.ACTIVE) | (self.state == BrokerState.NEW)
        return may

    @property
    def must_empty(self) -> Bools:
        """OUTGOING and DEAD: the drained brokers of every measure."""
        must: Bools = ~self.may_receive
        return must


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """P partitions. `replicas`: int32[P, W] broker rows in preferred order, padded on the right with NO_BROKER.

    `in_sync`: bool[P, W], aligned with `replicas`. `leader`: a broker row or NO_BROKER. `size_bytes` is one copy of
    the local log. Rates are bytes/s into the leader and to consumers; NaN when nobody measured them.
    """

    topics: tuple[str, ...]
    topic: Int32s
    partition: Int32s
    replicas: Int32s
    in_sync: Bools
    leader: Int32s
    min_isr: Int32s
    size_bytes: Int64s
    write_bytes_per_s: Floats
    read_bytes_per_s: Floats

    def __len__(self) -> int:
        return int(self.topic.size)


@dataclass(frozen=True, slots=True, eq=False)
class LogDirs:
    """D log directories, ascending by `broker` (a row) and path, of the brokers whose directories are known.

    `used_bytes`: int64[D], in use on each one's disk, logs and anything else. `located`: int32[P, W], aligned with
    `replicas`: the directory (0 .. D-1) a replica is in, NOWHERE where that is not known.
    """

    broker: Int32s
    path: tuple[str, ...]
    disk_bytes: Int64s
    used_bytes: Int64s
    located: Int32s

    def __len__(self) -> int:
        return len(self.path)

    def first_of(self, brokers: int) -> Int64s:
        """int64[brokers + 1]: the directories of broker row b are first[b] .. first[b + 1] - 1."""
        first: Int64s = np.searchsorted(self.broker, np.arange(brokers + 1)).astype(np.int64)
        return first


@dataclass(frozen=True, slots=True, eq=False)
class ClusterState:
    """One cluster at one moment, with the policy every judge must share.

    `disk_limit`: fraction of a disk that may ever be used (H4). `flow_bytes_per_s`: what one partition's fetch
    reaches. `destinations`: drained broker row -> the only rows that may take what leaves it (roll-forward).
    `log_dirs`: None where no broker's directories are known. `hardware`: None where nobody knows any.
    `sets`: whose topics stay on which brokers.
    `volumes`: what migration may use of them; None where no limit is known, or the bandwidths leave them out still
    (`planner.drain.solver.volumes`).
    """

    brokers: Brokers
    partitions: Partitions
    disk_limit: float
    flow_bytes_per_s: float
    destinations: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    log_dirs: LogDirs | None = None
    hardware: Hardware | None = None
    volumes: Volumes | None = None
    sets: BrokerSets = NO_SETS

    def within_sets(self) -> "ClusterState":
        """The same where what leaves a broker that is sent nowhere goes to others of its set."""
        ids, able = self.brokers.id.tolist(), np.flatnonzero(self.brokers.may_receive).tolist()
        leaving = [row for row in np.flatnonzero(self.brokers.must_empty).tolist() if row not in self.destinations]
        if not self.sets or not leaving:
            return self
        own = {row: tuple(b for b in able if self.sets.set_of(ids[b]) == self.sets.set_of(ids[row])) for row in leaving}
        return replace(self, destinations={**self.destinations, **own})
