"""Notices that wait to be told, by notifier, in order: on memory, SQLite and PostgreSQL.

Bounded: beyond `MOST` the oldest go, and are counted. Where a notifier has read the events up to is kept in the same
transaction as what it found there, so a server that dies loses and doubles nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine, Row, delete, func, insert, select, update

from controlplane.background.notifications.notice import Notice
from controlplane.storage.tables import NOTICE_OUTBOX, NOTIFIER_STATE
from events.engine import reading, writing

MOST = 1000
"""Notices that wait for one notifier."""

_NOTICE: TypeAdapter[Notice] = TypeAdapter(Notice)


@dataclass(frozen=True, slots=True)
class WaitingNotice:
    """A notice that waits. `position` is that of the event behind it."""

    position: int
    notice: Notice
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class NotifierStatus:
    """How a notifier does. `position`: events up to there were looked at for it."""

    position: int
    waiting: int = 0
    delivered: int = 0
    dropped: int = 0
    error: str = ""
    failing_since: datetime | None = None
    told_at: datetime | None = None


class Outbox(Protocol):
    """Contract: tests/contract/test_notice_outbox.py. All raise StoreUnavailable."""

    def begin(self, notifier: str, position: int) -> NotifierStatus:
        """Its status; one that is new begins behind `position`: nobody is told of what was before it."""

    def keep(self, notifier: str, upto: int, notices: Sequence[WaitingNotice]) -> None:
        """Notes that events up to `upto` were looked at, with the notices they gave. Twice is once."""

    def waiting(self, notifier: str, now: datetime) -> Sequence[WaitingNotice]:
        """All that wait, oldest first. Empty where it is not yet time to try the notifier again."""

    def drop(self, notifier: str, positions: Collection[int]) -> None:
        """Nobody has to hear these any more."""

    def delivered(self, notifier: str, positions: Sequence[int], now: datetime) -> None:
        """They got there."""

    def failed(self, notifier: str, position: int, error: str, *, now: datetime, again_at: datetime) -> None:
        """It did not: to be tried again then."""

    def statuses(self) -> Mapping[str, NotifierStatus]:
        """All that ever began, by name."""


class SqlOutbox:
    """The `Outbox` as rows."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, notifier: str, position: int) -> NotifierStatus:
        with writing(self._engine) as transaction:
            found = transaction.execute(select(NOTIFIER_STATE).where(NOTIFIER_STATE.c.name == notifier)).one_or_none()
            if found is not None:
                return _status(found, _count(transaction, notifier))
            new = {"name": notifier, "position": position, "delivered": 0, "dropped": 0, "error": ""}
            transaction.execute(insert(NOTIFIER_STATE).values(**new, failing_since=None, told_at=None))
        return NotifierStatus(position)

    def keep(self, notifier: str, upto: int, notices: Sequence[WaitingNotice]) -> None:
        box, state = NOTICE_OUTBOX.c, NOTIFIER_STATE.c
        with writing(self._engine) as transaction:
            status = transaction.execute(select(NOTIFIER_STATE).where(state.name == notifier).with_for_update()).one()
            rows = [_row(notifier, one) for one in notices if one.position > status.position]
            if rows:
                transaction.execute(insert(NOTICE_OUTBOX), rows)
            over = max(0, _count(transaction, notifier) - MOST) if rows else 0
            if over:
                oldest = select(box.position).where(box.notifier == notifier).order_by(box.position).limit(over)
                gone = [row.position for row in transaction.execute(oldest)]
                transaction.execute(delete(NOTICE_OUTBOX).where(box.notifier == notifier, box.position.in_(gone)))
            values = {"position": max(upto, status.position), "dropped": status.dropped + over}
            transaction.execute(update(NOTIFIER_STATE).where(state.name == notifier).values(**values))

    def waiting(self, notifier: str, now: datetime) -> Sequence[WaitingNotice]:
        box = NOTICE_OUTBOX.c
        mine = box.notifier == notifier
        with reading(self._engine) as connection:
            if connection.execute(select(box.position).where(mine, box.again_at > now).limit(1)).first() is not None:
                return ()
            rows = connection.execute(select(NOTICE_OUTBOX).where(mine).order_by(box.position).limit(MOST)).all()
        return [WaitingNotice(r.position, _NOTICE.validate_python(r.notice), r.attempts) for r in rows]

    def drop(self, notifier: str, positions: Collection[int]) -> None:
        box = NOTICE_OUTBOX.c
        with writing(self._engine) as transaction:
            transaction.execute(delete(NOTICE_OUTBOX).where(box.notifier == notifier, box.position.in_(positions)))

    def delivered(self, notifier: str, positions: Sequence[int], now: datetime) -> None:
        box, state = NOTICE_OUTBOX.c, NOTIFIER_STATE.c
        with writing(self._engine) as transaction:
            gone = delete(NOTICE_OUTBOX).where(box.notifier == notifier, box.position.in_(positions))
            count = transaction.execute(gone).rowcount
            if not count:
                return
            values = {"delivered": state.delivered + count, "error": "", "failing_since": None, "told_at": now}
            transaction.execute(update(NOTIFIER_STATE).where(state.name == notifier).values(**values))

    def failed(self, notifier: str, position: int, error: str, *, now: datetime, again_at: datetime) -> None:
        box, state = NOTICE_OUTBOX.c, NOTIFIER_STATE.c
        with writing(self._engine) as transaction:
            tried = {"attempts": box.attempts + 1, "again_at": again_at}
            mine = (box.notifier == notifier) & (box.position == position)
            transaction.execute(update(NOTICE_OUTBOX).where(mine).values(**tried))
            values = {"error": error, "failing_since": func.coalesce(state.failing_since, now)}
            transaction.execute(update(NOTIFIER_STATE).where(state.name == notifier).values(**values))

    def statuses(self) -> Mapping[str, NotifierStatus]:
        box = NOTICE_OUTBOX.c
        with reading(self._engine) as connection:
            counts = select(box.notifier, func.count().label("waiting")).group_by(box.notifier)
            waiting = {row.notifier: row.waiting for row in connection.execute(counts)}
            found = connection.execute(select(NOTIFIER_STATE)).all()
        return {row.name: _status(row, waiting.get(row.name, 0)) for row in found}


def _count(connection: Connection, notifier: str) -> int:
    counted = select(func.count()).select_from(NOTICE_OUTBOX).where(NOTICE_OUTBOX.c.notifier == notifier)
    return int(connection.execute(counted).scalar_one())


def _row(notifier: str, one: WaitingNotice) -> dict[str, object]:
    notice = _NOTICE.dump_python(one.notice, mode="json")
    return {"notifier": notifier, "position": one.position, "notice": notice, "attempts": 0, "again_at": None}


def _status(row: Row[tuple[object, ...]], waiting: int) -> NotifierStatus:
    figures = {name: getattr(row, name) for name in ("delivered", "dropped", "error", "failing_since", "told_at")}
    return NotifierStatus(row.position, waiting, **figures)
