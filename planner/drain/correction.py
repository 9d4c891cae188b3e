"""The throttle that is due on one broker in one direction while a drain copies, from what the broker does now. Pure.

Kafka charges in-sync traffic of throttled partitions to the same quota as the copies (planner.drain.throttle), so a
quota of (copies + charge) / KAFKA_REACHES leaves copies what they are meant to get. They are meant to get what the plan
promises, less what the broker's own traffic leaves them no room for; and never so little beside the charge that they
would not end.
"""

import math
from dataclasses import dataclass

from planner.drain.plan import Port
from planner.drain.throttle import KAFKA_REACHES, LEAST_CATCH_UP_BYTES_PER_S, SPARE_FRACTION, floor
from planner.quantities import human_bytes

BAND = 0.1
"""A quota is written anew when it is this much off: traffic that flutters less rewrites nothing."""


OUTRUN = 1.5
"""What copies get at least of what is written to them meanwhile, however hard the latency brake is pressed: they have
to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortTraffic:
    """One broker in one direction now, bytes/s.

    `charge_bytes_per_s`: in-sync traffic of the throttled partitions, `unknown` of which have no known rate and count
    nothing. `own_bytes_per_s`: all that is not copies, the charge included; at least that, where rates are unknown.
    `bandwidth_bytes_per_s`: of its network, or what it copies by TLS where that is less; None: not known.
    `volumes_bytes_per_s`: what its volumes leave copies in this direction beside what clients and replication write
    (`left_by_volumes`); None: not known. `set_bytes_per_s`: the throttle in force, as Kafka says; None: none yet.
    `share`: what the latency brake leaves copies of their room, 0 to 1; never less than they need to end beside
    `growth_bytes_per_s`, what is written meanwhile to what is copied.
    """

    charge_bytes_per_s: float
    own_bytes_per_s: float
    unknown: int = 0
    bandwidth_bytes_per_s: float | None = None
    volumes_bytes_per_s: float | None = None
    set_bytes_per_s: int | None = None
    share: float = 1.0
    growth_bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Due:
    """`before_bytes_per_s`: the throttle in force or, where none is, what reaches the promise. `why`: in words with
    numbers what made it another one, else "".
    """

    quota_bytes_per_s: int
    before_bytes_per_s: int
    why: str = ""


def left_by_volumes(
    limit_bytes_per_s: float, written_bytes_per_s: float, *promised_bytes_per_s: float
) -> tuple[float, ...]:
    """What volumes leave copies of each promise (into the broker, out of it), bytes/s: all of them where there is room
    for both beside what is written otherwise, else so much less of each.
    """
    room = max(limit_bytes_per_s * (1 - SPARE_FRACTION) - written_bytes_per_s, 0.0)
    wanted = sum(promised_bytes_per_s)
    share = min(1.0, room / wanted) if wanted > 0 else 1.0
    return tuple(promise * share for promise in promised_bytes_per_s)


def due(port: Port, now: PortTraffic, *, cap_bytes_per_s: int | None = None) -> Due:
    """The throttle for a port of the plan. The operator's cap is above everything, the livelock floor above head-room,
    and the promise is the most that copies are ever meant to get.
    """
    cap = math.inf if cap_bytes_per_s is None else cap_bytes_per_s
    before = now.set_bytes_per_s if now.set_bytes_per_s is not None else _planned(port, now, cap)
    least = _least(port, now)
    if now.unknown:
        wanted = before if before >= least else _above(least)
    else:
        wanted = max(_quota(_room(port, now), now), _above(least))
    quota = int(min(wanted, cap))
    near = abs(quota - before) < BAND * (before if now.share >= 1 else _room(port, now))
    if quota == before or (near and min(least, cap) <= before <= cap):
        return Due(before, before)
    return Due(quota, before, _why(port, now, least, cap))


def _planned(port: Port, now: PortTraffic, cap: float) -> int:
    """What reaches the promise now; the plan's own throttle, for the charge it reckoned with, while that is unknown."""
    return port.quota_bytes_per_s if now.unknown else int(min(_quota(port.promised_bytes_per_s, now), cap))


def _quota(copies_bytes_per_s: float, now: PortTraffic) -> int:
    return math.ceil((copies_bytes_per_s + now.charge_bytes_per_s) / KAFKA_REACHES)


def _least(port: Port, now: PortTraffic) -> int:
    """The livelock floor. Without a charge every quota lets copies end; with an unknown one the plan's own estimate of
    the floor counts too.
    """
    known = floor(now.charge_bytes_per_s) if now.charge_bytes_per_s > 0 else 0
    return max(known, port.floor_bytes_per_s) if now.unknown else known


def _above(least: int) -> int:
    """So far above the floor that the floor may rise by as much as rewrites nothing."""
    return math.ceil(least * (1 + BAND))


def _room(port: Port, now: PortTraffic) -> float:
    """Bytes/s for copies: what the latency brake leaves of what network and volumes do."""
    room = _unbraked(port, now)
    least = max(LEAST_CATCH_UP_BYTES_PER_S, OUTRUN * now.growth_bytes_per_s)
    return min(room, max(room * now.share, least))


def _unbraked(port: Port, now: PortTraffic) -> float:
    """The least that network and volumes leave (docs/planning.md), at most the promise."""
    promised = float(port.promised_bytes_per_s)
    return min(promised, max(min(_left_by_network(now), _left_by_volumes(now)), LEAST_CATCH_UP_BYTES_PER_S))


def _left_by_network(now: PortTraffic) -> float:
    if now.bandwidth_bytes_per_s is None:
        return math.inf
    return now.bandwidth_bytes_per_s * (1 - SPARE_FRACTION) - now.own_bytes_per_s


def _left_by_volumes(now: PortTraffic) -> float:
    return math.inf if now.volumes_bytes_per_s is None else now.volumes_bytes_per_s


def _why(port: Port, now: PortTraffic, least: int, cap: float) -> str:
    charge = f"{human_bytes(now.charge_bytes_per_s)}/s of traffic in sync share it"
    if cap < least:
        return f"the cap is below the {human_bytes(least)}/s that copies need to end: raise rollout.throttleMibPerS"
    if now.unknown:
        return f"copies end above {human_bytes(least)}/s only, write rates of {now.unknown} partitions are unknown"
    room = _unbraked(port, now)
    if now.share < 1:
        return f"the latency brake leaves copies {human_bytes(_room(port, now))}/s of {human_bytes(room)}/s"
    if room < port.promised_bytes_per_s:
        own = f"its own traffic of {human_bytes(now.own_bytes_per_s)}/s leaves copies {human_bytes(room)}/s"
        if _left_by_volumes(now) < _left_by_network(now):
            own = f"its volumes leave copies {human_bytes(room)}/s beside what else is written to them"
        return f"{own}, {charge}" if now.charge_bytes_per_s >= 1 else own
    if now.charge_bytes_per_s >= 1:
        return charge
    return "its own traffic leaves copies all the plan promises"
