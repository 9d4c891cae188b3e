"""How a cluster goes from ZooKeeper to KRaft, and back while it can: part of a cluster's stream, see `facts`."""

from dataclasses import dataclass

from events.quorum_facts import FoundingVoter
from events.registry import fact


@fact("migration.begun", schema=1)
@dataclass(frozen=True, slots=True)
class MigrationBegun:
    """The spec of this generation asks for mode `kraft`, and the cluster was whole: its controllers are made now."""

    generation: int
    reason: str


@fact("migration.quorum_founded", schema=1)
@dataclass(frozen=True, slots=True)
class MigrationQuorumFounded:
    """The controllers that are to take the metadata over, as they are written into their first checkpoint. The
    cluster's id stays the one it has in ZooKeeper."""

    metadata_level: str
    voters: tuple[FoundingVoter, ...]


@fact("migration.service_started", schema=1)
@dataclass(frozen=True, slots=True)
class MigrationServiceStarted:
    """These services (of one kind, by id) are started anew. `knows` is what they are told: `the ensemble`, `both` or
    `the quorum`. `ends_way_back`: from here on there is no way back to ZooKeeper."""

    service: str
    ids: tuple[int, ...]
    knows: str
    ends_way_back: bool
    reason: str


@fact("migration.service_stopped", schema=1)
@dataclass(frozen=True, slots=True)
class MigrationServiceStopped:
    """These services are told to stop; that they did is their agents' to prove."""

    service: str
    ids: tuple[int, ...]
    reason: str


@fact("migration.turned", schema=1)
@dataclass(frozen=True, slots=True)
class MigrationTurned:
    """The spec asks for the other mode now. `goal` is `kraft` or `zookeeper`."""

    goal: str
    generation: int
    reason: str


@fact("migration.ended", schema=1)
@dataclass(frozen=True, slots=True)
class MigrationEnded:
    """The cluster keeps its metadata in `mode` (`kraft` or `zookeeper`) and nowhere else; whom that leaves without
    work retires like any other node that is not wanted."""

    mode: str
    reason: str
