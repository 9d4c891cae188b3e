"""What becomes of anomalies at one look: which are new, which change their state, which are over. Pure.

Nothing is said twice: a change is a change of state, never a new number. What could not be looked at stays as it is.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from planner.anomalies.kinds import ALARMS, Kind, State


@dataclass(frozen=True, slots=True)
class AnomalyFinding:
    """Something wrong at this look. `subject`: the node, the topic, or what it is about; `reason` has the numbers."""

    kind: Kind
    subject: str
    reason: str

    @property
    def what(self) -> tuple[Kind, str]:
        return self.kind, self.subject


@dataclass(frozen=True, slots=True)
class FindingStatus:
    """Where a finding stands now, and why, in words."""

    state: State
    words: str


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly as it is recorded. `reason`: what was found; `words`: why it is in this state."""

    id: str
    kind: Kind
    subject: str
    reason: str
    state: State
    words: str
    found_at: datetime
    changed_at: datetime
    notified: bool = False
    """Whether it was ever in a state that people are told of."""

    @property
    def what(self) -> tuple[Kind, str]:
        return self.kind, self.subject

    @property
    def is_over(self) -> bool:
        return self.state is State.OVER


@dataclass(frozen=True, slots=True)
class AnomalyChange:
    """One change to record. `anomaly` is None for a new one."""

    finding: AnomalyFinding
    status: FindingStatus
    anomaly: Anomaly | None


Stands = Callable[[AnomalyFinding, datetime], FindingStatus]
"""(finding, since when) -> where it stands now; never OVER."""


def changes(
    open_: Iterable[Anomaly],
    findings: Iterable[AnomalyFinding],
    stands: Stands,
    *,
    looked_at: Collection[Kind],
    now: datetime,
) -> tuple[AnomalyChange, ...]:
    """What this look changes, in the order of kind and subject. Kinds not in `looked_at` were not seen: unknown is
    not over."""
    known: Mapping[tuple[Kind, str], Anomaly] = {a.what: a for a in open_ if not a.is_over}
    seen = {f.what: f for f in findings}
    found: list[AnomalyChange] = []
    for what, finding in sorted(seen.items()):
        before = known.get(what)
        status = stands(finding, before.found_at if before else now)
        if before is None or before.state is not status.state:
            found.append(AnomalyChange(finding, status, before))
    for what, anomaly in sorted(known.items()):
        if what not in seen and anomaly.kind in looked_at:
            gone = AnomalyFinding(anomaly.kind, anomaly.subject, anomaly.reason)
            found.append(AnomalyChange(gone, FindingStatus(State.OVER, _over(anomaly, now)), anomaly))
    return tuple(found)


def _over(anomaly: Anomaly, now: datetime) -> str:
    minutes = (now - anomaly.found_at).total_seconds() / 60
    how = {
        State.FOUND: "it passed by itself within its grace",
        State.SUPPRESSED: "it passed with what Kedge was doing",
        State.HEALING: "it is healed",
        State.WAITING: "it is not so any more",
    }[anomaly.state]
    return f"{how}, after {minutes:.0f} min"


def is_notified(state: State, anomaly: Anomaly | None) -> bool:
    """Whether people are told of this change: an alarm, and the end of one they were told of."""
    if state is State.OVER:
        return anomaly is not None and anomaly.notified
    return state in ALARMS
