"""How Alembic reaches the database. `controlplane.storage.migrate` hands over an engine; there is no alembic.ini."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Engine, text
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import AutoString

import controlplane.storage.tables  # noqa: F401  (imported for its tables)
from events.tables import UtcDateTime

# Any number; all servers of an installation must use the same one.
_MIGRATION_LOCK = 5_241_960_017


def run() -> None:
    """Applies or compares migrations in one transaction, one server at a time."""
    engine: Engine = context.config.attributes["engine"]
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
        context.configure(
            connection=connection,
            target_metadata=SQLModel.metadata,
            include_name=_is_ours,
            render_item=_render,
            compare_type=True,
            render_as_batch=connection.dialect.name == "sqlite",  # SQLite alters a table by copying it
            transactional_ddl=True,  # true for SQLite as well: our engine sends BEGIN itself
        )
        with context.begin_transaction():
            context.run_migrations()


def _is_ours(name: str | None, kind: str, _parents: Any) -> bool:
    """Tables of others in the same database are none of our business."""
    return kind != "table" or name in SQLModel.metadata.tables


def _render(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Migrations are history: they name SQLAlchemy's types, not classes of ours that may move."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, AutoString):
        return "sa.String()"
    return False


run()
