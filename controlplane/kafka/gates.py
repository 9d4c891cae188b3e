"""Questions that are asked before something irreversible or disruptive. Pure: a snapshot in, yes or no with
numbers out.

A gate judges what the snapshot says; whether the snapshot is young enough is the caller's to decide.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from controlplane.kafka.quorum import STEADY_S, keeps_up, silence
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition, VoterSeen

_NAMED = 3
"""Partitions named in a reason; the rest is a count."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Open or closed, and why."""

    open: bool
    reason: str


def may_stop_broker(snapshot: KafkaSnapshot, broker: int, *, allow_unavailable: frozenset[str] = frozenset()) -> Gate:
    """Open when stopping the broker takes no partition below its min ISR and disturbs none that is below
    already.

    Replicas that a running move is about to remove do not count as survivors: they may be gone a moment
    later. Topics in `allow_unavailable` are not looked at.
    """
    seen = snapshot.brokers.get(broker)
    if seen is None:
        return Gate(False, f"broker {broker} is not registered, so nothing is known of its replicas")
    if seen.fenced:
        return Gate(True, f"broker {broker} is fenced: it serves no replica now")
    hosted = [p for p in snapshot.hosted_by(broker) if p.name.topic not in allow_unavailable]
    below = below_min_isr(hosted)
    if below:
        return Gate(False, f"{_count(below)} on broker {broker} below min ISR already, e.g. {_isr_of(below)}")
    blocked = falling_without(hosted, broker)
    if blocked:
        return Gate(False, f"{_count(blocked)} would fall below min ISR without broker {broker}: {_isr_of(blocked)}")
    return Gate(True, f"all {len(hosted)} partitions on broker {broker} keep their min ISR without it")


def below_min_isr(partitions: Iterable[PartitionSeen]) -> tuple[PartitionSeen, ...]:
    """Partitions with fewer replicas in sync than writes need."""
    return tuple(p for p in partitions if len(p.isr) < p.min_isr)


def falling_without(partitions: Iterable[PartitionSeen], broker: int) -> tuple[PartitionSeen, ...]:
    """Partitions that would have fewer replicas in sync than writes need once this broker has stopped."""
    return tuple(p for p in partitions if broker in p.isr and _survivors(p, broker) < p.min_isr)


def falling_without_all(
    partitions: Iterable[PartitionSeen], brokers: Collection[int], *, excused: Collection[str] = ()
) -> tuple[PartitionSeen, ...]:
    """Partitions that would have fewer replicas in sync than writes need once all of these brokers have stopped.

    Topics in `excused` may fall below their min ISR by one broker's stop. That is no leave to take a second replica of
    the same partition away: they count where they have more than one on these brokers.
    """
    gone = frozenset(brokers)
    return tuple(
        p
        for p in partitions
        if (
            len(gone.intersection(p.replicas)) > 1
            if p.name.topic in excused
            else not gone.isdisjoint(p.isr) and sum(r not in gone and r not in p.removing for r in p.isr) < p.min_isr
        )
    )


def may_move(
    partition: PartitionSeen, target: tuple[int, ...], *, allow_unavailable: frozenset[str] = frozenset()
) -> Gate:
    """Open when the partition stays writable while it moves to `target`.

    A move first assigns old and new replicas together, and brokers apply min(configured, assigned): a topic
    with one replica and `min.insync.replicas=2` takes writes at rest, but refuses them for as long as its
    copy runs (seen on 4.1.1).
    """
    assigned = len(set(partition.replicas) | set(target))
    applied = min(max(partition.configured_min_isr, partition.min_isr), assigned)
    if partition.name.topic in allow_unavailable or len(partition.isr) >= applied or applied <= partition.min_isr:
        return Gate(True, f"{partition.name} keeps {len(partition.isr)} in sync, {applied} needed while it moves")
    return Gate(
        False,
        f"{partition.name} would refuse writes while it moves: {assigned} replicas are assigned then, so min ISR "
        f"{applied} of the configured {partition.configured_min_isr} applies, and {len(partition.isr)} is in sync",
    )


