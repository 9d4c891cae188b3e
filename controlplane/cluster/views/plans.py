"""What a drain and a rebalance in hand have in common, as values: their plan, how planning goes, and how far its moves
are. Part of `controlplane.cluster.view`."""

from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PlanView:
    """The plan in force. Without `sha256` there is none."""

    sha256: str = ""
    engine: str = ""
    moves: int = 0
    bytes: int = 0
    batches: int = 0
    """Stretches between the plan's checkpoints."""


@dataclass(frozen=True, slots=True)
class PlanningView:
    """How the computation of plans goes."""

    tries: int = 0
    """Each try is a job of its own, also after a person forgave the failures: never counted down."""
    failures: int = 0
    """In a row, since a person last let it go on."""
    failed: str = ""
    """Why the last one failed, "" where it did not."""
    failed_at: datetime | None = None

    def failed_again(self, reason: str, at: datetime) -> "PlanningView":
        return PlanningView(self.tries + 1, self.failures + 1, reason, at)

    def forgiven(self) -> "PlanningView":
        """As if none had failed: it is tried again at once."""
        return replace(self, failures=0, failed="", failed_at=None)


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far the moves are: of the plan in force, and what plans before it have done."""

    batch: int = -1
    """The last one begun, counted from 0."""
    moving_at: datetime | None = None
    """When the plan's first batch began."""
    done_moves: int = 0
    done_bytes: int = 0

    def begun(self, batch: int, at: datetime) -> "ProgressView":
        return replace(self, batch=batch, moving_at=self.moving_at or at)

    def at_start(self) -> "ProgressView":
        """Nothing of the plan in force has begun."""
        return replace(self, batch=-1, moving_at=None)
