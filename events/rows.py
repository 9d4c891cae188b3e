"""Rows of the event table as `Recorded`. A rebuild reads every event there is, so this is the hot path of the log."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, cast

from pydantic_core import from_json
from sqlalchemy import Connection, Select, select

from events.envelope import Recorded
from events.tables import EVENT


class EventRows:
    """How one dialect reads events: `select` has the columns, `fetch` runs a select made from it."""

    def __init__(self, dialect: str) -> None:
        # SQLite gives text: read past SQLAlchemy's rows and types, at about half the cost.
        self._raw = dialect == "sqlite"
        self._from_row: Callable[[Any], Recorded] = _from_text if self._raw else _from_values
        self.select: Select[Any] = select(
            EVENT.c.position,
            EVENT.c.stream,
            EVENT.c.version,
            EVENT.c.event_id,
            EVENT.c.type,
            EVENT.c.schema_version,
            EVENT.c.data,
            EVENT.c.actor,
            EVENT.c.cause,
            EVENT.c.command_id,
            EVENT.c.epoch,
            EVENT.c.recorded_at,
        )

    def fetch(self, connection: Connection, wanted: Select[Any]) -> list[Recorded]:
        """The events of a select, in its order."""
        result = connection.execute(wanted)
        return list(map(self._from_row, cast(Iterable[Any], result.cursor) if self._raw else result))


def _from_values(row: Any) -> Recorded:
    return Recorded(*row)


def _from_text(row: Any) -> Recorded:
    position, stream, version, event_id, name, schema, data, actor, cause, command_id, epoch, recorded_at = row
    return Recorded(
        position,
        stream,
        version,
        event_id,
        name,
        schema,
        from_json(data),
        actor,
        cause,
        command_id,
        epoch,
        datetime.fromisoformat(recorded_at + "+00:00"),  # `UtcDateTime` wrote it without its zone
    )
