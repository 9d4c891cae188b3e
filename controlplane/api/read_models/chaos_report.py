"""Faults that were brought about on purpose and what was recorded after each, by the cluster's own history. Pure.

A history has changes alone: it does not say when a cluster was in full health again. The server looks twice a second
while it plays a game day, and its report does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.api.read_models.changes import EventChange, changes_of
from events.envelope import Recorded

FOLLOWS_WITHIN = timedelta(minutes=5)
"""After a fault is over: what is recorded later is not told as its consequence."""

_INJECTED, _OF_CHAOS = "chaos.injected", "chaos."


@dataclass(frozen=True, slots=True)
class FaultStatus:
    """One fault. `ended_at` is None while it is not over. `followed`: what Kedge recorded until the next fault, or
    five minutes after its end, oldest first.
    """

    id: str
    fault: str
    keys: tuple[str, ...]
    who: str
    reason: str
    at: datetime
    for_s: float
    ended_at: datetime | None
    followed: tuple[EventChange, ...]

    @property
    def settled_s(self) -> float | None:
        """Until the last thing it recorded, in seconds."""
        return (self.followed[-1].at - self.at).total_seconds() if self.followed else None


def fault_statuses(events: Sequence[Recorded]) -> list[FaultStatus]:
    """Every fault of these events of one cluster, in the order they were recorded in; the newest first."""
    starts = [n for n, event in enumerate(events) if event.type == _INJECTED]
    ends = [*starts[1:], len(events)]
    statuses = [
        _fault_status(events[n], events[n + 1 :], events[n + 1 : end]) for n, end in zip(starts, ends, strict=False)
    ]
    statuses.reverse()
    return statuses


def _fault_status(event: Recorded, later: Sequence[Recorded], until_next: Sequence[Recorded]) -> FaultStatus:
    data = event.data
    number, reason, lasts_s = str(data["chaos"]), str(data["reason"]), float(data["for_s"])
    ended = next((e for e in later if e.type == "chaos.ended" and e.data["chaos"] == number), None)
    at = event.recorded_at
    until = (ended.recorded_at if ended else at + timedelta(seconds=lasts_s)) + FOLLOWS_WITHIN
    followed = [e for e in until_next if _is_kedges(e) and e.recorded_at <= until]
    return FaultStatus(
        id=number,
        fault=str(data["fault"]),
        keys=tuple(str(key) for key in data["keys"]),
        who=event.actor.partition(":")[2] or event.actor,
        reason=reason,
        at=at,
        for_s=lasts_s,
        ended_at=ended.recorded_at if ended else None,
        followed=tuple(reversed(changes_of(followed))),
    )


def _is_kedges(event: Recorded) -> bool:
    return not event.type.startswith(_OF_CHAOS) and event.actor.partition(":")[0] not in ("person", "git")
