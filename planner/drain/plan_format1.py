"""Reads plans stored by the release before this one, so that an upgrade of Kedge goes on with the drain in hand.

Format 1 had batches that waited for one another, and one rate per broker. Read as format 2 its batches are stretches
between checkpoints, in their order; its moves name no source and every broker had room for a hundred at once.
"""

from collections.abc import Mapping
from typing import Any

from planner.drain.certificate import Certificate
from planner.drain.model.measures import Measure, Measures

_SLOTS = 100
_REACHED = 0.8
"""Share of a throttle that format 1 counted on."""


def as_format2(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same plan as a document of format 2. Raises KeyError, TypeError, ValueError or IndexError when it is none."""
    rows = [[t, p, before, after, size, None] for t, p, before, after, size in document["moves"]]
    batches = [[int(i) for i in moves] for moves, _, _ in document["batches"]]
    if sorted(i for batch in batches for i in batch) != list(range(len(rows))):
        raise ValueError("its moves are not in exactly one batch each")
    kept = ("drain_id", "cluster_uid", "engine", "round", "deferred")
    return {
        **{name: document[name] for name in kept},
        "format": 2,
        "moves": [rows[i] for batch in batches for i in batch],
        "checkpoints": [sum(len(b) for b in batches[: n + 1]) for n in range(len(batches))],
        "into": _ports(document["follower_throttle"]),
        "out": _ports(document["leader_throttle"]),
        "certificate": _certificate(document["certificate"]).document(),
    }


def _ports(rates: Mapping[str, Any]) -> dict[str, list[int]]:
    return {broker: [_SLOTS, int(rate * _REACHED), int(rate), 0] for broker, rate in rates.items()}


def _certificate(document: Mapping[str, Any]) -> Certificate:
    unmeasured = Measure(0, 0)
    return Certificate(
        measures=Measures(
            bytes=Measure(document["bytes"], document["bytes_bound"]),
            makespan_s=Measure(document["eta_s"], document["eta_bound_s"]),
            disk=Measure(document["disk_max_fraction"], document["disk_max_fraction"]),
            leaders=unmeasured,
            leader_changes=unmeasured,
            release_s=unmeasured,
        ),
        replicas=int(document["replicas"]),
        source_transfers=0,
        bandwidth_source=document["bandwidth_source"],
        assumptions=(*document["assumptions"], "planned by an earlier release: leaders and release not measured"),
    )
