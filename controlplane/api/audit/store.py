"""The audit trail on memory, SQLite and PostgreSQL. It only grows: the table's triggers refuse anything else."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Engine, Row, insert, or_, select, text

from controlplane.api.audit.entry import FIRST, Entry, Kept, Outcome, kept
from controlplane.storage.tables import AUDIT_ENTRY
from events.engine import reading, writing

_PAGE = 1000
# Any number; all servers of an installation must use the same one. To lock the table takes a right to change rows.
_TURN = text("SELECT pg_advisory_xact_lock(5241960018)")


class AuditBroken(Exception):
    """A row of the audit trail was changed or taken out. What now: somebody had the database; compare with a backup."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """What of the trail is wanted. Empty parts let everything through; texts match anywhere, whatever their case.

    `before` is a position: the page ends below it. With `after`, another, it begins above that and has
    the oldest first.
    """

    text: str = ""
    who: str = ""
    outcome: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int = 0
    after: int | None = None
    request: str = ""
    """The whole id of a request."""


class AuditStore(Protocol):
    """Contract: tests/contract/test_portal_tokens.py."""

    def append(self, entry: Entry) -> Kept:
        """Keeps an entry in the next place. Raises StoreUnavailable."""

    def page(self, wanted: AuditFilter, limit: int) -> Sequence[Kept]:
        """The newest that are wanted, newest first; with `after` the oldest, oldest first."""

    def verify(self) -> int:
        """Checks every row against its hash and the one before. Returns how many; raises AuditBroken."""


class SqlAuditStore:
    """The trail as rows: an `AuditStore`. Who appends does so alone for that moment, so that positions have no gap."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._is_sqlite = engine.dialect.name == "sqlite"

    def append(self, entry: Entry) -> Kept:
        newest = select(AUDIT_ENTRY.c.position, AUDIT_ENTRY.c.sha256).order_by(AUDIT_ENTRY.c.position.desc()).limit(1)
        with writing(self._engine) as transaction:
            if not self._is_sqlite:
                # SQLite lets one write at a time anyway; here readers go on, and other writers wait.
                transaction.execute(_TURN)
            last = transaction.execute(newest).one_or_none()
            made = kept(entry, last.position + 1 if last else 1, last.sha256 if last else FIRST)
            transaction.execute(insert(AUDIT_ENTRY).values(_values(made)))
        return made

    def page(self, wanted: AuditFilter, limit: int) -> Sequence[Kept]:
        position = AUDIT_ENTRY.c.position
        order = position.desc() if wanted.after is None else position
        found = select(AUDIT_ENTRY).where(*_conditions(wanted)).order_by(order)
        with reading(self._engine) as connection:
            return [_kept(row) for row in connection.execute(found.limit(limit))]

    def verify(self) -> int:
        last, count = FIRST, 0
        while True:
            page = select(AUDIT_ENTRY).where(AUDIT_ENTRY.c.position > count).order_by(AUDIT_ENTRY.c.position)
            with reading(self._engine) as connection:
                rows = [_kept(row) for row in connection.execute(page.limit(_PAGE))]
            if not rows:
                return count
            count = chained(rows, last, count)
            last = rows[-1].sha256


def newest_of(store: AuditStore) -> int:
    """The position of the newest entry, 0 where there is none. Raises StoreUnavailable."""
    newest = store.page(AuditFilter(), 1)
    return newest[0].position if newest else 0


def chained(rows: Sequence[Kept], last: str, count: int) -> int:
    for row in rows:
        right = kept(row.entry, count + 1, last)
        if right != row:
            raise AuditBroken(f"entry {row.position} of the audit trail is not what was written, or one before is gone")
        last, count = row.sha256, count + 1
    return count


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    table = AUDIT_ENTRY.c
    asked: list[ColumnElement[bool]] = []
    if wanted.text:
        columns = (table.call, table.verb, table.object, table.note, table.client, table.via)
        asked.append(or_(*(column.icontains(wanted.text, autoescape=True) for column in columns)))
    if wanted.who:
        asked.append(table.who.icontains(wanted.who, autoescape=True))
    if wanted.outcome:
        asked.append(table.outcome == wanted.outcome)
    if wanted.request:
        asked.append(table.request == wanted.request)
    if wanted.since is not None:
        asked.append(table.at >= wanted.since)
    if wanted.until is not None:
        asked.append(table.at < wanted.until)
    if wanted.before:
        asked.append(table.position < wanted.before)
    if wanted.after is not None:
        asked.append(table.position > wanted.after)
    return asked


def _values(made: Kept) -> dict[str, object]:
    entry = asdict(made.entry) | {"outcome": made.entry.outcome.value}
    return {**entry, "position": made.position, "previous": made.previous, "sha256": made.sha256}


def _kept(row: Row[Any]) -> Kept:
    fields = dict(row._mapping)
    position, previous, sha256 = (fields.pop(name) for name in ("position", "previous", "sha256"))
    return Kept(position, Entry(**{**fields, "outcome": Outcome(fields["outcome"])}), previous, sha256)
