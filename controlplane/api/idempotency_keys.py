"""Keys that callers gave their writes, for a week: the same key with another request is a mistake, and is told as one.

What was done under a key is not kept here: commands are known by their ids in the log, and everything else does the
same when it is done twice, but for secrets, which are told once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from sqlalchemy import Engine, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.tables import CALL_KEY
from events.engine import reading, writing

KEPT_FOR: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class CallKey:
    """`id` stands for caller and key, `request` for what was asked. `status` is that of the answer."""

    id: str
    request: str
    at: datetime
    status: int | None = None


class CallKeys(Protocol):
    """Contract: tests/contract/test_call_keys.py. All verbs may raise StoreUnavailable."""

    def claim(self, wanted: CallKey) -> CallKey | None:
        """None when it is new and kept from now on, else the one that is there. Of two at once one is new."""

    def settle(self, key_id: str, status: int) -> None:
        """It was done."""

    def forget(self, key_id: str) -> None:
        """It was refused: the key is as if it had never come."""


class SqlCallKeys:
    """The `CallKeys` as rows: any server of the installation knows them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def claim(self, wanted: CallKey) -> CallKey | None:
        """See CallKeys. The table's key lets one in."""
        values = {"id": wanted.id, "request": wanted.request, "at": wanted.at, "status": wanted.status}
        try:
            with writing(self._engine) as transaction:
                transaction.execute(delete(CALL_KEY).where(CALL_KEY.c.at <= wanted.at - KEPT_FOR))
                transaction.execute(insert(CALL_KEY).values(values))
            return None
        except IntegrityError:
            with reading(self._engine) as connection:
                row = connection.execute(select(CALL_KEY).where(CALL_KEY.c.id == wanted.id)).one_or_none()
            # Forgotten in between: what came first was refused, and this one is as good as the first.
            return None if row is None else _call_key(row)

    def settle(self, key_id: str, status: int) -> None:
        with writing(self._engine) as transaction:
            transaction.execute(update(CALL_KEY).where(CALL_KEY.c.id == key_id).values(status=status))

    def forget(self, key_id: str) -> None:
        with writing(self._engine) as transaction:
            transaction.execute(delete(CALL_KEY).where(CALL_KEY.c.id == key_id))


def _call_key(row: Row[Any]) -> CallKey:
    return CallKey(row.id, row.request, row.at, row.status)
