"""Rows of the event table as `Recorded`. A rebuild reads every event there is, so this is the hot path of the log."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, Select, String, Text, select, type_coerce

from events.envelope import Recorded
from events.tables import EVENT


class EventRows:
    """How one dialect reads events: `select` has the columns, `fetch` runs a select made from it."""

    def __init__(self, dialect: str) -> None:
        raw = dialect == "sqlite"  # SQLite gives text; converting it here is several times as fast as type by type
        self._from_row: Callable[[Any], Recorded] = _from_text if raw else _from_values
        self.select: Select[Any] = select(
            EVENT.c.position,
            EVENT.c.stream,
            EVENT.c.version,
            EVENT.c.event_id,
            EVENT.c.type,
            EVENT.c.schema_version,
            type_coerce(EVENT.c.data, Text) if raw else EVENT.c.data,
            EVENT.c.actor,
            EVENT.c.cause,
            EVENT.c.command_id,
            EVENT.c.epoch,
            type_coerce(EVENT.c.recorded_at, String) if raw else EVENT.c.recorded_at,
        )

    def fetch(self, connection: Connection, wanted: Select[Any]) -> list[Recorded]:
        """The events of a select, in its order."""
        return [self._from_row(row) for row in connection.execute(wanted)]


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
