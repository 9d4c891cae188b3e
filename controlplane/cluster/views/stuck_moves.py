"""What is recorded of moves that hung, of elections in vain, and of moves of others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from planner.stuck_moves import PastMoveCure


@dataclass(frozen=True, slots=True)
class DeposedController:
    """ZooKeeper mode: the broker in whose place a controller is to be elected, and the epoch it was elected with."""

    broker: int
    epoch: int
    asked_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class StuckMovesView:
    """What was done about moves that hung and elections in vain, oldest first, and what people asked about moves of
    others.

    `taking_back` are moves of the drain or other batch `cured`, as it was after `tries` plans, that waited for
    `brokers`, as was found at `cured_at`; `follower_rates` and `leader_rates` (bytes/s by broker) what its throttles
    were raised to. `cancelling` and `adopted` name moves of others, with who asked.
    """

    cures: tuple[PastMoveCure, ...] = ()
    cured: str = ""
    tries: int = 0
    cured_at: datetime | None = None
    taking_back: tuple[str, ...] = ()
    brokers: tuple[int, ...] = ()
    diagnosis: str = ""
    why: str = ""
    follower_rates: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    leader_rates: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    cancelling: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    adopted: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    deposed: DeposedController | None = None

    def is_taking_back(self, batch: str, tries: int) -> bool:
        """Whether moves of that batch hung, are being taken back, and it was not planned anew since."""
        return bool(self.taking_back) and (self.cured, self.tries) == (batch, tries)
