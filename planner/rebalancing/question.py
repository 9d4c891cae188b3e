"""A rebalance request together with the cluster it is about: one value, so that an answer depends on nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from planner.observed import (
    BrokerSeen,
    KafkaSnapshot,
    LogDirSeen,
    LogDirsSeen,
    PartitionSeen,
    QuorumSeen,
    ThrottlesSeen,
    TopicPartition,
)
from planner.rebalancing.request import RebalanceRequest

_UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RebalanceQuestion:
    """`cluster` holds what a plan is made from and no more, in one order: equal clusters give equal questions."""

    request: RebalanceRequest
    cluster: KafkaSnapshot


def question_of(request: RebalanceRequest, snapshot: KafkaSnapshot) -> RebalanceQuestion:
    """The request about the cluster as the snapshot shows it. Rates of partitions that are not there are left out."""
    names = frozenset(p.name for p in snapshot.partitions)
    rates = {name: rate for name, rate in sorted(request.write_bytes_per_s.items()) if name in names}
    reads = {name: rate for name, rate in sorted(request.read_bytes_per_s.items()) if name in names}
    cluster = planned_on(
        brokers={b: (seen.rack, seen.fenced) for b, seen in sorted(snapshot.brokers.items())},
        partitions=tuple(_partition(p) for p in sorted(snapshot.partitions, key=lambda p: p.name)),
        log_dirs={b: _log_dirs(seen, names) for b, seen in sorted(snapshot.log_dirs.items())},
    )
    return RebalanceQuestion(replace(request, write_bytes_per_s=rates, read_bytes_per_s=reads), cluster)


def planned_on(
    *,
    brokers: Mapping[int, tuple[str, bool]],
    partitions: tuple[PartitionSeen, ...],
    log_dirs: Mapping[int, LogDirsSeen],
) -> KafkaSnapshot:
    """A snapshot of just that. `brokers`: id -> rack, and whether it is fenced."""
    return KafkaSnapshot(
        at=_UNDATED,
        cluster_id="",
        brokers={b: BrokerSeen(b, rack, fenced, "", 0) for b, (rack, fenced) in brokers.items()},
        partitions=partitions,
        quorum=QuorumSeen(-1, 0, ()),
        features={},
        log_dirs=log_dirs,
        throttles=ThrottlesSeen(),
    )


def _partition(seen: PartitionSeen) -> PartitionSeen:
    return PartitionSeen(
        name=seen.name,
        leader=seen.leader,
        replicas=seen.replicas,
        isr=seen.isr,
        min_isr=seen.min_isr,
        adding=seen.adding,
        removing=seen.removing,
        size_bytes=seen.size_bytes,
    )


def _log_dirs(seen: LogDirsSeen, names: frozenset[TopicPartition]) -> LogDirsSeen:
    return replace(seen, dirs=tuple(_log_dir(d, names) for d in seen.dirs))


def _log_dir(seen: LogDirSeen, names: frozenset[TopicPartition]) -> LogDirSeen:
    return replace(seen, replicas=seen.replicas & names)
