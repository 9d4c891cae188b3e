"""Bandwidths and throttles: high enough that every copy ends, low enough that clients keep their share.

A throttle is a quota that Kafka does not quite reach, so a plan has two figures per broker and direction: the rate it
promises, which the certificate counts on, and the quota that is configured to get there.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from planner.drain.arrays import Int64s
from planner.drain.model.state import Floats
from planner.drain.request import DrainRequest
from planner.quantities import brokers_named, human_bytes

KAFKA_REACHES = 0.9
"""Share of a configured throttle that Kafka really moves. Measured at 36 MiB/s with the agent's
replica.fetch.backoff.ms of 200: 0.88 to 0.89, the worst 10 s 0.93. With Kafka's 1000: 0.82 to 0.87, the worst 0.95."""

ONTO_SLOW_VOLUMES_KAFKA_REACHES = 0.85
"""The same where the target's volumes are what holds copies up. Measured onto a volume of 16 MiB/s: 0.844 and 0.847 (a
network held to 13 MiB/s: 0.887). Its fetches stand still for seconds while the volume takes what it was written, and
Kafka's window forgets what they missed."""

FLOW_BYTES_PER_S = 70e6
"""What one partition's fetch reaches: at most 1 MiB per round trip of 15 ms (replica.fetch.max.bytes)."""

SPARE_FRACTION = 0.1
"""Share of what a broker's network or volumes do that copies and its own traffic together leave free. A quota may stand
up to a tenth above what is due (`planner.drain.correction`), so this much is not filled by it either."""

LEAST_CATCH_UP_BYTES_PER_S = 128 * 1024
"""What copies are left at the very least beside the traffic in sync: below it none would ever end (H9)."""

CHARGED_FLOWS = 2
"""Copies at once on a source, in multiples of those that fill it: as many partitions may be charged to its quota."""


class CapTooLow(ValueError):
    """The operator's throttle cap leaves copies no room beside a broker's in-sync traffic: they would never
    end. The message names the broker that needs the highest cap, so that one raise is enough.
    """


def replication_share(request: DrainRequest, broker: int) -> float:
    """Bytes/s the drain may use on a broker at most: its bandwidth less the clients' share, and what the cap, a limit
    of the quota itself, lets through.
    """
    rate = request.bandwidth.of(broker) * (1 - request.client_fraction)
    cap = request.throttle_cap_bytes_per_s
    return rate if cap is None else min(rate, cap * KAFKA_REACHES)


def own_traffic(request: DrainRequest) -> tuple[Floats, Floats]:
    """float64[B], (into, out), bytes/s: all that is known of what brokers do beside copies. They take from producers
    and leaders, and send to followers in sync and to consumers. Unknown rates count nothing.
    """
    model, ids = request.cluster, request.cluster.brokers.id
    rate = np.maximum(model.write_bytes_per_s, 0).astype(np.float64)
    into = np.zeros(ids.size)
    for replica in model.isr.T:
        held = replica >= 0
        np.add.at(into, np.searchsorted(ids, replica[held]), rate[held])
    out = np.array([request.read_bytes_per_s.get(int(b), 0.0) for b in ids])
    led = model.leader >= 0
    followers = np.maximum((model.isr >= 0).sum(axis=1) - 1, 0)
    np.add.at(out, np.searchsorted(ids, model.leader[led]), (rate * followers)[led])
    return into, out


def rooms(request: DrainRequest) -> tuple[Floats, Floats]:
    """float64[B], (into, out), bytes/s: the drain's share of each network, and of what brokers encrypt, less what
    clients use of it beyond theirs; never so little that no copy would end.
    """
    into, out = zip((request.tls.into, request.tls.out), own_traffic(request), strict=True)
    return _room(request, *into), _room(request, *out)


def _room(request: DrainRequest, encrypted: Mapping[int, float], own: Floats) -> Floats:
    ids = request.cluster.brokers.id.tolist()
    most = np.array([encrypted.get(b, math.inf) for b in ids])
    share = np.minimum([replication_share(request, b) for b in ids], most * (1 - request.client_fraction))
    limit = np.minimum([request.bandwidth.of(b) for b in ids], most) * (1 - _spare(request))
    room: Floats = np.minimum(share, np.maximum(limit - own, LEAST_CATCH_UP_BYTES_PER_S))
    return room


def usable_volumes(request: DrainRequest) -> Floats:
    """float64[B]: bytes/s that copies may write to and read from a broker's volumes together, NaN where nobody knows
    what these do: all but the clients' share, less what is written there now; never so little that no copy would end.
    """
    ids, written = request.cluster.brokers.id, own_traffic(request)[0]
    limit = np.array([request.volumes.bytes_per_s.get(int(b), math.nan) for b in ids])
    left = np.minimum(limit * (1 - request.client_fraction), limit * (1 - _spare(request)) - written)
    return np.where(np.isnan(limit), np.nan, np.maximum(left, LEAST_CATCH_UP_BYTES_PER_S))


def charges(request: DrainRequest, rows: Int64s) -> tuple[Floats, Floats]:
    """float64[B] each way, (into, out): bytes/s of in-sync traffic that copies at once may find on a broker's quota.

    Kafka charges in-sync followers of a throttled partition against the same quota but never delays them
    (KafkaApis.sizeOfThrottledPartitions); new replicas are charged once they have caught up. Counted are the largest
    partitions of the moved `rows`, as many as fill the broker, twice. Unknown write rates count nothing.
    """
    model, ids = request.cluster, request.cluster.brokers.id
    written = np.maximum(model.write_bytes_per_s[rows], 0).astype(np.float64)
    held = (model.isr[rows] >= 0).sum(axis=1)
    leaving = np.isin(model.replicas[rows], np.array(request.outgoing, dtype=np.int32)).sum(axis=1)
    served = written * np.maximum(held - 1 + leaving, 0)
    largest = np.sort(written)[::-1]
    into = np.array([largest[: _flows(request, int(b))].sum() for b in ids])
    out = np.zeros(ids.size)
    for row, broker in enumerate(ids.tolist()):
        reads = np.sort(served[(model.isr[rows] == broker).any(axis=1)])[::-1]
        out[row] = reads[: _flows(request, broker)].sum()
    return into, out


