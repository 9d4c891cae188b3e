"""Anomalies of a cluster: found, how they stand, over. A stream of their own per cluster; the switches of healing and
what is done about slow brokers are part of the cluster's stream, see `facts`.

anomaly.found -> anomaly.changed (suppressed | healing | waiting) ... -> anomaly.changed (over)
"""

from dataclasses import dataclass
from datetime import datetime

from events.registry import fact


@fact("anomaly.found", schema=1)
@dataclass(frozen=True, slots=True)
class AnomalyFound:
    """Something is wrong. `reason` has the numbers it was found by; `words` says why it stands as it does.

    `cluster`: the name, for those who are told.
    """

    anomaly: str
    cluster: str
    kind: str
    subject: str
    reason: str
    state: str
    words: str


@fact("anomaly.changed", schema=1)
@dataclass(frozen=True, slots=True)
class AnomalyChanged:
    """It stands otherwise now; `over` is its end."""

    anomaly: str
    state: str
    words: str


@fact("healing.switched", schema=1)
@dataclass(frozen=True, slots=True)
class HealingSwitched:
    """A person lets Kedge heal anomalies of a kind by itself, or forbids it; `kind` "" is all kinds.

    Until `until`, or until it is switched again; then the spec counts.
    """

    kind: str
    on: bool
    until: datetime | None
    reason: str


@fact("broker.demote_requested", schema=1)
@dataclass(frozen=True, slots=True)
class DemoteRequested:
    """A broker is to lead nothing for now: it goes last in the replica lists it heads. No byte is copied. `by_person`:
    by a person's word, which passes on to this VM from the one before it."""

    key: str
    broker: int
    reason: str
    by_person: bool = False


@fact("brokers.demote_requested", schema=1)
@dataclass(frozen=True, slots=True)
class BrokersDemoteRequested:
    """A person wants these brokers (instance keys and ids, aligned) to lead nothing until it is taken back."""

    keys: tuple[str, ...]
    brokers: tuple[int, ...]
    reason: str


@fact("brokers.undemote_requested", schema=1)
@dataclass(frozen=True, slots=True)
class BrokersUndemoteRequested:
    """A person lets them lead again: they get their share of leaders back."""

    keys: tuple[str, ...]
    reason: str


@fact("broker.demoted", schema=1)
@dataclass(frozen=True, slots=True)
class BrokerDemoted:
    """It heads no list any more. `left`: partitions that nobody else in sync could lead."""

    key: str
    left: int


@fact("broker.demotion_ended", schema=1)
@dataclass(frozen=True, slots=True)
class DemotionEnded:
    """It may lead again, and gets its share of leaders back."""

    key: str
    reason: str


@fact("broker.promoted", schema=1)
@dataclass(frozen=True, slots=True)
class BrokerPromoted:
    """It has its share of leaders again."""

    key: str
