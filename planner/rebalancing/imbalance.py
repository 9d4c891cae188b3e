"""How uneven a cluster is, in one figure: cheap enough for every look at it, so that a search is only begun for cause.

The optimiser's bands (goals.py) end at 9 % around the mean; a rebalance begins at a threshold well above that, and
above what the last one could not mend: what is within the bands, or cannot be helped, sets nothing in motion again.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from planner.balance.shares import levels, most_in_a_rack
from planner.observed import KafkaSnapshot

FIGURES = ("bytes", "replicas", "leaders")


def imbalance_percent(kafka: KafkaSnapshot, receivers: Collection[int]) -> float:
    """The largest deviation from a broker's even share among `receivers`, of bytes, replicas or leaders, in percent.

    What no spread can avoid is not counted: one whole log (the largest) for bytes, one for the others, and what racks
    of unequal size make of a share (`planner.balance.shares`). Bytes are shared in proportion to the disks where all
    are known. 0.0 with fewer than two receivers or nothing to share.
    """
    return max(deviations(kafka, receivers).values(), default=0.0)


def deviations(kafka: KafkaSnapshot, receivers: Collection[int]) -> Mapping[str, float]:
    """As `imbalance_percent`, figure by figure (`FIGURES`)."""
    brokers = sorted(receivers)
    if len(brokers) < 2:
        return dict.fromkeys(FIGURES, 0.0)
    racks = _racks(kafka, brokers)
    held: Counter[int] = Counter()
    stored: Counter[int] = Counter()
    led: Counter[int] = Counter()
    for partition in kafka.partitions:
        for broker in partition.target:
            held[broker] += 1
            stored[broker] += partition.size_bytes
        # Who is to lead: an election for the moment is no imbalance.
        led[partition.target[0] if partition.target else partition.leader] += 1
    sizes = np.array([p.size_bytes for p in kafka.partitions], dtype=np.float64)
    most = most_in_a_rack(np.array([len(p.target) for p in kafka.partitions], dtype=np.int64), len(racks))
    largest = float(sizes.max(initial=0.0))
    each = [1.0] * len(brokers)
    disks = _disks(kafka, brokers) or each
    return {
        "bytes": _worst(stored, brokers, _shares(stored, brokers, disks, racks, float(most @ sizes)), slack=largest),
        "replicas": _worst(held, brokers, _shares(held, brokers, each, racks, float(most.sum())), slack=1),
        "leaders": _worst(led, brokers, _shares(led, brokers, each, racks, len(kafka.partitions)), slack=1),
    }


def _worst(amount: Mapping[int, int], brokers: Sequence[int], shares: Sequence[float], *, slack: float) -> float:
    off = [(abs(amount.get(b, 0) - share) - slack) / share for b, share in zip(brokers, shares, strict=True) if share]
    return round(100 * max(0.0, *off), 1) if off else 0.0


def _shares(
    amount: Mapping[int, int],
    brokers: Sequence[int],
    weight: Sequence[float],
    racks: Sequence[Sequence[int]],
    most: float,
) -> list[float]:
    """What each broker should have of all they have, by weight; a rack no more than `most`."""
    by_rack = np.array([sum(weight[i] for i in rack) for rack in racks])
    total = np.array([float(sum(amount.get(b, 0) for b in brokers))])
    level = levels(total, by_rack, np.full((1, len(racks)), most))[0]
    share = {i: float(level[r]) * weight[i] for r, rack in enumerate(racks) for i in rack}
    return [share[i] for i in range(len(brokers))]


def _racks(kafka: KafkaSnapshot, brokers: Sequence[int]) -> list[list[int]]:
    """Places in `brokers`, rack by rack. Brokers of unknown rack are each a rack of their own: nothing is proved."""
    found: dict[str, list[int]] = {}
    for i, broker in enumerate(brokers):
        seen = kafka.brokers.get(broker)
        found.setdefault(seen.rack if seen is not None and seen.rack else f"broker {broker}", []).append(i)
    return list(found.values())


def _disks(kafka: KafkaSnapshot, brokers: Sequence[int]) -> list[float] | None:
    disks = [float(kafka.log_dirs[b].total_bytes) for b in brokers if b in kafka.log_dirs]
    return disks if len(disks) == len(brokers) and min(disks) > 0 else None
