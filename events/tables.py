"""Tables of the event log. SQLModel stays in here and in the projections; the rest of the house sees `Recorded`."""

from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import JSON, BigInteger, Column, DateTime, Dialect, Integer, Table, UniqueConstraint
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel

# SQLite makes only an INTEGER key the row's own address; PostgreSQL needs 8 bytes said out loud.
Position = BigInteger().with_variant(Integer(), "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored in UTC. SQLite knows no zones, so it is taken off there and put back on."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuses naive datetimes with ValueError."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive datetime {value.isoformat()}: give it a time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Always UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class EventRow(SQLModel, table=True):
    """One recorded event. Rows are inserted, never updated, never deleted."""

    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("stream", "version", name="uq_event_stream_version"),
        UniqueConstraint("event_id", name="uq_event_event_id"),
        # One batch per command and stream; `part` numbers the events of a batch. NULL commands do not clash.
        UniqueConstraint("stream", "command_id", "part", name="uq_event_stream_command"),
    )

    position: int = Field(sa_column=Column(Position, primary_key=True, autoincrement=False))
    stream: str
    version: int
    event_id: str
    type: str
    schema_version: int
    data: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    actor: str
    cause: str | None = None
    command_id: str | None = None
    part: int
    epoch: int = Field(sa_column=Column(BigInteger, nullable=False))
    recorded_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class CounterRow(SQLModel, table=True):
    """The global position, counted in the transaction that appends.

    A sequence hands out values outside the transaction: a lower one may become visible later, or never, and a reader
    that follows the log by position loses those events for good.
    """

    __tablename__ = "counter"

    name: str = Field(primary_key=True)
    position: int = Field(sa_column=Column(BigInteger, nullable=False))


class CheckpointRow(SQLModel, table=True):
    """How far one build of one projection has read. Readers use the build that is `live`."""

    __tablename__ = "projection_checkpoint"

    name: str = Field(primary_key=True)
    build: int = Field(primary_key=True)
    position: int = Field(sa_column=Column(BigInteger, nullable=False))
    live: bool
    halted_position: int | None = Field(default=None, sa_column=Column(BigInteger, nullable=True))
    halted_reason: str | None = None
    updated_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


EVENT_COUNTER = "event"


def table_of(model: type[SQLModel]) -> Table:
    """The SQLAlchemy table behind a SQLModel class, for statements that are not about one object."""
    return cast(Table, model.__table__)  # type: ignore[attr-defined]


EVENT = table_of(EventRow)
COUNTER = table_of(CounterRow)
