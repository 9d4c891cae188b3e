"""What is fixed of a cluster that keeps its metadata in ZooKeeper: part of a cluster's stream, see `facts`."""

from dataclasses import dataclass

from events.registry import fact


@dataclass(frozen=True, slots=True)
class FoundingServer:
    """One server of the first ensemble. Its id, address and disk belong to its node; `port` is for clients."""

    node: str
    id: int
    address: str
    port: int
    directory_id: str


@fact("ensemble.founded", schema=1)
@dataclass(frozen=True, slots=True)
class EnsembleFounded:
    """The first servers, each of which starts as a participant. `protocol_version` is the
    `inter.broker.protocol.version` of the first brokers, as in `3.8`."""

    kafka_cluster_id: str
    protocol_version: str
    servers: tuple[FoundingServer, ...]


@fact("ensemble.cluster_id_fixed", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterIdFixed:
    """ZooKeeper holds the cluster's id: brokers may start now, a first one would have made up another."""

    kafka_cluster_id: str


@fact("protocol.raised", schema=1)
@dataclass(frozen=True, slots=True)
class ProtocolRaised:
    """From now on brokers are started with this `inter.broker.protocol.version`. There is no way back."""

    before: str
    after: str
    reason: str
