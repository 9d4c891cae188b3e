"""Which server may act: a lease per duty, in database time, with an epoch that fences whoever held it before.

A server that was paused, or cut off from the database, does not know that it lost the lease. Three rules make that
harmless: each call it makes is short against the term, it asks `is_current` right before each, and its successor acts
only from `acts_after`: one term plus the longest call after the last renewal. Stores refuse the old epoch later on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.tables import LEASE
from events.engine import database_time, reading, writing
from events.ids import Epoch


class LostLeadership(Exception):
    """Another server holds the lease now. Stop at once; it goes on from what is recorded."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do one duty. `owner` names one process, never a host: a restart is another owner."""

    duty: str
    owner: str
    epoch: Epoch
    term_s: float
    renewed_at: datetime
    acts_after: datetime
    released: bool = False

    @property
    def expires_at(self) -> datetime:
        """From then on another owner may take it."""
        return self.renewed_at + timedelta(seconds=self.term_s)

    def is_held(self, now: datetime) -> bool:
        """Somebody holds it: not given back, and the term is not over."""
        return not self.released and now < self.expires_at


class LeaseStore(Protocol):
    """Contract: tests/contract/test_lease_store.py."""

    def acquire(self, duty: str, owner: str, *, term_s: float) -> Lease | None:
        """The lease, or None while another owner holds it. A new owner gets the next epoch and `acts_after`."""

    def renew(self, lease: Lease) -> Lease | None:
        """The lease with its term begun anew, or None when it was lost: stop acting at once."""

    def release(self, lease: Lease) -> None:
        """Gives it back; the next owner may act at once. Only when no call or child of this owner is under way."""

    def is_current(self, duty: str, epoch: Epoch) -> bool:
        """To be asked right before each external call: is this epoch the last one, and its term not over?"""

    def held(self, duty: str) -> Lease | None:
        """The lease that somebody holds now, for who only follows; None while nobody does."""

    def time(self) -> datetime:
        """The clock leases are measured by; `acts_after` is compared with this one."""


def grant(
    old: Lease | None, duty: str, owner: str, now: datetime, *, term_s: float, longest_call_s: float
) -> Lease | None:
    """The rule of `acquire`. Raises ValueError when calls could outlive a third of the term."""
    if longest_call_s > term_s / 3:
        raise ValueError(
            f"a lease term of {term_s:g} s is too short: calls last up to {longest_call_s:g} s, a third of it at most"
        )
    if old is None:
        return Lease(duty, owner, Epoch(1), term_s, renewed_at=now, acts_after=now)
    if old.owner == owner and not old.released:
        return replace(old, term_s=term_s, renewed_at=now)
    if old.is_held(now):
        return None
    acts_after = max(now, old.acts_after)  # who came before `old` may still be at work if `old` never waited it out
    if not old.released:
        acts_after = max(acts_after, old.expires_at + timedelta(seconds=longest_call_s))
    return Lease(duty, owner, Epoch(old.epoch + 1), term_s, renewed_at=now, acts_after=acts_after)


def lease_ends(connection: Connection, now: datetime) -> datetime | None:
    """When the last lease that is still held ends, None when none is. `now` is the database's time."""
    leases = [_lease(row) for row in connection.execute(select(LEASE))]
    return max((lease.expires_at for lease in leases if lease.is_held(now)), default=None)


class SqlLeaseStore:
    """Leases as rows. `now` reads the database's own clock; tests put theirs in."""

    def __init__(
        self, engine: Engine, *, longest_call_s: float, now: Callable[[Connection], datetime] = database_time
    ) -> None:
        self._engine = engine
        self._longest_call_s = longest_call_s
        self._now = now

    def acquire(self, duty: str, owner: str, *, term_s: float) -> Lease | None:
        """See LeaseStore. Raises StoreUnavailable."""
        try:
            with writing(self._engine) as transaction:
                old = _locked(transaction, duty)
                now = self._now(transaction)  # after the wait for the row, not before
                lease = grant(old, duty, owner, now, term_s=term_s, longest_call_s=self._longest_call_s)
                if lease is not None:
                    statement = insert(LEASE) if old is None else update(LEASE).where(LEASE.c.duty == duty)
                    transaction.execute(statement.values(_values(lease)))
                return lease
        except IntegrityError:
            return None  # two first owners at once: the other one's row was first

    def renew(self, lease: Lease) -> Lease | None:
        """See LeaseStore. Raises StoreUnavailable: unknown, so act no more until it is answered."""
        with writing(self._engine) as transaction:
            if not is_same(_locked(transaction, lease.duty), lease):
                return None
            renewed = replace(lease, renewed_at=self._now(transaction))
            transaction.execute(update(LEASE).where(LEASE.c.duty == lease.duty).values(_values(renewed)))
            return renewed

    def release(self, lease: Lease) -> None:
        """See LeaseStore. Raises StoreUnavailable."""
        with writing(self._engine) as transaction:
            if is_same(_locked(transaction, lease.duty), lease):
                transaction.execute(update(LEASE).where(LEASE.c.duty == lease.duty).values(released=True))

    def is_current(self, duty: str, epoch: Epoch) -> bool:
        """See LeaseStore. Raises StoreUnavailable."""
        held = self.held(duty)
        return held is not None and held.epoch == epoch

    def held(self, duty: str) -> Lease | None:
        """See LeaseStore. Raises StoreUnavailable."""
        with reading(self._engine) as connection:
            row = connection.execute(select(LEASE).where(LEASE.c.duty == duty)).one_or_none()
            lease = _lease(row) if row is not None else None
            return lease if lease is not None and lease.is_held(self._now(connection)) else None

    def time(self) -> datetime:
        """See LeaseStore. Raises StoreUnavailable."""
        with reading(self._engine) as connection:
            return self._now(connection)


def is_same(current: Lease | None, lease: Lease) -> bool:
    return current is not None and not current.released and (current.owner, current.epoch) == (lease.owner, lease.epoch)


def _locked(transaction: Connection, duty: str) -> Lease | None:
    row = transaction.execute(select(LEASE).where(LEASE.c.duty == duty).with_for_update()).one_or_none()
    return None if row is None else _lease(row)


def _lease(row: Row[Any]) -> Lease:
    return Lease(
        duty=row.duty,
        owner=row.owner,
        epoch=Epoch(row.epoch),
        term_s=row.term_s,
        renewed_at=row.renewed_at,
        acts_after=row.acts_after,
        released=row.released,
    )


def _values(lease: Lease) -> dict[str, object]:
    return {
        "duty": lease.duty,
        "owner": lease.owner,
        "epoch": lease.epoch,
        "term_s": lease.term_s,
        "renewed_at": lease.renewed_at,
        "acts_after": lease.acts_after,
        "released": lease.released,
    }
