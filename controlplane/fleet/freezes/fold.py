"""The fold of the stream `freezes`: every freeze that people declared. Pure and total."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from events import codec, envelope, errors, facts
from planner.rollout.windows import Freeze

LONGEST = timedelta(days=30)
"""No freeze lasts longer, so none is forgotten: who needs more declares another one."""

AT_ONCE = datetime.min.replace(tzinfo=UTC)
"""Declared freezes hold from their record on, whatever the clocks of servers say of each other."""


@dataclass(frozen=True, slots=True)
class Thaw:
    """Who ended a freeze, when and why."""

    at: datetime
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeclaredFreeze:
    """One freeze as it was declared, and whether somebody has ended it."""

    fact: facts.FreezeDeclared
    at: datetime
    by: str
    thaw: Thaw | None = None

    @property
    def id(self) -> str:
        return self.fact.id

    @property
    def ends(self) -> datetime:
        """When it ended or will end by itself."""
        return self.fact.until if self.thaw is None else min(self.thaw.at, self.fact.until)

    @property
    def freeze(self) -> Freeze:
        """The same as a value for decisions."""
        fact = self.fact
        named = frozenset(fact.clusters), frozenset(fact.teams), dict(fact.labels)
        return Freeze(AT_ONCE, fact.until, fact.reason, *named, by=person(self.by), id=fact.id, silence=fact.silence)

    def holds(self, now: datetime) -> bool:
        """Whether it is in force."""
        return self.thaw is None and now < self.fact.until

    def held(self, at: datetime) -> bool:
        """Whether it was, or is, in force at that time."""
        return self.at <= at < self.ends


@dataclass(frozen=True, slots=True)
class FreezeFold:
    """All freezes by id, the oldest first."""

    version: int = 0
    by_id: Mapping[str, DeclaredFreeze] = field(default_factory=lambda: MappingProxyType({}))

    def holding(self, now: datetime) -> tuple[DeclaredFreeze, ...]:
        """Those in force."""
        return tuple(d for d in self.by_id.values() if d.holds(now))


def evolve(fold: FreezeFold, recorded: envelope.Recorded) -> FreezeFold:
    """The fold after one event.

    What cannot be read may have been a freeze of anything, and none lasts longer than `LONGEST`: so it counts as one
    of the whole fleet for that long. It has an id, and can be ended like any other.
    """
    try:
        changed = _after(fold, codec.decode(recorded), recorded)
    except (errors.EventsError, LookupError, ValueError) as error:
        changed = _unreadable(recorded, error)
    if changed is None:
        return replace(fold, version=recorded.version)
    return FreezeFold(recorded.version, MappingProxyType({**fold.by_id, changed.id: changed}))


def person(actor: str) -> str:
    """`anna` of `person:anna`."""
    return actor.partition(":")[2] or actor


def _after(fold: FreezeFold, event: object, recorded: envelope.Recorded) -> DeclaredFreeze | None:
    match event:
        case facts.FreezeDeclared():
            if event.id in fold.by_id:
                raise ValueError(f"{event.id} was declared before")
            return DeclaredFreeze(event, recorded.recorded_at, recorded.actor)
        case facts.FreezeThawed():
            known = fold.by_id.get(event.id)
            if known is None or not known.holds(recorded.recorded_at):
                return None
            return replace(known, thaw=Thaw(recorded.recorded_at, recorded.actor, event.reason))
        case _:
            raise LookupError(f"no rule for event type {recorded.type}")


def _unreadable(recorded: envelope.Recorded, error: Exception) -> DeclaredFreeze:
    what = f"event {recorded.position} ({recorded.type}) cannot be read by this release and may be a freeze"
    fact = facts.FreezeDeclared(
        id=f"unreadable-{recorded.version}",
        until=recorded.recorded_at + LONGEST,
        reason=f"{what}: {type(error).__name__}: {error}",
        clusters=(),
        teams=(),
        labels=MappingProxyType({}),
    )
    return DeclaredFreeze(fact, recorded.recorded_at, recorded.actor)
