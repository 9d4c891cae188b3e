"""Clusters that others made, and brokers that others run: part of a cluster's stream, see `facts`.

cluster.imported -> (pools join) -> drain.requested (no keys) ... external.drained -> its owner stops it
    -> external.stopped -> external.left
             ^------ external.returned: it serves again, or holds replicas again
"""

from dataclasses import dataclass

from events.quorum_facts import FoundingVoter
from events.registry import fact


@dataclass(frozen=True, slots=True)
class ExternalBrokerFound:
    """A broker that Kafka has and nobody of us made: its rack and its address, as Kafka tells them."""

    id: int
    rack: str
    host: str
    port: int


@fact("cluster.imported", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterImported:
    """Kafka's own metadata shows the cluster that the spec means: by its id, its quorum and its brokers.

    `metadata_level` as in `4.1`, "" for one this release has no name for. Ids below `next_broker_id` are taken.
    """

    kafka_cluster_id: str
    metadata_level: str
    voters: tuple[FoundingVoter, ...]
    brokers: tuple[ExternalBrokerFound, ...]
    next_broker_id: int


@fact("external.found", schema=1)
@dataclass(frozen=True, slots=True)
class ExternalFound:
    """Brokers that the spec names as others' and that were not known yet."""

    brokers: tuple[ExternalBrokerFound, ...]


@fact("external.quorum_changed", schema=1)
@dataclass(frozen=True, slots=True)
class ExternalQuorumChanged:
    """Its owner changed the quorum, and the spec says so: these are what new starts of ours are told."""

    voters: tuple[FoundingVoter, ...]


@fact("external.drained", schema=1)
@dataclass(frozen=True, slots=True)
class ExternalDrained:
    """Zero replicas in fresh metadata, no reassignment lists them: their owner may stop them. `drain` is "" where they
    held nothing anyway."""

    drain: str
    brokers: tuple[int, ...]
    bytes: int
    moves: int


@fact("external.stopped", schema=1)
@dataclass(frozen=True, slots=True)
class ExternalStopped:
    """An emptied broker is no live broker of Kafka's any more: somebody stopped it."""

    broker: int


@fact("external.returned", schema=1)
@dataclass(frozen=True, slots=True)
class ExternalReturned:
    """A broker that was empty, or stopped, counts again as one that serves."""

    broker: int
    reason: str


@fact("external.left", schema=1)
@dataclass(frozen=True, slots=True)
class ExternalLeft:
    """The id of a stopped, empty broker has left Kafka's registrations: the cluster has that broker no more."""

    broker: int
