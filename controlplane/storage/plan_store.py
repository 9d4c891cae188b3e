"""Drain plans at rest under the SHA-256 of their bytes. The event that names a plan carries the hash: none is swapped.

Not the truth: a plan that is missing or corrupt is planned again.
"""

import hashlib
import logging
from typing import Protocol

from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.tables import PLAN_BLOB
from events.clock import Clock, utc_now
from events.engine import reading, writing

_log = logging.getLogger(__name__)


class PlanStore(Protocol):
    """Contract: tests/contract/test_plan_store.py."""

    def put(self, body: bytes) -> str:
        """Keeps the bytes; returns their SHA-256 in hex. The same bytes again are kept once."""

    def get(self, sha256: str) -> bytes | None:
        """The bytes, or None when they are missing or are no longer what was put: plan again."""


class MemoryPlanStore:
    """Plans of one process, for tests and the simulator."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    def put(self, body: bytes) -> str:
        """See PlanStore."""
        key = _sha256(body)
        self._bodies[key] = body
        return key

    def get(self, sha256: str) -> bytes | None:
        """See PlanStore."""
        return _verified(sha256, self._bodies.get(sha256))


class SqlPlanStore:
    """Plans in a table beside the events. Both verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine, clock: Clock = utc_now) -> None:
        self._engine = engine
        self._clock = clock

    def put(self, body: bytes) -> str:
        """See PlanStore. Repairs a corrupt row."""
        key = _sha256(body)
        try:
            with writing(self._engine) as transaction:
                row = transaction.execute(select(PLAN_BLOB.c.body).where(PLAN_BLOB.c.sha256 == key)).one_or_none()
                if row is None:
                    values = {"sha256": key, "body": body, "created_at": self._clock()}
                    transaction.execute(insert(PLAN_BLOB).values(values))
                elif _sha256(row.body) != key:
                    transaction.execute(update(PLAN_BLOB).where(PLAN_BLOB.c.sha256 == key).values(body=body))
        except IntegrityError:
            _log.debug("plan %s was put by another thread at the same time", key)
        return key

    def get(self, sha256: str) -> bytes | None:
        """See PlanStore."""
        with reading(self._engine) as connection:
            body = connection.execute(select(PLAN_BLOB.c.body).where(PLAN_BLOB.c.sha256 == sha256)).scalar_one_or_none()
        return _verified(sha256, body)


def _verified(sha256: str, body: bytes | None) -> bytes | None:
    if body is not None and _sha256(body) != sha256:
        _log.error(
            "plan %s is corrupt: its %d bytes have SHA-256 %s. It is not used; the plan is computed again.",
            sha256,
            len(body),
            _sha256(body),
        )
        return None
    return body


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
