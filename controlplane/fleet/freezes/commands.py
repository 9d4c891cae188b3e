"""What people ask of freezes: declare one, end one before its time, look which there are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from controlplane.cluster.commands import ClusterNotFound, CommandRefused
from controlplane.cluster.view import ClusterView
from controlplane.fleet.freezes.fold import LONGEST, DeclaredFreeze, FreezeFold, person
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.stream_command import recorded_once
from controlplane.runtime.quantities import moment_to_minute
from controlplane.storage.streams import FREEZES
from events import facts
from events.clock import Clock
from events.envelope import Origin
from events.ids import derived_id
from events.store import EventStore
from planner.rollout.windows import Freeze

MOST = 100
"""Freezes in force at a time: each is held against every cluster at every tick."""
SILENCED = "; notices wait until then, but critical ones"


@dataclass(frozen=True, slots=True)
class WantedFreeze:
    """A freeze as somebody asks for it. `everything` says that the whole fleet is meant; else something is named.
    `silence`: notices of what is not critical wait until it ends."""

    until: datetime
    reason: str
    clusters: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    everything: bool = False
    silence: bool = False


@dataclass(frozen=True, slots=True)
class FreezeAnswer:
    """What came of it: the freeze's id, and a sentence."""

    id: str
    sentence: str


@dataclass(frozen=True, slots=True)
class FreezeStatus:
    """All freezes: those of the settings, and those people declared, the newest first."""

    of_settings: tuple[Freeze, ...] = ()
    declared: tuple[DeclaredFreeze, ...] = ()


class Freezes(Protocol):
    """What people ask of freezes; `FreezeService` is one."""

    def status(self) -> FreezeStatus: ...

    def declare(self, wanted: WantedFreeze, *, actor: str, command_id: str) -> FreezeAnswer: ...

    def thaw(self, name: str, *, reason: str, actor: str, command_id: str) -> FreezeAnswer: ...


@dataclass(frozen=True, slots=True)
class FreezeService:
    """Safe to call from many threads and from several servers. `catch_up` folds what was recorded, by whomever."""

    store: EventStore
    cache: FreezeCache
    views: Callable[[], Sequence[ClusterView]]
    catch_up: Callable[[], None]
    clock: Clock

    def status(self) -> FreezeStatus:
        """As of now."""
        self.catch_up()
        declared = tuple(self.cache.fold().by_id.values())
        return FreezeStatus(self.cache.of_settings, tuple(reversed(declared)))

    def declare(self, wanted: WantedFreeze, *, actor: str, command_id: str) -> FreezeAnswer:
        """Nothing voluntary begins on what is named from now on. Idempotent by `command_id`.

        Raises `CommandRefused` without a sensible end or a name, `ClusterNotFound` for a cluster that is not there.
        """

        def decide(fold: FreezeFold) -> tuple[object | None, FreezeAnswer]:
            now = self.clock()
            _refuse_senseless(wanted, now)
            known = {v.name for v in self.views() if v.document is not None and not v.deleted}
            for cluster in wanted.clusters:
                if cluster not in known:
                    raise ClusterNotFound(cluster)
            if len(fold.holding(now)) >= MOST:
                raise CommandRefused(
                    "freezes-too-many",
                    f"{MOST} freezes are in force already, and there are never more",
                    "Thaw those that are not needed: kedge freezes",
                )
            name = f"freeze-{fold.version + 1}"
            fact = facts.FreezeDeclared(
                name,
                wanted.until,
                wanted.reason,
                wanted.clusters,
                wanted.teams,
                dict(wanted.labels),
                wanted.silence,
            )
            whom = named_in_words(wanted.clusters, wanted.teams, dict(wanted.labels))
            words = (
                f"{name}: {whom} frozen until {moment_to_minute(wanted.until)}; what has begun is ended, repairs go on"
                f"{SILENCED if wanted.silence else ''}"
            )
            return fact, FreezeAnswer(name, words)

        return self._record(decide, actor, command_id)

    def thaw(self, name: str, *, reason: str, actor: str, command_id: str) -> FreezeAnswer:
        """Ends that freeze now. Idempotent. Raises `CommandRefused` where there is none of that id."""

        def decide(fold: FreezeFold) -> tuple[object | None, FreezeAnswer]:
            known = fold.by_id.get(name)
            if known is None:
                raise not_found(name)
            if known.thaw is not None:
                return None, FreezeAnswer(
                    name, f"{name} was thawed already by {person(known.thaw.by)}: {known.thaw.reason}"
                )
            if not known.holds(self.clock()):
                return None, FreezeAnswer(name, f"{name} has ended by itself at {moment_to_minute(known.ends)}")
            words = f"{name} is thawed; what it held goes on, where no other freeze holds it (kedge freezes)"
            return facts.FreezeThawed(name, reason), FreezeAnswer(name, words)

        return self._record(decide, actor, command_id)

    def _record(
        self, decide: Callable[[FreezeFold], tuple[object | None, FreezeAnswer]], actor: str, command_id: str
    ) -> FreezeAnswer:
        return recorded_once(
            self.store,
            FREEZES,
            look=self._look,
            decide=decide,
            event_id=derived_id("freeze-command", command_id),
            origin=Origin(actor, command_id=command_id),
            known=lambda done: FreezeAnswer(str(done.data["id"]), f"{done.data['id']}: asked for already"),
            recorded=lambda _: self.catch_up(),
        )

    def _look(self) -> FreezeFold:
        self.catch_up()
        return self.cache.fold()


def named_in_words(clusters: Sequence[str], teams: Sequence[str], labels: Mapping[str, str]) -> str:
    """Whom a freeze names: `orders, payments and clusters of the team billing are`, `the whole fleet is`."""
    parts = [", ".join(clusters)] if clusters else []
    if teams:
        parts.append(f"clusters of the team {' or '.join(teams)}")
    if labels:
        parts.append(f"clusters with {', '.join(f'{k}={v}' for k, v in sorted(labels.items()))}")
    if not parts:
        return "the whole fleet is"
    alone = len(clusters) == 1 and len(parts) == 1
    return f"{' and '.join(parts)} {'is' if alone else 'are'}"


def not_found(name: str) -> CommandRefused:
    """There is no such freeze, or the caller may not know of it."""
    message = f"there is no freeze {name!r} that people declared"
    return CommandRefused("freeze-not-found", message, "`kedge freezes` lists them; those of the settings have no id.")


def _refuse_senseless(wanted: WantedFreeze, now: datetime) -> None:
    named = bool(wanted.clusters or wanted.teams or wanted.labels)
    if named == wanted.everything:
        message = "it names clusters and everything" if named else "it names no cluster, team or label"
        raise CommandRefused("freeze-names-nothing", f"nothing was frozen: {message}", "Name what is meant, or all.")
    if wanted.until <= now:
        raise CommandRefused(
            "freeze-over", f"nothing was frozen: {moment_to_minute(wanted.until)} has passed", "Give a later end."
        )
    if wanted.until > now + LONGEST:
        raise CommandRefused(
            "freeze-too-long",
            f"nothing was frozen: {moment_to_minute(wanted.until)} is more than {LONGEST.days} days away, and a "
            "freeze that nobody remembers keeps fixes out",
            "Give an earlier end and declare another one then; a freeze planned long before is for the settings.",
        )
