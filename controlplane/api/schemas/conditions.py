"""What the API says of the state a cluster is in: conditions, and the moves in hand."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class ConditionOut(Message):
    type: str
    status: bool
    reason: str
    message: str
    since: datetime


class DrainOut(Message):
    keys: list[str]
    outgoing: list[int]
    round: int
    engine: str
    moves: int
    bytes: int
    batch: int
    batches: int


class BrakeOut(Message):
    """How far the moves in hand are slowed for the sake of clients."""

    share: float = Field(description="of the planned rate, 0 to 1; 1: they are not slowed")
    bytes_per_s: int = Field(description="what the broker that takes most may take now; 0: not known")
    planned_bytes_per_s: int = Field(description="the same by the plan; 0: not known")
    reason: str = Field(description="in words with numbers")
    figure: str = Field(description="what was over its limit, as in `produce p99`; empty while it is let go")
    broker: int = Field(description="whose figure it is; -1 for none")
    since: datetime
    is_soft: bool = Field(default=False, description="moves begin with a part of the plan's rate; nobody feels them")


class RebalanceOut(Message):
    """The rebalance in hand: replicas are spread anew in small batches, each of which begins once nothing else is to
    be done. Figures of the plan are 0 before there is one.
    """

    cause: str = Field(description="person, scale-up or policy")
    onto: list[int] = Field(default_factory=list, description="who alone receives, as a person chose; empty: all do")
    reason: str
    round: int = Field(description="plans of it so far")
    engine: str = Field(description="who computed the plan; empty before there is one")
    moves: int
    bytes: int
    bytes_left: int = Field(description="of batches that have not begun")
    batch: int = Field(description="the last one begun, counted from 0; -1 before the first")
    batches: int
    imbalance_before: float = Field(description="percent: how far the broker furthest from its even share is from it")
    imbalance_after: float = Field(description="as planned")
    done_moves: int = Field(description="by plans before this one")
    done_bytes: int
    per_day_bytes: int = Field(description="begun in 24 hours at most; 0: no such limit")
    cancelled: str = Field(description="why no further batch begins; empty while one may")
    failed: str = Field(description="why there is no plan; empty when there is, or none was tried")