def hosts_nothing(snapshot: KafkaSnapshot, broker: int) -> Gate:
    """Open when the metadata names the broker in no replica list and no move. Says nothing about its
    disks."""
    hosted = snapshot.hosted_by(broker)
    if hosted:
        moving = sum(p.is_moving for p in hosted)
        return Gate(
            False,
            f"{_count(hosted)} on broker {broker} ({moving} of them moving), e.g. {_names(p.name for p in hosted)}",
        )
    return Gate(True, f"no replica and no move names broker {broker}")


def broker_is_empty(snapshot: KafkaSnapshot, broker: int) -> Gate:
    """Open when a live broker holds nothing: no replica in the metadata, no move, and log dirs that say so
    themselves. A directory that is offline holds nothing anybody could read: of it the metadata's word is enough."""
    metadata = hosts_nothing(snapshot, broker)
    if not metadata.open:
        return metadata
    disks = snapshot.log_dirs.get(broker) or snapshot.failed_dirs.get(broker)
    if disks is None:
        return Gate(False, f"broker {broker} did not answer for its log dirs: empty is not known")
    if disks.replicas or disks.used_bytes:
        return Gate(
            False,
            f"broker {broker} still has {disks.replicas} replicas with {disks.used_bytes} bytes on its disks",
        )
    return Gate(True, f"broker {broker} holds 0 replicas, its log dirs are empty, no move names it")


def may_stop_controller(
    snapshot: KafkaSnapshot, controller: int, *, gone: Collection[int] = (), allow_outage: bool = False
) -> Gate:
    """Open when the other voters are all caught up and are a majority without this one. `gone` are known to be gone,
    whatever the metadata says of them.

    A quorum of one or two has no majority left: `allow_outage` opens the gate for it, not for voters that
    lag.
    """
    voters = [m for m in snapshot.quorum.members if m.is_voter]
    if controller not in {m.id for m in voters}:
        return Gate(True, f"controller {controller} is not a voter")
    others = [m for m in voters if m.id != controller]
    if missing := sorted(m.id for m in others if m.id in gone):
        return Gate(False, f"controller {controller} is needed, the VM of controller {missing[0]} is gone")
    late = [m for m in others if not is_following(m) or m.silent_s >= STEADY_S]
    if late:
        return Gate(False, f"controller {controller} is needed, others are not caught up: {lags(late)}")
    needed = len(voters) // 2 + 1
    if len(others) < needed and not allow_outage:
        return Gate(False, f"{len(others)} of {len(voters)} voters would remain, a majority is {needed}")
    return Gate(True, f"{len(others)} other voters of {len(voters)} are caught up, a majority is {needed}")


def is_following(member: VoterSeen) -> bool:
    """Whether this member of the quorum keeps up with its leader, by what it lags and how long it is silent."""
    return keeps_up(member.lag, member.silent_s)


def _survivors(partition: PartitionSeen, broker: int) -> int:
    """In-sync replicas that are there for sure once the broker has stopped."""
    return sum(1 for r in partition.isr if r != broker and r not in partition.removing)


def _count(partitions: Iterable[PartitionSeen]) -> str:
    n = len(list(partitions))
    return f"{n} partition{'' if n == 1 else 's'}"


def _isr_of(partitions: Iterable[PartitionSeen]) -> str:
    return _names(f"{p.name} (ISR {list(p.isr)}, min {p.min_isr})" for p in partitions)


def _names(names: Iterable[TopicPartition | str]) -> str:
    all_names = [str(n) for n in names]
    rest = len(all_names) - _NAMED
    return ", ".join(all_names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def lags(members: Iterable[VoterSeen]) -> str:
    """How far each of them is behind, in words."""
    return ", ".join(f"{m.id} is {m.lag} records behind, {silence(m.silent_s)}" for m in members)
