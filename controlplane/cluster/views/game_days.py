"""Game days as a cluster's history has them."""

from dataclasses import dataclass
from datetime import datetime

from events import facts


@dataclass(frozen=True, slots=True)
class PlayedView:
    """One fault of a game. `score` is None until it was judged, and stays so where the game ended before."""

    chaos: str
    fault: str
    key: str
    at: datetime
    score: facts.FaultScored | None = None


@dataclass(frozen=True, slots=True)
class GameView:
    """One game, its faults in the order they were brought about in. `ended_at` is None while it is in hand."""

    asked: facts.GameStarted
    since: datetime
    played: tuple[PlayedView, ...] = ()
    ended_at: datetime | None = None
    stopped: str = ""

    @property
    def id(self) -> str:
        return self.asked.game
