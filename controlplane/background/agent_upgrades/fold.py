"""The fold of the stream `agents`: every version there ever was, and which one VMs are to run. Pure and total."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from events import facts
from events.codec import decode
from events.envelope import Recorded
from events.errors import EventsError


@dataclass(frozen=True, slots=True)
class Release:
    """One published version. `withdrawn` says why no VM is to run it, "" where one may."""

    fact: facts.AgentPublished
    at: datetime
    by: str
    withdrawn: str = ""

    @property
    def version(self) -> str:
        return self.fact.version

    @property
    def platforms(self) -> frozenset[str]:
        return frozenset(b.platform for b in self.fact.builds)


@dataclass(frozen=True, slots=True)
class AgentReleases:
    """All releases, oldest first. Failures before `resumed_at` are forgiven. `unreadable`: why nobody is asked."""

    version: int = 0
    releases: tuple[Release, ...] = ()
    resumed_at: datetime | None = None
    unreadable: str = ""

    @property
    def wanted(self) -> Release | None:
        """What every VM is to run: the last one published that is not withdrawn."""
        if self.unreadable:
            return None
        return next((r for r in reversed(self.releases) if not r.withdrawn), None)

    def of(self, version: str) -> Release | None:
        return next((r for r in self.releases if r.version == version), None)


def folded(fold: AgentReleases, history: Iterable[Recorded]) -> AgentReleases:
    """The fold after all these events."""
    for recorded in history:
        fold = evolve(fold, recorded)
    return fold


def evolve(fold: AgentReleases, recorded: Recorded) -> AgentReleases:
    """The fold after one event; what cannot be placed makes it unreadable, and no VM is asked for anything then."""
    if fold.unreadable:
        return replace(fold, version=recorded.version)
    try:
        return replace(_after(fold, decode(recorded), recorded), version=recorded.version)
    except (EventsError, LookupError, ValueError) as error:
        reason = f"event {recorded.position} ({recorded.type}): {type(error).__name__}: {error}"
        return replace(fold, version=recorded.version, unreadable=reason)


def _after(fold: AgentReleases, event: object, recorded: Recorded) -> AgentReleases:
    match event:
        case facts.AgentPublished():
            if fold.of(event.version) is not None:
                raise ValueError(f"{event.version} was published before")
            release = Release(event, recorded.recorded_at, recorded.actor)
            return replace(fold, releases=(*fold.releases, release))
        case facts.AgentWithdrawn():
            if fold.of(event.version) is None:
                raise LookupError(f"{event.version} was never published")
            why = event.reason or "withdrawn"
            changed = (replace(r, withdrawn=why) if r.version == event.version else r for r in fold.releases)
            return replace(fold, releases=tuple(changed))
        case facts.AgentRolloutResumed():
            return replace(fold, resumed_at=recorded.recorded_at)
        case _:
            raise LookupError(f"no rule for event type {recorded.type}")
