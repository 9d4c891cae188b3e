"""Holds of Terraform states as rows, in database time. What may be done with one is in `hold`; here it is kept."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.lease_holder import CONVERGE
from controlplane.storage.tables import LEASE, TERRAFORM_LOCK
from controlplane.storage.terraform_states.lock import Claim, LockInfo, ServerProcess, StateHold, refusal
from events.engine import database_time, reading, writing
from events.ids import Epoch
from providers.tf.states import StateKey


class StateHeld(Exception):
    """Another run has it. What now: try again later; the message says who and how long its lease lasts."""


class StateNotHeld(Exception):
    """The run does not hold the state (any more). What now: end it; whoever holds the state goes on."""


class TerraformLocked(Exception):
    """Another Terraform command has its own lock. `lock` is what Terraform said of it."""

    def __init__(self, lock: LockInfo) -> None:
        super().__init__(f"locked by Terraform, ID {lock.get('ID')}")
        self.lock = dict(lock)


class SqlStateLocks:
    """All verbs may raise StoreUnavailable. `now` reads the database's own clock; tests put theirs in."""

    def __init__(self, engine: Engine, *, now: Callable[[Connection], datetime] = database_time) -> None:
        self._engine = engine
        self._now = now

    def holder(self, key: StateKey) -> StateHold | None:
        """Who holds it now, None when nobody does."""
        with reading(self._engine) as connection:
            row = connection.execute(select(TERRAFORM_LOCK).where(_is(key))).one_or_none()
            return _hold(row)

    def take(self, key: StateKey, claim: Claim, *, proved_dead: str | None = None) -> StateHold:
        """Takes it for a run. `proved_dead` names the hold that was proved to be over. Raises StateHeld."""
        try:
            with writing(self._engine) as transaction:
                return self._take(transaction, key, claim, proved_dead)
        except IntegrityError:
            raise StateHeld("another run was the first to take it, at this very moment") from None

    def renew(self, key: StateKey, hold_id: str, epoch: Epoch) -> bool:
        """Begins its lease anew. False when it was taken, or a later epoch leads: end the run."""
        with writing(self._engine) as transaction:
            held = hold_in(transaction, key)
            if held is None or held.claim.hold_id != hold_id or _led_beyond(transaction, epoch):
                return False
            _put(transaction, key, renewed_at=self._now(transaction))
            return True

    def release(self, key: StateKey, hold_id: str) -> None:
        """Gives it back. Only when no process of the run is left. Without effect when it was taken."""
        with writing(self._engine) as transaction:
            held = hold_in(transaction, key)
            if held is not None and held.claim.hold_id == hold_id:
                _put(transaction, key, hold_id=None, lock_info=None)

    def lock(self, key: StateKey, hold_id: str, info: LockInfo) -> None:
        """Terraform's LOCK; the same ID again is answered again. Raises StateNotHeld, TerraformLocked."""
        with writing(self._engine) as transaction:
            held = require_hold(transaction, key, hold_id)
            if held.lock and held.lock_id != info.get("ID"):
                raise TerraformLocked(held.lock)
            _put(transaction, key, lock_info=dict(info))

    def unlock(self, key: StateKey, hold_id: str, lock_id: str) -> None:
        """Terraform's UNLOCK; what is not locked is unlocked. Raises StateNotHeld, TerraformLocked (another ID's)."""
        with writing(self._engine) as transaction:
            held = require_hold(transaction, key, hold_id)
            if held.lock and held.lock_id != lock_id:
                raise TerraformLocked(held.lock)
            _put(transaction, key, lock_info=None)

    def _take(self, transaction: Connection, key: StateKey, claim: Claim, proved_dead: str | None) -> StateHold:
        row = transaction.execute(select(TERRAFORM_LOCK).where(_is(key)).with_for_update()).one_or_none()
        now = self._now(transaction)  # after the wait for the row, not before
        if _led_beyond(transaction, claim.epoch) or (row is not None and row.epoch > claim.epoch):
            raise StateHeld(f"epoch {claim.epoch} is over: this server has lost its lease")
        held = _hold(row)
        why = None if held is None else refusal(held, claim, now, proved_dead=proved_dead)
        if why is not None:
            raise StateHeld(why)
        values = {**_columns(claim), "taken_at": now, "renewed_at": now, "lock_info": None}
        if row is None:
            transaction.execute(insert(TERRAFORM_LOCK).values(cluster_uid=key.cluster_uid, place=key.place, **values))
        else:
            _put(transaction, key, **values)
        return StateHold(key, claim, now, now)


def hold_in(transaction: Connection, key: StateKey) -> StateHold | None:
    """Who holds it, its row locked until the transaction ends: nobody takes it meanwhile."""
    return _hold(transaction.execute(select(TERRAFORM_LOCK).where(_is(key)).with_for_update()).one_or_none())


def require_hold(transaction: Connection, key: StateKey, hold_id: str) -> StateHold:
    """The same, of the one who must hold it. Raises StateNotHeld."""
    held = hold_in(transaction, key)
    if held is None or held.claim.hold_id != hold_id:
        now_it_is = f"run {held.claim.run_id} of server {held.claim.owner} does" if held else "nobody does"
        raise StateNotHeld(f"this run does not hold state {key} any more; {now_it_is}")
    return held


def _led_beyond(transaction: Connection, epoch: Epoch) -> bool:
    leads: int | None = transaction.execute(select(LEASE.c.epoch).where(LEASE.c.duty == CONVERGE)).scalar_one_or_none()
    return leads is not None and leads > epoch


def _is(key: StateKey) -> Any:
    return (TERRAFORM_LOCK.c.cluster_uid == key.cluster_uid) & (TERRAFORM_LOCK.c.place == key.place)


def _put(transaction: Connection, key: StateKey, **values: Any) -> None:
    transaction.execute(update(TERRAFORM_LOCK).where(_is(key)).values(**values))


def _columns(claim: Claim) -> Mapping[str, Any]:
    return {
        "hold_id": claim.hold_id,
        "run_id": claim.run_id,
        "epoch": claim.epoch,
        "owner": claim.owner,
        "machine": claim.process.machine,
        "pid": claim.process.pid,
        "start_ticks": claim.process.start_ticks,
        "lease_s": claim.lease_s,
    }


def _hold(row: Row[Any] | None) -> StateHold | None:
    if row is None or row.hold_id is None:
        return None
    its = ServerProcess(row.machine, row.pid, row.start_ticks)
    claim = Claim(row.hold_id, row.run_id, Epoch(row.epoch), row.owner, its, row.lease_s)
    return StateHold(StateKey(row.cluster_uid, row.place), claim, row.taken_at, row.renewed_at, row.lock_info or {})
