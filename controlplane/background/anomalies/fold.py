"""What is recorded of a cluster's anomalies: the fold of its stream. Pure, and total: what it cannot place is told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from controlplane.storage.streams import anomalies_stream
from events import codec, envelope, errors, facts, ids
from events.store import EventStore
from planner.anomalies.judge import Anomaly
from planner.anomalies.kinds import ALARMS, Kind, State

REMEMBERED = 500
"""Anomalies that are over and still shown, the newest ones; the stream has them all."""


@dataclass(frozen=True, slots=True)
class AnomalyFold:
    """`open_` by id, and `past` with the newest end first. `unreadable`: why the stream cannot be read."""

    version: int = 0
    found: int = 0
    """Anomalies found, ever."""
    open_: Mapping[str, Anomaly] = field(default_factory=lambda: MappingProxyType({}))
    past: tuple[Anomaly, ...] = ()
    unreadable: str = ""

    def every(self) -> tuple[Anomaly, ...]:
        """Open ones first, each part newest first."""
        return (*sorted(self.open_.values(), key=lambda a: (a.found_at, a.id), reverse=True), *self.past)


EMPTY = AnomalyFold()


def read_anomalies(store: EventStore, uid: ids.ClusterUid, known: AnomalyFold = EMPTY) -> AnomalyFold:
    """The fold as it is recorded now, read on from what is known. Raises StoreUnavailable."""
    return folded(known, store.read_stream(anomalies_stream(uid), known.version))


def folded(fold: AnomalyFold, history: Iterable[envelope.Recorded]) -> AnomalyFold:
    """The fold after all these events."""
    for recorded in history:
        fold = _evolve(fold, recorded)
    return fold


def _evolve(fold: AnomalyFold, recorded: envelope.Recorded) -> AnomalyFold:
    if fold.unreadable:
        return replace(fold, version=recorded.version)
    try:
        after = _applied(fold, codec.decode(recorded), recorded)
    except (errors.EventsError, LookupError, ValueError) as error:
        reason = f"event {recorded.version} ({recorded.type}): {error}"
        return replace(fold, version=recorded.version, unreadable=reason)
    return replace(after, version=recorded.version)


def _applied(fold: AnomalyFold, event: object, recorded: envelope.Recorded) -> AnomalyFold:
    at = recorded.recorded_at
    match event:
        case facts.AnomalyFound():
            state = State(event.state)
            anomaly = Anomaly(
                id=event.anomaly,
                kind=Kind(event.kind),
                subject=event.subject,
                reason=event.reason,
                state=state,
                words=event.words,
                found_at=at,
                changed_at=at,
                notified=state in ALARMS,
            )
            opened = MappingProxyType({**fold.open_, event.anomaly: anomaly})
            return replace(fold, open_=opened, found=fold.found + 1)
        case facts.AnomalyChanged():
            before, state = fold.open_[event.anomaly], State(event.state)
            after = replace(
                before, state=state, words=event.words, changed_at=at, notified=before.notified or state in ALARMS
            )
            if not after.is_over:
                return replace(fold, open_=MappingProxyType({**fold.open_, after.id: after}))
            left = MappingProxyType({k: a for k, a in fold.open_.items() if k != after.id})
            return replace(fold, open_=left, past=(after, *fold.past)[:REMEMBERED])
        case _:
            raise LookupError(f"no rule for {type(event).__name__} in a stream of anomalies")