def usable(request: DrainRequest, charged: Floats, room: Floats) -> Floats:
    """float64[B]: bytes/s a plan may count on, per broker row, of its `room`. Never so little that in-sync traffic
    takes all of it: then the share is raised. Under a cap, which no charge raises, it is what the charge leaves of the
    cap. See `require_cap` for one that forbids that copies end.
    """
    share = room
    least = np.where(charged > 0, charged + LEAST_CATCH_UP_BYTES_PER_S, 0.0)
    cap = request.throttle_cap_bytes_per_s
    if cap is not None:
        share = np.minimum(share, np.maximum(cap * KAFKA_REACHES - charged, 0.0))
    rates: Floats = np.maximum(share, least)
    return rates


def require_cap(request: DrainRequest, *charged: Floats) -> None:
    """`charged`: float64[B] of each direction. Raises CapTooLow where the cap forbids that copies end anywhere."""
    cap, most = request.throttle_cap_bytes_per_s, np.maximum.reduce(charged)
    row = int(most.argmax())
    wanted = math.ceil((most[row] + LEAST_CATCH_UP_BYTES_PER_S) / KAFKA_REACHES)
    if cap is None or most[row] <= 0 or cap >= wanted:
        return
    raise CapTooLow(
        f"the throttle cap of {human_bytes(cap)}/s is below the {human_bytes(wanted)}/s that broker "
        f"{int(request.cluster.brokers.id[row])} needs for copies ever to end (its in-sync followers use the same "
        f"throttle): raise the cap to at least that"
    )


def quota(
    request: DrainRequest,
    *,
    promised_bytes_per_s: float,
    charged_bytes_per_s: float,
    room_bytes_per_s: float,
    reaches: float = KAFKA_REACHES,
) -> int:
    """The throttle under which copies reach the promise beside what traffic in sync takes of it, never above the cap.
    Of a promise that was raised for the charge's sake the copies are meant to get the drain's share, `room`. `reaches`:
    the share of a throttle that Kafka really moves there.
    """
    copies = min(promised_bytes_per_s, room_bytes_per_s)
    wanted = math.ceil(max(promised_bytes_per_s, copies + charged_bytes_per_s) / reaches)
    cap = request.throttle_cap_bytes_per_s
    return wanted if cap is None else min(wanted, cap)


def floor(charged_bytes_per_s: float) -> int:
    """The least throttle under which copies end whatever the traffic in sync takes of it."""
    return math.ceil((charged_bytes_per_s + LEAST_CATCH_UP_BYTES_PER_S) / KAFKA_REACHES)


def assumptions(request: DrainRequest, rows: Int64s, usable_bytes_per_s: Mapping[int, float]) -> tuple[str, ...]:
    """What the rates rest on, in words."""
    lines = [
        f"Kafka reaches {KAFKA_REACHES:.0%} of a configured throttle: quotas stand that much above the promised rates",
        f"one partition's fetch reaches {human_bytes(FLOW_BYTES_PER_S)}/s",
    ]
    lines.extend(_write_rates(request, rows))
    if request.bandwidth.source == "assumed":
        rate = human_bytes(request.bandwidth.bytes_per_s)
        lines.append(f"bandwidth assumed: {rate}/s per broker, as no figure is known of every machine")
    elif request.bandwidth.source != "measured":
        lines.append(f"bandwidth {request.bandwidth.source}: {human_bytes(request.bandwidth.bytes_per_s)}/s per broker")
    lines.extend(_volumes(request))
    lines.extend(request.tls.told)
    raised = sorted(b for b, rate in usable_bytes_per_s.items() if rate > replication_share(request, b))
    if raised:
        lines.append(f"rate of brokers {raised} raised above the drain's share: in-sync traffic needs it")
    return tuple(lines)


def _volumes(request: DrainRequest) -> Iterator[str]:
    """Who says what volumes do, and of whom nobody does: never a guess."""
    yield from request.volumes.told
    brokers = request.cluster.brokers
    unknown = brokers.id[brokers.live & np.isnan(usable_volumes(request))].tolist()
    if unknown:
        yield f"what the volumes of {brokers_named(unknown)} do is not known: taken to keep up with the network"


def _write_rates(request: DrainRequest, rows: Int64s) -> Iterator[str]:
    unknown = int((request.cluster.write_bytes_per_s[rows] < 0).sum())
    if unknown < rows.size and request.write_rates_from:
        yield f"write rate of {rows.size - unknown} of {rows.size} moved partitions known: {request.write_rates_from}"
    if unknown:
        basis = ", planned from log sizes alone" if unknown == rows.size else ""
        yield f"write rate of {unknown} of {rows.size} moved partitions unknown: in-sync traffic counts nothing{basis}"


def _spare(request: DrainRequest) -> float:
    """What stays free beside copies and own traffic: never more than is left to clients."""
    return min(SPARE_FRACTION, request.client_fraction)


def _flows(request: DrainRequest, broker: int) -> int:
    return CHARGED_FLOWS * max(1, math.ceil(replication_share(request, broker) / FLOW_BYTES_PER_S))
