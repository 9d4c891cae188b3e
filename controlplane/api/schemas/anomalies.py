"""What the HTTP API says of anomalies and notifiers; the rest of the contract is in `schemas`."""

from datetime import datetime

from pydantic import Field

from controlplane.api.moments import Moment
from controlplane.api.schemas.messages import Message


class AnomalyOut(Message):
    """One anomaly. `reason`: what was found, with its numbers; `words`: why it is in this state."""

    id: str
    cluster: str
    kind: str
    subject: str
    state: str = Field(description="`found`, `suppressed`, `healing`, `waiting` or `over`")
    reason: str
    words: str
    found_at: datetime
    changed_at: datetime
    told: bool = Field(description="whether people were told of it")
    severity: str = Field(
        default="warning", description="`critical`, `warning` or `info`: how soon somebody has to look"
    )


class LineOut(Message):
    """One line of a series: a value, or null, for each of its times."""

    name: str
    values: list[float | None]


class SeriesOut(Message):
    """One figure over time."""

    name: str
    unit: str
    times: list[datetime]
    lines: list[LineOut]


class AnomalyDetailOut(Message):
    """One anomaly, and what was measured about it."""

    anomaly: AnomalyOut
    series: list[SeriesOut]
    why_none: str = Field(description="why there is no series, empty where there is one")


class HealingOut(Message):
    """Whether anomalies of a kind are healed, and why not."""

    kind: str
    heals: bool
    why_not: str = ""
    until: datetime | None = Field(default=None, description="until when a person's word counts")
    grace_s: float


class AnomaliesOut(Message):
    """Those of a cluster, open ones first; `total` of what was asked for."""

    cluster: str
    anomalies: list[AnomalyOut]
    total: int
    open: int
    found: int = Field(description="ever")
    healing: list[HealingOut]


class HealingIn(Message):
    """Heal anomalies of a kind by itself, or do not; without a kind all of them."""

    on: bool
    kind: str = Field(default="", max_length=40)
    until: Moment | None = None
    reason: str = Field(default="", max_length=500)


class NotifierOut(Message):
    """One notifier of the settings. `where` is never more of a URL than its host."""

    name: str
    kind: str
    where: str
    kinds: list[str] = Field(description="kinds it is told; empty: all")
    clusters: list[str] = Field(description="clusters it is told of; empty: all")
    owners: list[str] = Field(default_factory=list, description="owners whose clusters it is told of; empty: all")
    severity: str = Field(default="info", description="the least severity it is told")
    group_s: int = Field(default=0, description="how long notices of a cluster are gathered into one message")
    waiting: int
    delivered: int
    dropped: int = Field(description="notices that were too many to keep")
    error: str
    failing_since: datetime | None
    told_at: datetime | None


class NotifierTestedOut(Message):
    """What came of a test."""

    name: str
    told: bool
    sentence: str
