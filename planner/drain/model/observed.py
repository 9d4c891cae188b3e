"""A cluster as it was seen, as a state file: what `kedge state export` writes and the server answers.

Whatever the metadata leaves open is said in `assumptions`, so that it reaches the certificate.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from events.spec.broker_sets import NO_SETS, BrokerSets
from planner.drain.model.capacity import FIGURES, Capacity, FigureOrigin, FigureSource, Resolved
from planner.drain.model.document import sets_entry
from planner.drain.model.observed_dirs import (
    DirsByReplica,
    dirs_by_replica,
    left_out,
    log_dir_entries,
    replica_paths,
    several_log_dirs,
)
from planner.drain.model.state import NO_RACK
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition

DISK_LIMIT = 0.85
FLOW_BYTES_PER_S = 70e6
"""What one partition's fetch reaches: 1 MiB per response (`replica.fetch.max.bytes`) and a round trip of 15 ms."""

UNKNOWN_RACK = "unknown"
"""The rack of a dead broker that nobody knows any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationPolicy:
    """What the metadata does not say. `racks` adds to what brokers report. `destinations` as in the state file.

    `write_bytes_per_s`: what is known of write rates, which come `write_rates_from` there (in words, with their age).
    `read_bytes_per_s`: what is known of what consumers fetch. `sets`: whose topics stay where.
    """

    disk_limit: float = DISK_LIMIT
    flow_bytes_per_s: float | None = None
    racks: Mapping[int, str] = field(default_factory=dict)
    outgoing: Collection[int] = ()
    destinations: Mapping[int, Sequence[int]] = field(default_factory=dict)
    write_bytes_per_s: Mapping[TopicPartition, float] = field(default_factory=dict)
    write_rates_from: str = ""
    read_bytes_per_s: Mapping[TopicPartition, float] = field(default_factory=dict)
    sets: BrokerSets = NO_SETS


class RacksMissing(ValueError):
    """Some brokers have a rack and these have none: no rule about racks can be kept."""

    def __init__(self, brokers: Sequence[int]) -> None:
        super().__init__(f"brokers {', '.join(map(str, brokers))} have no rack while others have one")
        self.brokers = tuple(brokers)


def brokers_of(snapshot: KafkaSnapshot) -> frozenset[int]:
    """Every broker the metadata names: registered, or only in a replica list (dead and forgotten)."""
    return frozenset(snapshot.brokers) | {b for p in snapshot.partitions for b in p.replicas}


def dead_brokers(snapshot: KafkaSnapshot) -> frozenset[int]:
    """Brokers that neither take nor give, so their figures may be missing."""
    return brokers_of(snapshot) - snapshot.live_brokers()


def measured_disks(snapshot: KafkaSnapshot) -> FigureSource:
    """What Kafka may use of the disks: its logs and what is free. Others' files on the same disk are not its own.

    A broker that did not answer, or is older than 3.3 and tells no totals (KIP-827), is not in it. One whose disk is
    full is.
    """
    sizes = {
        broker: seen.used_bytes + seen.usable_bytes
        for broker, seen in snapshot.log_dirs.items()
        if seen.total_bytes > 0 and seen.used_bytes + seen.usable_bytes > 0
    }
    return FigureSource(
        origin=FigureOrigin.MEASURED, by_broker={b: Capacity(disk_bytes=size) for b, size in sizes.items()}
    )


def observed_document(snapshot: KafkaSnapshot, capacity: Resolved, policy: ObservationPolicy) -> dict[str, Any]:
    """The state file. Figures that `capacity` misses are left out, which readers refuse for brokers that live.

    Raises RacksMissing.
    """
    racks, about_racks = _racks(snapshot, policy)
    dirs = several_log_dirs(snapshot, {b: known.disk_bytes for b, known in capacity.by_broker.items()})
    dirs_of = dirs_by_replica(dirs)
    document: dict[str, Any] = {
        "version": 1,
        "disk_limit": policy.disk_limit,
        "flow_bytes_per_s": policy.flow_bytes_per_s or FLOW_BYTES_PER_S,
        "brokers": [_broker(snapshot, b, racks[b], capacity.by_broker.get(b), policy) for b in sorted(racks)],
        "partitions": [_partition(p, policy, dirs_of) for p in snapshot.partitions],
        **sets_entry(policy.sets),
    }
    for broker in document["brokers"]:
        if broker["id"] in dirs:
            broker["log_dirs"] = log_dir_entries(snapshot, broker["id"], dirs[broker["id"]])
    leaving = dead_brokers(snapshot) | set(policy.outgoing)
    named = {str(b): list(to) for b, to in sorted(policy.destinations.items()) if to and b in leaving and b in racks}
    if named:
        document["destinations"] = named
    document["assumptions"] = [
        *about_racks,
        *capacity.assumptions,
        *_assumptions(snapshot, policy),
        *left_out(snapshot, dirs),
    ]
    return document


def _racks(snapshot: KafkaSnapshot, policy: ObservationPolicy) -> tuple[dict[int, str], list[str]]:
    """The rack of every broker there is, and what had to be taken for granted."""
    ids = brokers_of(snapshot)
    said = {b: snapshot.brokers[b].rack for b in ids if b in snapshot.brokers and snapshot.brokers[b].rack}
    known = {**said, **{b: rack for b, rack in policy.racks.items() if b in ids}}
    if not known:
        return dict.fromkeys(ids, NO_RACK), ["no broker has a rack: no rule about racks was kept"]
    lacking = ids - set(known)
    alive = sorted(lacking & snapshot.live_brokers())
    if alive:
        raise RacksMissing(alive)
    lines = [f"the rack of dead broker {b} is not known: taken as one of its own" for b in sorted(lacking)]
    return {**known, **{b: f"{UNKNOWN_RACK}-{b}" for b in lacking}}, lines


def _broker(
    snapshot: KafkaSnapshot, broker: int, rack: str, capacity: Capacity | None, policy: ObservationPolicy
) -> dict[str, Any]:
    state = "active"
    if broker not in snapshot.live_brokers():
        state = "dead"
    elif broker in policy.outgoing:
        state = "outgoing"
    figures = {str(name): capacity.of(name) for name in FIGURES} if capacity else {}
    known = {name: value for name, value in figures.items() if value is not None}
    return {"id": broker, "rack": rack, "state": state, **known}


def _partition(seen: PartitionSeen, policy: ObservationPolicy, dirs_of: DirsByReplica) -> dict[str, Any]:
    """A partition that is being moved is taken as it will be."""
    replicas = list(seen.target)
    isr = [b for b in seen.isr if b in replicas]
    leader = seen.leader if seen.leader in isr else next(iter(isr), None) if seen.is_moving else None
    written, read = policy.write_bytes_per_s.get(seen.name), policy.read_bytes_per_s.get(seen.name)
    paths = replica_paths(dirs_of, seen.name, replicas) if dirs_of else []
    return {
        "topic": seen.name.topic,
        "partition": seen.name.partition,
        "replicas": replicas,
        "leader": leader,
        "isr": isr,
        "min_isr": max(1, min(seen.min_isr, len(replicas))),
        "size_bytes": seen.size_bytes,
        **({} if written is None else {"write_bytes_per_s": written}),
        **({} if read is None else {"read_bytes_per_s": read}),
        **({"log_dirs": paths} if any(paths) else {}),
    }


def _assumptions(snapshot: KafkaSnapshot, policy: ObservationPolicy) -> Iterator[str]:
    if policy.flow_bytes_per_s is None:
        yield f"one partition's copy runs at {FLOW_BYTES_PER_S:g} bytes/s (1 MiB per round trip of 15 ms)"
    rated = sum(p.name in policy.write_bytes_per_s for p in snapshot.partitions)
    if rated and policy.write_rates_from:
        yield f"write rates of {rated} of {len(snapshot.partitions)} partitions: {policy.write_rates_from}"
    moving = [p for p in snapshot.partitions if p.is_moving]
    if moving:
        yield f"a reassignment of {_some(moving)} is under way: taken as it will be when that is over"
    unsized = [p for p in snapshot.partitions if not p.size_bytes and not snapshot.log_dirs.keys() & set(p.replicas)]
    if unsized:
        yield f"the size of {_some(unsized)} is not known, no log dir with them was told: counted as 0 bytes"


def _some(partitions: Iterable[PartitionSeen], most: int = 3) -> str:
    names = [str(p.name) for p in partitions]
    head = ", ".join(names[:most])
    count = f"{len(names)} partition{'s' * (len(names) != 1)}"
    return f"{count} ({head}{' ...' if len(names) > most else ''})"
