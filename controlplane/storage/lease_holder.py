"""One server's claim to act: it asks for the lease, keeps it, and says at every step under which epoch it may act."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from controlplane.runtime.process_errors import repeat
from controlplane.runtime.process_lock import LeaderLock
from controlplane.storage.lease import Lease, LeaseStore, LostLeadership
from events.errors import StoreUnavailable
from events.ids import Epoch

_log = logging.getLogger(__name__)

CONVERGE = "converge"
"""The duty of ticking clusters."""

_ASK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class _Held:
    """A lease with the times that matter on our own monotonic clock."""

    lease: Lease
    ends_at_s: float
    acts_from_s: float


class Candidate:
    """Runs for one duty. `step` is one look and returns the seconds until the next; `run` repeats it on a thread."""

    def __init__(
        self,
        leases: LeaseStore,
        *,
        owner: str,
        term_s: float,
        lock: LeaderLock | None = None,
        duty: str = CONVERGE,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases = leases
        self._owner = owner
        self._term_s = term_s
        self._lock = lock
        self._duty = duty
        self._monotonic_s = monotonic_s
        self._held: _Held | None = None

    @property
    def owner(self) -> str:
        return self._owner

    def epoch(self) -> Epoch:
        """The epoch to act under now, asked of the database. Raises LostLeadership, StoreUnavailable."""
        held = self._held
        if held is None:
            raise LostLeadership("another server leads")
        now_s = self._monotonic_s()
        if now_s < held.acts_from_s:
            raise LostLeadership(f"the last leader may act for {held.acts_from_s - now_s:.0f} s more")
        # Our own clock first: a process that was stopped for longer than its term must not trust what it remembers.
        if now_s >= held.ends_at_s or not self._leases.is_current(self._duty, held.lease.epoch):
            self._lose(held)
            raise LostLeadership(f"the lease of epoch {held.lease.epoch} is over")
        return held.lease.epoch

    def held_epoch(self) -> Epoch | None:
        """The epoch of the lease we hold as far as we know, without asking anybody; None when we hold none."""
        held = self._held
        return held.lease.epoch if held is not None and self._monotonic_s() < held.ends_at_s else None

    @property
    def may_act(self) -> bool:
        """Whether asking for the epoch is worth it."""
        held = self._held
        return held is not None and held.acts_from_s <= self._monotonic_s() < held.ends_at_s

    def step(self) -> float:
        """Renews what is held, asks for what is not. Returns seconds until the next look."""
        try:
            if self._held is not None:
                self._renew(self._held)
            else:
                self._ask()
        except StoreUnavailable as error:
            # What we hold stays ours until its term is over on our own clock; `epoch` asks the database anyway.
            _log.warning("lease of %s: %s", self._duty, error)
            return _ASK_EVERY_S
        return self._term_s / 6 if self._held is not None else _ASK_EVERY_S

    def run(self, stop: threading.Event) -> None:
        """Steps until told to stop, then keeps the lease for `resign`."""
        # Whatever fails, as a file of the home for want of descriptors: a server that asks no more never leads again.
        repeat(self.step, f"lease of {self._duty}", stop, pause_s=_ASK_EVERY_S)

    def resign(self) -> None:
        """Gives the lease back. Only when nothing of ours is under way any more."""
        held, self._held = self._held, None
        try:
            if held is not None:
                self._leases.release(held.lease)
        except StoreUnavailable as error:
            _log.warning("the lease of %s could not be given back: %s", self._duty, error)
        if self._lock is not None:
            self._lock.give_back()

    def _renew(self, held: _Held) -> None:
        asked_at_s = self._monotonic_s()
        renewed = self._leases.renew(held.lease)
        if renewed is None:
            self._lose(held)
            return
        self._held = _Held(renewed, asked_at_s + self._term_s, held.acts_from_s)
        if self._lock is not None and not self._lock.is_held and self._lock.take():
            # Whoever held it is gone by now; our own death shall be provable too.
            self._name_leader(renewed)

    def _ask(self) -> None:
        has_lock = self._lock is not None and self._lock.take()
        if has_lock:
            self._bury_the_dead()
        asked_at_s = self._monotonic_s()
        lease = self._leases.acquire(self._duty, self._owner, term_s=self._term_s)
        if lease is None:
            if self._lock is not None:
                self._lock.give_back()
            return
        wait_s = max(0.0, (lease.acts_after - self._leases.time()).total_seconds())
        self._name_leader(lease)
        self._held = _Held(lease, asked_at_s + self._term_s, asked_at_s + wait_s)
        _log.info("leading with epoch %d%s", lease.epoch, f", acting in {wait_s:.0f} s" if wait_s else "")

    def _name_leader(self, lease: Lease) -> None:
        """Without the name our death is not provable, and a successor waits out the term: no reason not to lead."""
        try:
            if self._lock is not None:
                self._lock.name_leader(lease.owner, lease.epoch)
        except OSError as error:
            _log.warning("the lock of the home does not name this server as leader: %s", error)

    def _bury_the_dead(self) -> None:
        """Holding the lock proves its last holder dead: nothing of it is under way, so its lease may be given back."""
        last = self._lock.last_leader() if self._lock is not None else None
        if last is None or last[0] == self._owner:
            return
        now = self._leases.time()
        self._leases.release(Lease(self._duty, last[0], Epoch(last[1]), self._term_s, renewed_at=now, acts_after=now))

    def _lose(self, held: _Held) -> None:
        if self._held is held:
            self._held = None
        _log.warning(
            "the lease of epoch %d is lost: this server acts no more until it has the next one", held.lease.epoch
        )
