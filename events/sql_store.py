"""The event store on SQLite and PostgreSQL.

The global position comes from a counter row that is raised in the very transaction that inserts the events: positions
are committed in order, without gaps, and a reader that follows them misses nothing (`CounterRow` says why a sequence
will not do). On PostgreSQL everything is one statement, sent with autocommit: the counter's lock lives as long as that
statement and its commit, and no round trip or Python thread switch happens while it is held.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from events import envelope, errors, idempotence, rows
from events.clock import Clock, utc_now
from events.engine import answering, reading, writing
from events.tables import COUNTER, EVENT, EVENT_COUNTER, UtcDateTime

_PAGE = 2000

RECORDED = "kedge_recorded"
"""The channel of PostgreSQL on which it is told that something was recorded, as it is committed."""


class SqlEventStore:
    """Events in the tables of `events.tables`. Thread-safe. `clock` stamps `recorded_at`, which is data only."""

    def __init__(self, engine: Engine, clock: Clock = utc_now) -> None:
        self.engine = engine
        self._clock = clock
        self._sqlite = engine.dialect.name == "sqlite"
        self._rows = rows.EventRows(engine.dialect.name)

    def append(
        self, stream: str, events: Sequence[envelope.NewEvent], *, expected_version: int, origin: envelope.Origin
    ) -> list[envelope.Recorded]:
        """Records all events or none. Raises StreamConflict, EventIdTaken, StoreUnavailable."""
        if not events:
            return []
        idempotence.refuse_repeated_ids(stream, events)
        try:
            with self._transaction() as connection:
                return self.append_within(connection, stream, events, expected_version=expected_version, origin=origin)
        except IntegrityError as error:
            # A rival's transaction was committed between our look and our insert; what it wrote is visible now.
            with reading(self.engine) as connection:
                earlier = self._recorded_before(connection, stream, events, origin)
                if earlier is not None:
                    return earlier
                raise errors.StreamConflict(stream, expected_version, _version_of(connection, stream)) from error

    def append_within(
        self,
        connection: Connection,
        stream: str,
        events: Sequence[envelope.NewEvent],
        *,
        expected_version: int,
        origin: envelope.Origin,
    ) -> list[envelope.Recorded]:
        """The append inside a caller's transaction: the last statement before the commit, as it holds the counter.

        Raises what `append` does, and IntegrityError when a rival was faster.
        """
        sealed = _seal(stream, events, expected_version, origin, self._clock())
        write = self._write_locked if self._sqlite else self._write_at_once
        base = write(connection, stream, sealed, expected_version, origin)
        if base is not None:
            return [_recorded(position, row) for position, row in enumerate(sealed, start=base + 1)]
        earlier = self._recorded_before(connection, stream, events, origin)
        if earlier is not None:
            return earlier
        raise errors.StreamConflict(stream, expected_version, _version_of(connection, stream))

    def read_stream(self, stream: str, after_version: int = 0) -> list[envelope.Recorded]:
        """Events of one stream in order, after the given version. Raises StoreUnavailable."""
        wanted = self._rows.select.where(EVENT.c.stream == stream, EVENT.c.version > after_version).order_by(
            EVENT.c.version
        )
        with reading(self.engine) as connection:
            return self._rows.fetch(connection, wanted)

    def read_all(self, after_position: int = 0, limit: int = 1000) -> list[envelope.Recorded]:
        """Events of all streams in global order, after the given position, at most `limit`. Raises StoreUnavailable."""
        wanted = self._rows.select.where(EVENT.c.position > after_position).order_by(EVENT.c.position).limit(limit)
        with reading(self.engine) as connection:
            return self._rows.fetch(connection, wanted)

    def iterate_all(self, after_position: int = 0) -> Iterator[envelope.Recorded]:
        """All events in global order up to the head at the time of the call, read in pages."""
        return self._pages(max(0, after_position), self.head())

    def head(self) -> int:
        """Highest global position, 0 when empty. Raises StoreUnavailable."""
        with reading(self.engine) as connection:
            return int(connection.execute(select(func.coalesce(func.max(EVENT.c.position), 0))).scalar_one())

    def verify(self) -> int:
        """The start-up check `max(position) = count(*) = counter`. Returns the head; raises PositionGap."""
        with reading(self.engine) as connection:
            return verify_positions(connection)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        if self._sqlite:
            with writing(self.engine) as connection:
                yield connection
        else:
            with answering(self.engine), self.engine.connect() as connection:
                yield connection.execution_options(isolation_level="AUTOCOMMIT")

    def _pages(self, after: int, head: int) -> Iterator[envelope.Recorded]:
        while after < head:
            page = self.read_all(after, min(_PAGE, head - after))
            if not page:
                return
            yield from page
            after = page[-1].position

    def _recorded_before(
        self, connection: Connection, stream: str, events: Sequence[envelope.NewEvent], origin: envelope.Origin
    ) -> list[envelope.Recorded] | None:
        if origin.command_id is not None:
            of_command = self._rows.select.where(EVENT.c.stream == stream, EVENT.c.command_id == origin.command_id)
            earlier = self._rows.fetch(connection, of_command.order_by(EVENT.c.part))
            if earlier:
                return earlier
        of_ids = self._rows.select.where(EVENT.c.event_id.in_([event.event_id for event in events]))
        return idempotence.same_batch(stream, events, self._rows.fetch(connection, of_ids))

    def _write_locked(
        self, connection: Connection, stream: str, sealed: list[dict[str, Any]], expected: int, origin: envelope.Origin
    ) -> int | None:
        """SQLite, which cannot insert from an UPDATE: two statements under the write lock held since BEGIN."""
        base: int | None = connection.execute(
            _TAKE_POSITIONS, _taking(stream, sealed, expected, origin)
        ).scalar_one_or_none()
        if base is not None:
            connection.execute(insert(EVENT), [row | {"position": base + row["part"] + 1} for row in sealed])
        return base

    def _write_at_once(
        self, connection: Connection, stream: str, sealed: list[dict[str, Any]], expected: int, origin: envelope.Origin
    ) -> int | None:
        """PostgreSQL: the look, the counter and the insert are one statement."""
        batch = [{name: row[name] for name in ("part", "event_id", "type", "schema_version", "data")} for row in sealed]
        parameters = _taking(stream, sealed, expected, origin) | {
            "batch": json.dumps(batch, ensure_ascii=False, allow_nan=False),
            "actor": origin.actor,
            "cause": origin.cause,
            "epoch": origin.epoch,
            "recorded_at": sealed[0]["recorded_at"],
        }
        positions = connection.execute(_APPEND_AT_ONCE, parameters).scalars().all()
        return min(positions) - 1 if positions else None


def verify_positions(connection: Connection) -> int:
    """Checks `max(position) = count(*) = counter` and returns it. Raises PositionGap."""
    highest, count = connection.execute(
        select(func.coalesce(func.max(EVENT.c.position), 0), func.count()).select_from(EVENT)
    ).one()
    counter = connection.execute(select(COUNTER.c.position).where(COUNTER.c.name == EVENT_COUNTER)).scalar_one()
    if not highest == count == counter:
        raise errors.PositionGap(highest, count, counter)
    return int(highest)


# Takes positions only when the version is as expected and the ids are new. On PostgreSQL all that is looked at in one
# snapshot; a rival that commits while the UPDATE waits for the counter is not in it, and is caught by the unique
# constraints.
_TAKE = """
UPDATE counter SET position = position + :size
 WHERE name = :counter
   AND (SELECT coalesce(max(version), 0) FROM event WHERE stream = :stream) = :expected
   AND NOT EXISTS (SELECT 1 FROM event WHERE event_id IN ({event_ids}))
   AND NOT EXISTS (SELECT 1 FROM event WHERE stream = :stream AND command_id = CAST(:command_id AS text))
