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


class SqlPlanStore:
    """A `PlanStore`: plans in a table beside the events. Both verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine, clock: Clock = utc_now) -> None:
        self._engine = engine
        self._clock = clock

    def put(self, body: bytes) -> str:
        """See PlanStore. Repairs a corrupt row."""
        key = sha256_of(body)
        try:
            with writing(self._engine) as transaction:
                row = transaction.execute(select(PLAN_BLOB.c.body).where(PLAN_BLOB.c.sha256 == key)).one_or_none()
                if row is None:
                    values = {"sha256": key, "body": body, "created_at": self._clock()}
                    transaction.execute(insert(PLAN_BLOB).values(values))
                elif sha256_of(row.body) != key:
                    transaction.execute(update(PLAN_BLOB).where(PLAN_BLOB.c.sha256 == key).values(body=body))
        except IntegrityError:
            _log.debug("plan %s was put by another thread at the same time", key)
        return key

    def get(self, sha256: str) -> bytes | None:
        with reading(self._engine) as connection:
            body = connection.execute(select(PLAN_BLOB.c.body).where(PLAN_BLOB.c.sha256 == sha256)).scalar_one_or_none()
        return verified(sha256, body)


def verified(sha256: str, body: bytes | None) -> bytes | None:
    """The bytes, or None where they are none or not those that were put."""
    if body is not None and sha256_of(body) != sha256:
        _log.error(
            "plan %s is corrupt: its %d bytes have SHA-256 %s. It is not used; the plan is computed again.",
            sha256,
            len(body),
            sha256_of(body),
        )
        return None
    return body


def sha256_of(body: bytes) -> str:
    """What a plan is kept under, in hex."""
    return hashlib.sha256(body).hexdigest()
