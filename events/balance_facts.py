"""How replicas are spread anew over the brokers there are: part of a cluster's stream, see `facts`.

rebalance.requested -> rebalance.planned -> rebalance.batch_started ... -> rebalance.completed
             ^                 |                     |
             +-- rebalance.put_off (the plan does not fit any more: planned anew)
rebalance.cancel_requested, or an abort -> what runs ends -> rebalance.abandoned
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from events.registry import fact


@fact("rebalance.requested", schema=1)
@dataclass(frozen=True, slots=True)
class RebalanceRequested:
    """Replicas and leadership are to be spread anew. `cause`: `person`, `scale-up` or `policy`.

    `new_brokers`: ids that alone are to get their share, new ones or those a person chose; empty: all brokers, within
    every goal. `threshold_percent`: nothing
    is done below that imbalance. `per_day_bytes`: no more is begun in 24 hours, 0 for no such limit. A throttle of 0 is
    that of the spec, any other one bounds it. `goals`: those alone, the first weighs most; none: all. Excluded topics
    stay where they are, excluded brokers receive nothing.
    """

    rebalance: str
    cause: str
    reason: str
    new_brokers: tuple[int, ...] = ()
    threshold_percent: float = 0.0
    per_day_bytes: int = 0
    throttle_mib_per_s: int = 0
    goals: tuple[str, ...] = ()
    exclude_topics: tuple[str, ...] = ()
    exclude_brokers: tuple[int, ...] = ()


@fact("rebalance.planned", schema=1)
@dataclass(frozen=True, slots=True)
class RebalancePlanned:
    """A plan is at rest in the plan store. `goals`: name -> brokers (or partitions) out of it before and after.

    `imbalance_*`: how far the broker furthest from its even share is from it, in percent; `uneven`: of each goal that
    could be judged, before and after. `assumptions`: what the plan rests on, in words, its write rates among them.
    """

    rebalance: str
    plan_sha256: str
    engine: str
    moves: int
    bytes: int
    batches: int
    imbalance_before: float
    imbalance_after: float
    goals: Mapping[str, Any]
    uneven: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()


@fact("rebalance.plan_failed", schema=1)
@dataclass(frozen=True, slots=True)
class RebalancePlanFailed:
    """No plan was made. It is tried again, a few times."""

    rebalance: str
    reason: str


@fact("rebalance.batch_started", schema=1)
@dataclass(frozen=True, slots=True)
class RebalanceBatchStarted:
    """A small step of the plan, up to its next checkpoint, is being handed to Kafka. Whatever else there is to do goes
    before the next one."""

    rebalance: str
    batch: int
    moves: int
    bytes: int


@fact("rebalance.put_off", schema=1)
@dataclass(frozen=True, slots=True)
class RebalancePutOff:
    """The plan is dropped, as what it was made for has changed; the rest is planned anew. `done_*` of this plan."""

    rebalance: str
    reason: str
    done_moves: int
    done_bytes: int


@fact("rebalance.cancel_requested", schema=1)
@dataclass(frozen=True, slots=True)
class RebalanceCancelRequested:
    """A person wants no more of it: what runs ends, nothing else begins, finished moves stay."""

    rebalance: str
    reason: str


@fact("rebalance.completed", schema=1)
@dataclass(frozen=True, slots=True)
class RebalanceCompleted:
    """Nothing is left to move. `moves` and `bytes` of all its plans; `imbalance` that is left, in percent; `left`: by
    goal, None where that was not recorded."""

    rebalance: str
    moves: int
    bytes: int
    imbalance: float
    left: Mapping[str, float] | None = None


@fact("rebalance.abandoned", schema=1)
@dataclass(frozen=True, slots=True)
class RebalanceAbandoned:
    """It ends before its plan does; what was moved stays where it is."""

    rebalance: str
    reason: str
    moves: int
    bytes: int