RETURNING position - :size AS base
"""

_TAKE_POSITIONS = text(_TAKE.format(event_ids="SELECT value FROM json_each(:event_ids)"))

# The data stays JSON text all the way: json, not jsonb. Whoever listens is told at the commit, once for a batch.
_INSERT_TAKEN = """
WITH taken AS ({take})
INSERT INTO event (position, stream, version, event_id, type, schema_version, data,
                   actor, cause, command_id, part, epoch, recorded_at)
SELECT taken.base + batch.part + 1, :stream, :expected + batch.part + 1,
       batch.event_id, batch.type, batch.schema_version, batch.data,
       :actor, CAST(:cause AS text), CAST(:command_id AS text), batch.part, :epoch, :recorded_at
  FROM taken, json_to_recordset(CAST(:batch AS json))
       AS batch (part int, event_id text, type text, schema_version int, data json)
RETURNING position, pg_notify('{channel}', '')
"""

_APPEND_AT_ONCE = text(
    _INSERT_TAKEN.format(
        take=_TAKE.format(event_ids="SELECT json_array_elements_text(CAST(:event_ids AS json))"), channel=RECORDED
    )
).bindparams(bindparam("recorded_at", type_=UtcDateTime))


def _taking(stream: str, sealed: list[dict[str, Any]], expected: int, origin: envelope.Origin) -> dict[str, Any]:
    return {
        "counter": EVENT_COUNTER,
        "size": len(sealed),
        "stream": stream,
        "expected": expected,
        "event_ids": json.dumps([row["event_id"] for row in sealed]),
        "command_id": origin.command_id,
    }


def _seal(
    stream: str, events: Sequence[envelope.NewEvent], expected_version: int, origin: envelope.Origin, now: datetime
) -> list[dict[str, Any]]:
    """The rows of a batch, all but the position."""
    return [
        {
            "stream": stream,
            "version": expected_version + part + 1,
            "event_id": event.event_id,
            "type": event.type,
            "schema_version": event.schema,
            # Through JSON and back: the caller gets what a reader will get, and unstorable data fails early.
            "data": json.loads(json.dumps(dict(event.data), allow_nan=False)),
            "actor": origin.actor,
            "cause": origin.cause,
            "command_id": origin.command_id,
            "part": part,
            "epoch": origin.epoch,
            "recorded_at": now,
        }
        for part, event in enumerate(events)
    ]


def _recorded(position: int, row: dict[str, Any]) -> envelope.Recorded:
    return envelope.Recorded(
        position=position,
        stream=row["stream"],
        version=row["version"],
        event_id=row["event_id"],
        type=row["type"],
        schema=row["schema_version"],
        data=row["data"],
        actor=row["actor"],
        cause=row["cause"],
        command_id=row["command_id"],
        epoch=row["epoch"],
        recorded_at=row["recorded_at"],
    )


def _version_of(connection: Connection, stream: str) -> int:
    wanted = select(func.coalesce(func.max(EVENT.c.version), 0)).where(EVENT.c.stream == stream)
    return int(connection.execute(wanted).scalar_one())
