"""Projections: what readers look at, folded from the log and thrown away at will.

A projection's rows and its checkpoint are written in one transaction, so each event takes effect exactly once whatever
crashes. An event that cannot be applied halts that projection before it, with an alert; it is never skipped. A rebuild
fills a new *build* of the rows beside the live one and swaps when it has caught up: every row of a projection carries a
build number, and readers filter by `live_build`.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Engine, Select, Update, delete, insert, select, update
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError

from events.clock import Clock, utc_now
from events.engine import reading, writing
from events.envelope import Recorded
from events.errors import StoreUnavailable
from events.store import EventStore
from events.tables import CHECKPOINT


class Projection(Protocol):
    """A fold into tables. `name` is stable: it is the checkpoint's key."""

    name: str

    def apply(self, transaction: Connection, build: int, event: Recorded) -> None:
        """Folds one event into the rows of `build`. Whatever it raises halts the projection at this event."""
        ...

    def clear(self, transaction: Connection, build: int) -> None:
        """Deletes all rows of `build`."""
        ...


@dataclass(frozen=True, slots=True)
class Halted:
    """The alert: a projection stands still before an event it cannot apply."""

    projection: str
    position: int
    reason: str

    def __str__(self) -> str:
        return (
            f"projection {self.projection!r} has stopped before event {self.position}: {self.reason}. "
            "What it shows is old. Run a release that knows the event; it resumes by itself at the next start."
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a projection stands: `position` is folded in; `behind` events of the log are not."""

    position: int
    behind: int
    halted: Halted | None = None


class ProjectionRunner:
    """Feeds one projection from a store. Any number of runners may run at once: the checkpoint row is the lock.

    One rebuild at a time, though: a rebuild clears what an interrupted one left.
    """

    def __init__(
        self, engine: Engine, store: EventStore, projection: Projection, *, batch: int = 500, clock: Clock = utc_now
    ) -> None:
        self._engine = engine
        self._store = store
        self._projection = projection
        self._name = projection.name
        self._batch = batch
        self._clock = clock

    def catch_up(self) -> Progress:
        """Folds everything up to the head into the live build, or up to a poison event. Raises StoreUnavailable."""
        while True:
            progress = self._run(self._live_build_or_first())
            if progress is not None:  # None: a rebuild elsewhere swapped the build away
                return progress

    def resume(self) -> Progress:
        """Tries the event again at which the projection halted: after an upgrade, or at start."""
        build = self._live_build_or_first()
        with writing(self._engine) as transaction:
            transaction.execute(self._at(build).values(halted_position=None, halted_reason=None))
        return self.catch_up()

    def rebuild(self) -> Progress:
        """Folds the whole log into a new build while readers use the old one, then swaps. A halt swaps nothing."""
        old = self._live_build_or_first()
        new = self._start_build()
        while True:
            progress = self._run(new)
            if progress is None:
                raise RuntimeError(f"projection {self._name!r}: another rebuild took over; run one at a time")
            if progress.halted is not None:
                return progress
            if self._swap(old, new):
                return self.catch_up()

    def _run(self, build: int) -> Progress | None:
        while True:
            progress = self._fold_batch(build)
            if progress is None or progress.halted is not None or progress.behind <= 0:
                return progress

    def _fold_batch(self, build: int) -> Progress | None:
        with reading(self._engine) as connection:
            row = connection.execute(self._checkpoint(build)).one_or_none()
        if row is None:
            return None
        if row.halted_position is not None:
            halted = Halted(self._name, row.halted_position, row.halted_reason)
            return Progress(row.position, self._store.head() - row.position, halted)
        events = self._store.read_all(row.position, self._batch)
        try:
            return self._fold(build, row.position, events, halted=None)
        except _Poison as poison:
            # The transaction is gone with what came before the poison: fold that part again, and the halt with it.
            before = [event for event in events if event.position < poison.halted.position]
            return self._fold(build, row.position, before, halted=poison.halted)

    def _fold(self, build: int, start: int, events: Sequence[Recorded], *, halted: Halted | None) -> Progress | None:
        with writing(self._engine) as transaction:
            row = transaction.execute(self._checkpoint(build).with_for_update()).one_or_none()
            if row is None:
                return None
            if row.position != start or row.halted_position is not None:  # another runner was faster: look again
                return Progress(row.position, behind=1)
            position = start
            for event in events:
                self._apply(transaction, build, event)
                position = event.position
            transaction.execute(
                self._at(build).values(
                    position=position,
                    halted_position=halted.position if halted else None,
                    halted_reason=halted.reason if halted else None,
                    updated_at=self._clock(),
                )
            )
        return Progress(position, self._store.head() - position, halted)

    def _apply(self, transaction: Connection, build: int, event: Recorded) -> None:
        try:
            self._projection.apply(transaction, build, event)
        except (StoreUnavailable, OperationalError, InterfaceError):
            raise  # the database's trouble, not the event's
        except Exception as error:
            reason = f"{event.type} of {event.stream}: {type(error).__name__}: {error}"
            raise _Poison(Halted(self._name, event.position, reason)) from error

    def _live_build_or_first(self) -> int:
        with reading(self._engine) as connection:
            build = live_build(connection, self._name)
        if build is not None:
            return build
        # Two first runners at once: the key lets one win, and both go on with its build.
        with suppress(IntegrityError), writing(self._engine) as transaction:
            self._insert_checkpoint(transaction, build=1, live=True)
        return 1

    def _start_build(self) -> int:
        with writing(self._engine) as transaction:
            builds = transaction.execute(select(CHECKPOINT.c.build, CHECKPOINT.c.live).where(_named(self._name))).all()
            for left_over in (row.build for row in builds if not row.live):
                self._projection.clear(transaction, left_over)
                transaction.execute(delete(CHECKPOINT).where(_named(self._name), CHECKPOINT.c.build == left_over))
            build: int = max(row.build for row in builds) + 1
            self._insert_checkpoint(transaction, build=build, live=False)
            return build

    def _swap(self, old: int, new: int) -> bool:
        """Makes `new` live and removes `old`. False when `old` has read further meanwhile: readers never go back."""
        with writing(self._engine) as transaction:
            rows = transaction.execute(select(CHECKPOINT).where(_named(self._name)).with_for_update()).all()
            position = {row.build: row.position for row in rows}
            if position[new] < position[old]:
                return False
            transaction.execute(delete(CHECKPOINT).where(_named(self._name), CHECKPOINT.c.build == old))
            transaction.execute(self._at(new).values(live=True))
            self._projection.clear(transaction, old)
            return True

    def _insert_checkpoint(self, transaction: Connection, *, build: int, live: bool) -> None:
        values = {"name": self._name, "build": build, "position": 0, "live": live, "updated_at": self._clock()}
        transaction.execute(insert(CHECKPOINT).values(values))

    def _checkpoint(self, build: int) -> Select[Any]:
        return select(CHECKPOINT).where(_named(self._name), CHECKPOINT.c.build == build)

    def _at(self, build: int) -> Update:
        return update(CHECKPOINT).where(_named(self._name), CHECKPOINT.c.build == build)


def live_build(connection: Connection, projection: str) -> int | None:
    """The build readers of a projection must filter by, or None before its first run."""
    live = select(CHECKPOINT.c.build).where(_named(projection), CHECKPOINT.c.live)
    return connection.execute(live).scalar_one_or_none()


class _Poison(Exception):
    def __init__(self, halted: Halted) -> None:
        super().__init__(str(halted))
        self.halted = halted


def _named(projection: str) -> ColumnElement[bool]:
    return CHECKPOINT.c.name == projection
