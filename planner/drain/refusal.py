"""Refusals in words: which rule stopped the plan, with the numbers, and the smallest thing that would let it
pass.
"""

import numpy as np

from planner.drain.infeasible import Infeasible, InfeasibleKind, human_bytes, named
from planner.drain.kernel import NO_BROKER, NO_RACK
from planner.drain.plan import DrainPlan
from planner.drain.request import DrainRequest
from planner.drain.targets import Placement, eligible_targets
from planner.observed import TopicPartition

_MOST_BROKERS = 3


def unusable_target(request: DrainRequest) -> Infeasible | None:
    """A successor, or every target, that cannot receive now. None when there is where to go."""
    able = set(request.cluster.brokers.id[eligible_targets(request)].tolist())
    needed = set(request.successors.values()) or (set() if able else set(request.targets))
    missing = sorted(needed - able)
    if not missing and able:
        return None
    if not missing:
        return _refuse(request, "target", "no broker is named that may receive: name one that is not outgoing")
    brokers = request.cluster.brokers
    live = set(brokers.id[brokers.live].tolist())
    dead = [b for b in missing if b not in live]
    if dead:
        return _refuse(
            request,
            "target",
            f"{_brokers(dead)} cannot receive: fenced or not registered; wait until it has joined, "
            f"or name another target",
        )
    return _refuse(
        request,
        "disk-unknown",
        f"{_brokers(missing)} cannot receive: its log directories have not been read, so its disk may be "
        f"full; read them again",
    )


def refused_placement(request: DrainRequest, failed: Placement, part: DrainPlan | None) -> Infeasible:
    """Why the failed rows fit nowhere. Of several reasons the hardest to meet is told."""
    stuck = tuple(sorted(request.cluster.name(row) for row in failed.rows))
    if (failed.outcome == NO_BROKER).any():
        kind, message = "brokers", _no_broker(request, failed)
    elif (failed.outcome == NO_RACK).any():
        kind, message = "rack", _no_rack(request, failed)
    else:
        kind, message = "disk", _no_disk(request, failed)
    return _refuse(request, kind, message, stuck=stuck, part=part)  # type: ignore[arg-type]


def _no_broker(request: DrainRequest, failed: Placement) -> str:
    rows = failed.rows[failed.outcome == NO_BROKER]
    return (
        f"{_partitions(request, rows)} already have a replica on every broker that may receive; "
        f"add a broker, or name one more target"
    )


def _no_rack(request: DrainRequest, failed: Placement) -> str:
    chosen = failed.outcome == NO_RACK
    racks = sorted({request.cluster.brokers.racks[r] for r in failed.lost_rack[chosen].tolist()})
    where = " and ".join(f"a broker in rack {r or '(none)'}" for r in racks)
    return (
        f"{_partitions(request, failed.rows[chosen])} would span fewer racks than now; "
        f"add {where}, or name one there as a target"
    )


def _no_disk(request: DrainRequest, failed: Placement) -> str:
    """The shortage on each broker that came closest: what is stuck there less what it still has room for."""
    short = {
        row: int(failed.size_bytes[failed.nearest == row].sum() - failed.room_left[row])
        for row in np.unique(failed.nearest).tolist()
    }
    worst = sorted(short, key=lambda row: -short[row])
    lines = [_shortage(request, row, short[row], int(failed.room_left[row])) for row in worst[:_MOST_BROKERS]]
    rest = sum(short[row] for row in worst[_MOST_BROKERS:])
    if rest:
        lines.append(f"{len(worst) - _MOST_BROKERS} more brokers need {human_bytes(rest)} in all")
    return f"{_partitions(request, failed.rows)} do not fit on any target: {'; '.join(lines)}"


def _shortage(request: DrainRequest, row: int, missing: int, room: int) -> str:
    brokers = request.cluster.brokers
    return (
        f"broker {int(brokers.id[row])} needs {human_bytes(missing)} more below its limit of "
        f"{request.disk_limit_fraction:.0%} of {human_bytes(int(brokers.total_bytes[row]))} "
        f"(room left {human_bytes(max(0, room))})"
    )


def _partitions(request: DrainRequest, rows: np.ndarray) -> str:
    names = tuple(sorted(request.cluster.name(int(row)) for row in rows))
    return f"{len(names)} partition{'s' * (len(names) != 1)} ({named(names)})"


def _brokers(ids: list[int]) -> str:
    return f"broker{'s' * (len(ids) != 1)} {', '.join(map(str, ids))}"


def _refuse(
    request: DrainRequest,
    kind: InfeasibleKind,
    message: str,
    *,
    stuck: tuple[TopicPartition, ...] = (),
    part: DrainPlan | None = None,
) -> Infeasible:
    return Infeasible(
        drain_id=request.drain_id,
        cluster_uid=request.cluster_uid,
        round=request.round,
        kind=kind,
        message=f"drain of {_brokers(sorted(request.outgoing))}, round {request.round}: {message}",
        stuck=stuck,
        feasible_part=part,
    )
