"""Is the cluster whole? A failure nobody asked for counts against the disruption budget: with one open, none begins."""

from collections.abc import Collection

from controlplane.kafka.gates import Gate
from planner.observed import KafkaSnapshot, PartitionSeen


def cluster_is_whole(kafka: KafkaSnapshot, expected: Collection[int], *, excepted: frozenset[int]) -> Gate:
    """Open when every expected broker serves and every replica outside `excepted` brokers is in its ISR.

    `excepted` are the brokers to be worked on: a dead one among them is the reason for the work, not against it, and so
    are partitions without a leader that nobody else has.
    """
    down = sorted(set(expected) - kafka.live_brokers())
    if down:
        seen = kafka.brokers.get(down[0])
        return Gate(False, f"broker {down[0]}{f' (rack {seen.rack})' if seen else ''} is down")
    leaderless = [p for p in kafka.leaderless() if not excepted.issuperset(_holders(p))]
    if leaderless:
        return Gate(False, f"{len(leaderless)} partitions have no leader, {leaderless[0].name} among them")
    behind = out_of_sync(kafka, excepted=excepted)
    if behind:
        sentence = f"{len(behind)} partitions are under-replicated, {behind[0].name} among them"
        return Gate(False, f"{sentence} (ISR {list(behind[0].isr)} of {list(behind[0].target)})")
    return Gate(True, f"{len(kafka.live_brokers())} brokers serve, {len(kafka.partitions)} partitions in sync")


def _holders(partition: PartitionSeen) -> list[int]:
    """Who has it: not who is only about to get a copy."""
    return [r for r in partition.replicas if r not in partition.adding or r in partition.isr]


def out_of_sync(kafka: KafkaSnapshot, *, excepted: frozenset[int] = frozenset()) -> tuple[PartitionSeen, ...]:
    """Partitions with a replica that is to stay out of the ISR, those of `excepted` brokers not counted."""
    behind = kafka.under_replicated()
    return tuple(p for p in behind if any(r not in p.isr for r in p.target if r not in (*p.adding, *excepted)))
