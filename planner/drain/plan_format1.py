"""Reads plans stored by the release before this one, so that an upgrade of Kedge goes on with the drain in hand.

Format 1 had batches that waited for one another, and one rate per broker. Read as format 2 its batches are stretches
between checkpoints, in their order; its moves name no source and every broker had room for a hundred at once.
"""

from collections.abc import Mapping
from typing import Any

from planner.drain.certificate import Certificate
from planner.drain.model.measures import Measure, Measures
from planner.drain.plan import DrainPlan, Move, Port, deferred_from, engine_from

_SLOTS = 100
_REACHED = 0.8
"""Share of a throttle that format 1 counted on."""


def plan_from_format1(document: Mapping[str, Any]) -> DrainPlan:
    """Raises KeyError, TypeError, ValueError or IndexError when it is none."""
    rows = [Move(t, int(p), tuple(b), tuple(a), int(n)) for t, p, b, a, n in document["moves"]]
    batches = [[int(i) for i in moves] for moves, _, _ in document["batches"]]
    if sorted(i for batch in batches for i in batch) != list(range(len(rows))):
        raise ValueError("its moves are not in exactly one batch each")
    ends = [sum(len(b) for b in batches[: n + 1]) for n in range(len(batches))]
    return DrainPlan(
        drain_id=str(document["drain_id"]),
        cluster_uid=str(document["cluster_uid"]),
        engine=engine_from(document["engine"]),
        round=int(document["round"]),
        moves=tuple(rows[i] for batch in batches for i in batch),
        checkpoints=tuple(ends),
        into=_ports(document["follower_throttle"]),
        out=_ports(document["leader_throttle"]),
        deferred=deferred_from(document["deferred"]),
        certificate=_certificate(document["certificate"]),
    )


def _ports(rates: Mapping[str, Any]) -> dict[int, Port]:
    return {int(b): Port(_SLOTS, int(rate * _REACHED), int(rate), 0) for b, rate in rates.items()}


def _certificate(told: Mapping[str, Any]) -> Certificate:
    unmeasured = Measure(0, 0)
    return Certificate(
        measures=Measures(
            bytes=Measure(told["bytes"], told["bytes_bound"]),
            makespan_s=Measure(told["eta_s"], told["eta_bound_s"]),
            disk=Measure(told["disk_max_fraction"], told["disk_max_fraction"]),
            leaders=unmeasured,
            leader_changes=unmeasured,
            release_s=unmeasured,
        ),
        replicas=int(told["replicas"]),
        source_transfers=0,
        bandwidth_source=told["bandwidth_source"],
        assumptions=(*told["assumptions"], "planned by an earlier release: leaders and release not measured"),
    )
