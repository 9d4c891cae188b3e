"""What a drain is asked to do: one value with policy and cluster, so an answer depends on nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.spec.broker_sets import NO_SETS, BrokerSets
from planner.drain.arrays import ClusterModel, model_of
from planner.drain.certificate import BandwidthSource
from planner.observed import KafkaSnapshot, TopicPartition

MAX_MOVES_PER_CALL = 10_000
"""Kafka's controller applies the first 10,000 records of one request and refuses the rest (KAFKA-14996)."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What one broker can take in, and give out, for replication and clients together, bytes/s each way."""

    bytes_per_s: int
    source: BandwidthSource
    by_broker: Mapping[int, int] = field(default_factory=dict)

    def of(self, broker: int) -> int:
        return self.by_broker.get(broker, self.bytes_per_s)


@dataclass(frozen=True, slots=True)
class VolumeLimits:
    """What all volumes of a broker read and write together, bytes/s; of a broker that is missing nobody knows it.
    `told`: who says so, in sentences for the certificate.
    """

    bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    told: tuple[str, ...] = ()


NO_VOLUMES = VolumeLimits()


@dataclass(frozen=True, slots=True)
class TlsLimits:
    """What brokers encrypt and decrypt for one another, bytes/s each way, all replication and the clients' share
    together. Empty where they speak plaintext. `told`: what that rests on, in sentences for the certificate.
    """

    into: Mapping[int, float] = field(default_factory=dict)
    out: Mapping[int, float] = field(default_factory=dict)
    told: tuple[str, ...] = ()


NO_TLS = TlsLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRequest:
    """Empty the `outgoing` brokers; only `targets` may receive. `successors` maps an old broker to its
    replacement.

    `client_fraction` of each broker's bandwidth is left to clients; no throttle is set above the cap.
    `allow_partial`: when not all can be placed, the refusal carries a plan of what can.
    `write_rates_from`: where the known write rates come from and how old they are, in words; "" when nobody said.
    `read_bytes_per_s`: what consumers fetch of a broker, where it is known. `sets`: what leaves a broker that has no
    successor goes to brokers of the same set.
    """

    cluster_uid: str
    drain_id: str
    round: int
    outgoing: tuple[int, ...]
    targets: tuple[int, ...]
    cluster: ClusterModel
    bandwidth: Bandwidth
    successors: Mapping[int, int] = field(default_factory=dict)
    disk_limit_fraction: float = 0.9
    client_fraction: float = 0.25
    throttle_cap_bytes_per_s: int | None = None
    allow_partial: bool = False
    write_rates_from: str = ""
    volumes: VolumeLimits = NO_VOLUMES
    tls: TlsLimits = NO_TLS
    read_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    sets: BrokerSets = NO_SETS

    def __post_init__(self) -> None:
        problem = _contradiction(self)
        if problem:
            raise ValueError(f"drain request {self.drain_id} of cluster {self.cluster_uid}: {problem}")

    @classmethod
    def from_snapshot(
        cls,
        snapshot: KafkaSnapshot,
        *,
        cluster_uid: str,
        drain_id: str,
        outgoing: tuple[int, ...],
        targets: tuple[int, ...],
        bandwidth: Bandwidth,
        round: int = 1,  # noqa: A002 the word of the wire and of the events
        successors: Mapping[int, int] | None = None,
        write_bytes_per_s: Mapping[TopicPartition, int] | None = None,
        disk_limit_fraction: float = 0.9,
        client_fraction: float = 0.25,
        throttle_cap_bytes_per_s: int | None = None,
        allow_partial: bool = False,
        write_rates_from: str = "",
        volumes: VolumeLimits = NO_VOLUMES,
        tls: TlsLimits = NO_TLS,
        read_bytes_per_s: Mapping[int, float] | None = None,
        sets: BrokerSets = NO_SETS,
    ) -> "DrainRequest":
        """A request about the cluster as the snapshot shows it; ValueError when it contradicts itself."""
        return cls(
            cluster_uid=cluster_uid,
            drain_id=drain_id,
            round=round,
            outgoing=outgoing,
            targets=targets,
            cluster=model_of(snapshot, write_bytes_per_s),
            bandwidth=bandwidth,
            successors=dict(successors or {}),
            disk_limit_fraction=disk_limit_fraction,
            client_fraction=client_fraction,
            throttle_cap_bytes_per_s=throttle_cap_bytes_per_s,
            allow_partial=allow_partial,
            write_rates_from=write_rates_from,
            volumes=volumes,
            tls=tls,
            read_bytes_per_s=dict(read_bytes_per_s or {}),
            sets=sets,
        )


def _contradiction(request: DrainRequest) -> str | None:
    both = sorted(set(request.outgoing) & set(request.targets))
    strays = sorted(set(request.successors) - set(request.outgoing))
    unlisted = sorted(set(request.successors.values()) - set(request.targets))
    checks = (
        (not request.outgoing, "no outgoing broker is named"),
        (bool(both), f"brokers {both} are to be emptied and to receive"),
        (bool(strays), f"brokers {strays} have a successor but are not outgoing"),
        (bool(unlisted), f"successors {unlisted} are not among the targets"),
        (len(set(request.successors.values())) < len(request.successors), "two brokers share one successor"),
        (request.round < 1, f"round {request.round}: rounds count from 1"),
        (request.bandwidth.bytes_per_s <= 0, "bandwidth must be above 0 bytes/s"),
        (
            any(rate <= 0 for rate in request.bandwidth.by_broker.values()),
            "bandwidth must be above 0 bytes/s",
        ),
        (
            any(not rate > 0 for rate in request.volumes.bytes_per_s.values()),
            "what volumes do must be above 0 bytes/s: leave out what is not known",
        ),
        (
            any(not rate > 0 for way in (request.tls.into, request.tls.out) for rate in way.values()),
            "what brokers encrypt must be above 0 bytes/s: leave out what is not known",
        ),
        (not 0 < request.disk_limit_fraction <= 1, "disk_limit_fraction must be in (0, 1]"),
        (not 0 <= request.client_fraction < 1, "client_fraction must be in [0, 1)"),
        (
            request.throttle_cap_bytes_per_s is not None and request.throttle_cap_bytes_per_s <= 0,
            "the throttle cap must be above 0 bytes/s",
        ),
    )
    return "; ".join(dict.fromkeys(text for wrong, text in checks if wrong)) or None
