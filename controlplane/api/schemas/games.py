"""What the HTTP API says and takes of game days."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message

MOST_SEED = 2**31 - 1


class GameIn(Message):
    """A game day: so many faults drawn by the seed, one VM at a time, with full health between."""

    events: int = Field(default=5, description="how many faults")
    seed: int = Field(default=0, ge=0, le=MOST_SEED, description="the same one draws the same faults")
    within_s: float = Field(default=600.0, description="no fault begins later than this after the first look")
    lasts_s: float = Field(default=15.0, description="how long each lasts, where it is of a kind that lasts")
    heal_within_s: float = Field(default=300.0, description="how long full health is waited for")
    faults: list[str] = Field(default_factory=list, max_length=20, description="what is drawn from; empty: the usual")
    force: bool = Field(default=False, description="even if the cluster is not fully healthy: the first fault waits")
    confirm: str = Field(default="", description="the cluster's name, where it is not on the local cloud")
    reason: str = ""


class EndGameIn(Message):
    """No further fault is to begin."""

    reason: str = ""


class PlayedOut(Message):
    """One fault. Seconds count from its beginning; null: it was never noticed, or did not heal in time."""

    chaos: str
    fault: str
    vm: str
    at: datetime
    judged: bool = Field(description="false while it is in hand, and for ever where the game ended before")
    detected_s: float | None
    healed_s: float | None
    under_min_isr_s: float
    first_sign: str
    findings: list[str]


class GameOut(Message):
    """A game day: in hand while `ended_at` is null. `stopped` says why it ended early, "" where it did not."""

    game: str
    cluster: str
    sentence: str
    reason: str
    since: datetime
    ended_at: datetime | None
    stopped: str
    seed: int
    wanted: int
    within_s: float
    lasts_s: float
    heal_within_s: float
    faults: list[str]
    events: list[PlayedOut]
    detected_p50_s: float | None
    detected_p95_s: float | None
    healed_p50_s: float | None
    healed_p95_s: float | None
    under_min_isr_s: float


class GamesOut(Message):
    """The game days of a cluster, the newest first: one in hand and the last ten. The event log has all."""

    cluster: str
    games: list[GameOut]
