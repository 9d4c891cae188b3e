"""How brokers are emptied, from the request to the last byte: part of a cluster's stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from events.registry import fact


@fact("drain.requested", schema=1)
@dataclass(frozen=True, slots=True)
class DrainRequested:
    """These instances are to be emptied. `successors` maps an outgoing broker id to the one that takes its place."""

    drain: str
    keys: tuple[str, ...]
    outgoing: tuple[int, ...]
    successors: Mapping[str, int]
    targets: tuple[int, ...]
    round: int
    reason: str
    done_bytes: int = 0
    """Copied in earlier rounds of the same drain."""
    done_moves: int = 0
    stays: bool = False
    """They are emptied and stay: an evacuation. Otherwise they leave once they are empty."""


@fact("drain.planned", schema=1)
@dataclass(frozen=True, slots=True)
class DrainPlanned:
    """A plan is at rest in the plan store. `certificate` compares it with the lower bounds."""

    drain: str
    plan_sha256: str
    engine: str
    moves: int
    bytes: int
    batches: int
    certificate: Mapping[str, Any]


@fact("drain.plan_failed", schema=1)
@dataclass(frozen=True, slots=True)
class DrainPlanFailed:
    """No plan: infeasible, or the stored one no longer fits. `reason` names the smallest thing to add."""

    drain: str
    reason: str
    infeasible: bool


@fact("drain.abandoned", schema=1)
@dataclass(frozen=True, slots=True)
class DrainAbandoned:
    """The drain cannot end as it was asked (its successor is gone): the outgoing instances serve on for now."""

    drain: str
    reason: str


@fact("drain.batch_started", schema=1)
@dataclass(frozen=True, slots=True)
class BatchStarted:
    """A stretch of the plan, up to its next checkpoint, is being handed to Kafka as slots come free."""

    drain: str
    batch: int
    moves: int
    bytes: int


@fact("instance.drained", schema=1)
@dataclass(frozen=True, slots=True)
class NodeDrained:
    """Zero replicas in fresh metadata and empty log dirs, no reassignment lists the broker. Linger begins."""

    drain: str
    keys: tuple[str, ...]
    bytes: int
    moves: int
