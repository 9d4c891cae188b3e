"""How the voters of the controller quorum change, one at a time: part of a cluster's stream, see `facts`."""

from dataclasses import dataclass

from events.registry import fact


@fact("voter.add_requested", schema=1)
@dataclass(frozen=True, slots=True)
class VoterAddRequested:
    """A controller that has caught up is to get a vote. `directory_id` is the one on the disk it runs on."""

    change: str
    node: str
    id: int
    address: str
    port: int
    directory_id: str
    reason: str


@fact("voter.added", schema=1)
@dataclass(frozen=True, slots=True)
class VoterAdded:
    """The quorum counts it. `change` is "" where it was found so, and nobody of us had asked."""

    change: str
    node: str
    id: int
    address: str
    port: int
    directory_id: str


@fact("voter.remove_requested", schema=1)
@dataclass(frozen=True, slots=True)
class VoterRemoveRequested:
    """A voter is to leave the quorum. `leaves`: its node goes with it; else only the directory does, which is lost."""

    change: str
    node: str
    id: int
    directory_id: str
    leaves: bool
    reason: str


@fact("voter.removed", schema=1)
@dataclass(frozen=True, slots=True)
class VoterRemoved:
    """The quorum counts it no more. `change` is "" for a node that leaves and never had a vote."""

    change: str
    node: str
    id: int
    directory_id: str
    leaves: bool


@fact("voter.change_dropped", schema=1)
@dataclass(frozen=True, slots=True)
class VoterChangeDropped:
    """The controller that was to get a vote is not there any more, and has none."""

    change: str
    reason: str


@fact("volume.lost", schema=1)
@dataclass(frozen=True, slots=True)
class VolumeLost:
    """What a controller kept on this volume is gone for good. `proof` is `agent`: it sits on the VM, and has looked.

    Of a server beside a broker it is that directory alone: the broker has what it kept on the same volume.
    """

    key: str
    volume: str
    directory_id: str
    proof: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundingVoter:
    """One controller of the first quorum."""

    node: str
    id: int
    address: str
    port: int
    directory_id: str


@fact("quorum.founded", schema=1)
@dataclass(frozen=True, slots=True)
class QuorumFounded:
    """The first controllers, as they are written into the first checkpoint. Node id -> address, directory id.
    `first_producer_id`: where the cluster's own range of producer ids begins; None: it has none, or none is known."""

    kafka_cluster_id: str
    metadata_level: str
    voters: tuple[FoundingVoter, ...]
    first_producer_id: int | None = None
