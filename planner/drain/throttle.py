"""Replication throttles: high enough that every copy ends, low enough that clients keep their share."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.drain.infeasible import human_bytes
from planner.drain.model import Int64s
from planner.drain.request import DrainRequest
from planner.drain.targets import Placement

KAFKA_REACHES = 0.8
"""Share of a configured throttle that Kafka really moves (measured; its quota samples 11 windows of 1 s)."""

UNKNOWN_WRITES_TAKE = 0.1
"""Share of a throttle taken as the charge of in-sync followers where no write rate is known."""

_LEAST_CATCH_UP_BYTES_PER_S = 128 * 1024
_CATCH_UP_FRACTION = 0.1


class CapTooLow(ValueError):
    """The operator's throttle cap leaves copies no room beside a broker's in-sync traffic: they would never
    end.
    """


@dataclass(frozen=True, slots=True)
class Throttles:
    """Rates to configure, broker id -> bytes/s. `spent_out[n]` and `spent_in[n]`: what traffic in sync takes
    of them while batch n runs; `share`: what Kafka makes of a rate, less what unknown traffic may take.
    """

    leader: Mapping[int, int]
    follower: Mapping[int, int]
    share: float
    spent_out: Sequence[Mapping[int, int]]
    spent_in: Sequence[Mapping[int, int]]
    assumptions: tuple[str, ...]

    def out_rate(self, batch: int, broker: int) -> float:
        """Bytes/s the broker can serve copies at while the batch runs."""
        return self.leader[broker] * self.share - self.spent_out[batch].get(broker, 0)

    def in_rate(self, batch: int, broker: int) -> float:
        return self.follower[broker] * self.share - self.spent_in[batch].get(broker, 0)


def throttles_for(request: DrainRequest, placed: Placement, cuts: Sequence[Sequence[int]]) -> Throttles:
    """Rates for every broker that may serve a copy (all in-sync holders) or receives one. Raises CapTooLow.

    Only partitions of the running batch may be in the throttled lists: Kafka charges in-sync followers of a
    listed partition against the same quota but never delays them (KafkaApis.sizeOfThrottledPartitions), so a
    rate at or below that charge would starve the copies for ever. `cuts` are the batches, as positions in
    `placed`.
    """
    model, rows = request.cluster, placed.rows
    unknown = int((model.write_bytes_per_s[rows] < 0).sum())
    share = KAFKA_REACHES - (UNKNOWN_WRITES_TAKE if unknown else 0.0)
    spent = [_spent(request, placed, np.array(cut, dtype=np.int64)) for cut in cuts]
    spent_out, spent_in = [out for out, _ in spent], [into for _, into in spent]
    sources = _ids(np.unique(np.append(model.isr[rows], model.leader[rows])))
    receivers = _ids(np.unique(placed.after[placed.copies]))
    leader = {b: _rate(request, b, max(s.get(b, 0) for s in spent_out), share) for b in sources}
    follower = {b: _rate(request, b, max(s.get(b, 0) for s in spent_in), share) for b in receivers}
    return Throttles(
        leader=leader,
        follower=follower,
        share=share,
        spent_out=spent_out,
        spent_in=spent_in,
        assumptions=_assumptions(request, rows.size, unknown, {**leader, **follower}),
    )


def replication_share(request: DrainRequest, broker: int) -> int:
    """Bytes/s the drain may use on a broker: its bandwidth less the clients' share, never above the cap."""
    rate = int(request.bandwidth.of(broker) * (1 - request.client_fraction))
    cap = request.throttle_cap_bytes_per_s
    return rate if cap is None else min(rate, cap)


def _rate(request: DrainRequest, broker: int, charge: int, share: float) -> int:
    least = math.ceil((charge + _LEAST_CATCH_UP_BYTES_PER_S) / share)
    cap = request.throttle_cap_bytes_per_s
    if cap is not None and cap < least:
        raise CapTooLow(
            f"the throttle cap of {human_bytes(cap)}/s is below the {human_bytes(least)}/s that broker "
            f"{broker} needs for copies ever to end (its in-sync followers use the same throttle): "
            f"raise the cap to at least that"
        )
    allowed = replication_share(request, broker)
    wanted = max(allowed, least, math.ceil((charge + _CATCH_UP_FRACTION * allowed) / share))
    return wanted if cap is None else min(wanted, cap)


def _spent(request: DrainRequest, placed: Placement, cut: Int64s) -> tuple[dict[int, int], dict[int, int]]:
    """Known bytes/s in sync, out of leaders and into targets, for one batch. New replicas count: once caught
    up they are charged until the throttled list changes.
    """
    model, rows = request.cluster, placed.rows[cut]
    written = np.maximum(model.write_bytes_per_s[rows], 0)
    copies = placed.copies[cut]
    followers = np.maximum((model.isr[rows] >= 0).sum(axis=1) - 1, 0) + copies.sum(axis=1)
    into = np.where(copies, written[:, None], 0)
    return _sums(model.leader[rows], written * followers), _sums(placed.after[cut], into)


def _sums(brokers: np.ndarray, amounts: np.ndarray) -> dict[int, int]:
    ids, where = np.unique(brokers.ravel(), return_inverse=True)
    totals = np.zeros(ids.size, dtype=np.int64)
    np.add.at(totals, where.ravel(), amounts.ravel())
    return {int(b): int(v) for b, v in zip(ids, totals, strict=True) if b >= 0}


def _ids(values: Iterable[int]) -> list[int]:
    return [int(v) for v in values if v >= 0]


def _assumptions(request: DrainRequest, planned: int, unknown: int, rates: Mapping[int, int]) -> tuple[str, ...]:
    lines = [f"Kafka reaches {KAFKA_REACHES:.0%} of a configured throttle"]
    if unknown:
        lines.append(
            f"write rate of {unknown} of {planned} moved partitions unknown: "
            f"{UNKNOWN_WRITES_TAKE:.0%} of each throttle taken as in-sync traffic"
        )
    if request.bandwidth.source != "measured":
        lines.append(f"bandwidth {request.bandwidth.source}: {human_bytes(request.bandwidth.bytes_per_s)}/s per broker")
    raised = sorted(b for b, rate in rates.items() if rate > replication_share(request, b))
    if raised:
        lines.append(f"throttle of brokers {raised} raised above the drain's share: in-sync traffic needs it")
    return tuple(lines)
