"""What no plan can beat, computed from the request alone. Shares no code with the kernel it judges.

L1: bytes that must be copied. L2a: ingress of every set of targets that alone may take some moves. L2b:
egress of all brokers together, and of a broker that holds the only in-sync copy. L2c: the longest log over
the fastest pair.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.drain.model import ClusterModel, Int64s
from planner.drain.request import DrainRequest

_MOST_TARGET_SETS = 512


@dataclass(frozen=True, slots=True)
class Bounds:
    """`bytes`: least bytes to copy. `makespan_s`: least seconds, given the rates."""

    bytes: int
    makespan_s: float


def bounds_of(
    request: DrainRequest,
    rows: Sequence[int],
    *,
    out_bytes_per_s: Mapping[int, float],
    in_bytes_per_s: Mapping[int, float],
) -> Bounds:
    """Bounds for moving these model rows off the outgoing brokers. Rates: what a broker can give, take."""
    model = request.cluster
    chosen = np.asarray(rows, dtype=np.int64)
    size = model.size_bytes[chosen]
    copied = size * np.isin(model.replicas[chosen], request.outgoing).sum(axis=1)
    total, longest = int(copied.sum()), int(size.max(initial=0))
    fastest = min(max(out_bytes_per_s.values(), default=0.0), max(in_bytes_per_s.values(), default=0.0))
    sole = _bytes_of_sole_sources(model, chosen, copied)
    times = [
        _ingress_s(_bytes_by_targets(request, chosen, copied, set(in_bytes_per_s)), in_bytes_per_s),
        total / sum(out_bytes_per_s.values()) if total else 0.0,
        max((n / out_bytes_per_s[b] for b, n in sole.items() if n), default=0.0),
        longest / fastest if longest else 0.0,
    ]
    return Bounds(bytes=total, makespan_s=max(times))


def _bytes_by_targets(
    request: DrainRequest, rows: Int64s, copied: Int64s, targets: set[int]
) -> dict[frozenset[int], int]:
    """Bytes to copy per set of targets that may take them; partitions with equal replica lists are one class."""
    brokers = request.cluster.brokers
    rack = dict(zip(brokers.id.tolist(), brokers.rack.tolist(), strict=True))
    lists, where = np.unique(request.cluster.replicas[rows], axis=0, return_inverse=True)
    sums = np.zeros(len(lists), dtype=np.int64)
    np.add.at(sums, where.ravel(), copied)
    into: dict[frozenset[int], int] = defaultdict(int)
    for ids, size in zip(lists.tolist(), sums.tolist(), strict=True):
        into[_may_receive(tuple(b for b in ids if b >= 0), request, targets, rack)] += size
    return into


def _bytes_of_sole_sources(model: ClusterModel, rows: Int64s, copied: Int64s) -> dict[int, int]:
    """Bytes per broker that only it can serve: nobody else is in sync."""
    isr = model.isr[rows]
    alone = (isr >= 0).sum(axis=1) == 1
    served: dict[int, int] = defaultdict(int)
    for broker, size in zip(isr[alone].max(axis=1).tolist(), copied[alone].tolist(), strict=True):
        served[broker] += size
    return served


def _may_receive(
    replicas: tuple[int, ...], request: DrainRequest, targets: set[int], rack: Mapping[int, int]
) -> frozenset[int]:
    """Targets that may take *some* outgoing replica of the list (a superset keeps the bound valid)."""
    leaving = [b for b in replicas if b in request.outgoing]
    heirs = {request.successors[b] for b in leaving if b in request.successors}
    if len(heirs) == len(leaving) and not heirs & set(replicas):
        return frozenset(heirs)
    staying = [b for b in replicas if b not in request.outgoing]
    needed = len({rack[b] for b in replicas})
    kept = {rack[b] for b in staying}
    spare = len(leaving) - 1
    return frozenset(t for t in targets - set(replicas) if len(kept | {rack[t]}) + spare >= needed)


def _ingress_s(into: Mapping[frozenset[int], int], rates: Mapping[int, float]) -> float:
    """For each distinct target set S: bytes of moves that fit nowhere outside S, over the rate of S."""
    candidates = set(into) if len(into) <= _MOST_TARGET_SETS else set()
    candidates.add(frozenset().union(*into))
    worst = 0.0
    for chosen in candidates:
        inside = sum(size for targets, size in into.items() if targets <= chosen)
        rate = sum(rates[t] for t in chosen)
        if inside and rate:
            worst = max(worst, inside / rate)
    return worst
