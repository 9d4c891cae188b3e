"""Versions of Terraform states as rows: every write is a new one, and the newest few are never pruned.

Bodies are sealed. Only the run that holds a state writes it, checked in the transaction that writes: a run whose hold
was broken cannot overwrite what its successor wrote, whatever it still believes.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, delete, func, insert, select, update

from controlplane.storage.tables import TERRAFORM_STATE
from controlplane.storage.terraform_states.encryption import StateSeal, WrongKey
from controlplane.storage.terraform_states.lock_rows import TerraformLocked, require_hold
from events.engine import database_time, reading, writing
from providers.errors import StateUnreadable
from providers.tf.state_body import lineage_of, refuse_unless_later, refuse_unless_state, serial_of
from providers.tf.states import StateKey

FEWEST_STATE_VERSIONS = 5
"""One Terraform run writes several versions of its state, and the one from before it must be among those kept."""


_ASIDE = "~"
"""Between the place of a state that was set aside and the name it got; no place has it."""


@dataclass(frozen=True, slots=True)
class StateVersion:
    """One write. `version` counts them from 1 on, `serial` and `lineage` are Terraform's, `size` is in bytes."""

    version: int
    serial: int
    lineage: str
    size: int
    sha256: str
    run_id: str
    epoch: int
    written_at: datetime


class SqlStateVersions:
    """`keep` is how many versions of each state stay. All verbs may raise StoreUnavailable."""

    def __init__(
        self,
        engine: Engine,
        *,
        seal: StateSeal,
        keep: int,
        now: Callable[[Connection], datetime] = database_time,
    ) -> None:
        self._engine = engine
        self._seal = seal
        self._keep = max(FEWEST_STATE_VERSIONS, keep)
        self._now = now

    def read(self, key: StateKey) -> bytes | None:
        """The newest version. Raises StateUnreadable when its bytes are no longer those that were written, or were
        sealed by the key of another home."""
        newest = select(TERRAFORM_STATE).where(_is(key)).order_by(TERRAFORM_STATE.c.version.desc()).limit(1)
        with reading(self._engine) as connection:
            row = connection.execute(newest).one_or_none()
        if row is None:
            return None
        try:
            body = self._seal.open(bytes(row.body), cluster_uid=key.cluster_uid)
        except WrongKey:
            raise StateUnreadable(
                f"version {row.version} of state {key} in the database does not open: it was sealed by the "
                "`server-key` of another home, or is damaged. Stop the server and put that file into this home"
            ) from None
        if _sha256(body) != row.sha256:
            raise StateUnreadable(
                f"version {row.version} of state {key} in the database is damaged: its {len(body)} bytes have "
                f"another SHA-256 than was written. {row.version - 1} is the one before, if it was not pruned"
            )
        return body

    def put(self, key: StateKey, body: bytes, *, hold_id: str, lock_id: str | None) -> StateVersion:
        """The next version. `lock_id` is that of Terraform's own lock, None when we write.

        The same bytes again are kept once. Raises StateNotHeld, TerraformLocked, StateRefused (no state, an older
        serial, another lineage).
        """
        refuse_unless_state(body)
        with writing(self._engine) as transaction:
            held = require_hold(transaction, key, hold_id)
            if lock_id is not None and (not held.lock or held.lock_id != lock_id):
                raise TerraformLocked(held.lock)
            newest = _newest(transaction, key)
            fresh = StateVersion(
                version=1 if newest is None else newest.version + 1,
                serial=serial_of(body),
                lineage=lineage_of(body),
                size=len(body),
                sha256=_sha256(body),
                run_id=held.claim.run_id,
                epoch=held.claim.epoch,
                written_at=self._now(transaction),
            )
            if newest is not None and newest.sha256 == fresh.sha256:
                return newest
            if newest is not None:
                refuse_unless_later(body, serial=newest.serial, lineage=newest.lineage)
            sealed = self._seal.seal(body, cluster_uid=key.cluster_uid)
            transaction.execute(insert(TERRAFORM_STATE).values(**_columns(key, fresh), body=sealed))
            older = TERRAFORM_STATE.c.version <= fresh.version - self._keep
            transaction.execute(delete(TERRAFORM_STATE).where(_is(key), older))
            return fresh

    def versions(self, key: StateKey) -> list[StateVersion]:
        """What is kept, newest first, without the bytes."""
        wanted = select(*_SHORT).where(_is(key)).order_by(TERRAFORM_STATE.c.version.desc())
        with reading(self._engine) as connection:
            return [_version(row) for row in connection.execute(wanted)]

    def keys(self) -> tuple[StateKey, ...]:
        """States that were ever written, those set aside left out."""
        columns = (TERRAFORM_STATE.c.cluster_uid, TERRAFORM_STATE.c.place)
        with reading(self._engine) as connection:
            rows = connection.execute(select(*columns).distinct().order_by(*columns)).all()
        return tuple(StateKey(row.cluster_uid, row.place) for row in rows if _ASIDE not in row.place)

    def set_aside(self, key: StateKey, name: str) -> bool:
        """Files all versions under another place. True when there were any."""
        with writing(self._engine) as transaction:
            renamed = transaction.execute(
                update(TERRAFORM_STATE).where(_is(key)).values(place=f"{key.place}{_ASIDE}{name}")
            )
            return renamed.rowcount > 0


def in_force_and_newest() -> ColumnElement[bool]:
    """Rows that are the newest version of a state which was not set aside."""
    other = TERRAFORM_STATE.alias()
    same = (other.c.cluster_uid == TERRAFORM_STATE.c.cluster_uid) & (other.c.place == TERRAFORM_STATE.c.place)
    newest = select(func.max(other.c.version)).where(same).scalar_subquery()
    return and_(TERRAFORM_STATE.c.version == newest, TERRAFORM_STATE.c.place.not_like(f"%{_ASIDE}%"))


_SHORT = [column for column in TERRAFORM_STATE.c if column.name != "body"]


def _newest(transaction: Connection, key: StateKey) -> StateVersion | None:
    newest = select(*_SHORT).where(_is(key)).order_by(TERRAFORM_STATE.c.version.desc()).limit(1)
    row = transaction.execute(newest).one_or_none()
    return None if row is None else _version(row)


def _is(key: StateKey) -> Any:
    return (TERRAFORM_STATE.c.cluster_uid == key.cluster_uid) & (TERRAFORM_STATE.c.place == key.place)


def _columns(key: StateKey, version: StateVersion) -> dict[str, Any]:
    values = {name: getattr(version, name) for name in StateVersion.__slots__}
    return {"cluster_uid": key.cluster_uid, "place": key.place, **values}


def _version(row: Row[Any]) -> StateVersion:
    return StateVersion(**{name: getattr(row, name) for name in StateVersion.__slots__})


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
