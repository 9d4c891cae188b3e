"""How uneven a cluster is, in one figure: cheap enough for every look at it, so that a search is only begun for cause.

The optimiser's bands (goals.py) end at 9 % around the mean; a rebalance begins at a threshold well above that, and
above what the last one could not mend: what is within the bands, or cannot be helped, sets nothing in motion again.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from planner.observed import KafkaSnapshot

FIGURES = ("bytes", "replicas", "leaders")


def imbalance_percent(kafka: KafkaSnapshot, receivers: Collection[int]) -> float:
    """The largest deviation from a broker's even share among `receivers`, of bytes, replicas or leaders, in percent.

    What no spread can avoid is not counted: one whole log (the largest) for bytes, one for the others. Bytes are
    shared in proportion to the disks where all are known. 0.0 with fewer than two receivers or nothing to share.
    """
    return max(deviations(kafka, receivers).values(), default=0.0)


def deviations(kafka: KafkaSnapshot, receivers: Collection[int]) -> Mapping[str, float]:
    """As `imbalance_percent`, figure by figure (`FIGURES`)."""
    brokers = sorted(receivers)
    if len(brokers) < 2:
        return dict.fromkeys(FIGURES, 0.0)
    held: Counter[int] = Counter()
    stored: Counter[int] = Counter()
    led: Counter[int] = Counter()
    for partition in kafka.partitions:
        for broker in partition.target:
            held[broker] += 1
            stored[broker] += partition.size_bytes
        # Who is to lead: an election for the moment is no imbalance.
        led[partition.target[0] if partition.target else partition.leader] += 1
    largest = max((p.size_bytes for p in kafka.partitions), default=0)
    shares = _disk_shares(kafka, brokers)
    even = {broker: 1 / len(brokers) for broker in brokers}
    return {
        "bytes": _worst(stored, shares or even, slack=largest),
        "replicas": _worst(held, even, slack=1),
        "leaders": _worst(led, even, slack=1),
    }


def _worst(amount: Mapping[int, int], shares: Mapping[int, float], *, slack: float) -> float:
    total = sum(amount.get(b, 0) for b in shares)
    off = [(abs(amount.get(b, 0) - total * share) - slack) / (total * share) for b, share in shares.items() if total]
    return round(100 * max(0.0, *off), 1) if off else 0.0


def _disk_shares(kafka: KafkaSnapshot, brokers: Collection[int]) -> Mapping[int, float] | None:
    disks = {b: kafka.log_dirs[b].total_bytes for b in brokers if b in kafka.log_dirs}
    total = sum(disks.values())
    if len(disks) < len(brokers) or min(disks.values()) <= 0:
        return None
    return {b: size / total for b, size in disks.items()}
