"""Leases in memory."""

import threading
from dataclasses import replace
from datetime import datetime

from controlplane.storage.lease import Lease, grant, is_same
from events.clock import Clock, utc_now
from events.ids import Epoch


class MemoryLeaseStore:
    """Leases of one process, for tests and the simulator."""

    def __init__(self, *, longest_call_s: float, clock: Clock = utc_now) -> None:
        self._longest_call_s = longest_call_s
        self._clock = clock
        self._lock = threading.Lock()
        self._leases: dict[str, Lease] = {}

    def acquire(self, duty: str, owner: str, *, term_s: float) -> Lease | None:
        """See LeaseStore."""
        with self._lock:
            old, now = self._leases.get(duty), self._clock()
            lease = grant(old, duty, owner, now, term_s=term_s, longest_call_s=self._longest_call_s)
            if lease is not None:
                self._leases[duty] = lease
            return lease

    def renew(self, lease: Lease) -> Lease | None:
        """See LeaseStore."""
        with self._lock:
            if not is_same(self._leases.get(lease.duty), lease):
                return None
            self._leases[lease.duty] = renewed = replace(lease, renewed_at=self._clock())
            return renewed

    def release(self, lease: Lease) -> None:
        """See LeaseStore."""
        with self._lock:
            current = self._leases.get(lease.duty)
            if current is not None and is_same(current, lease):
                self._leases[lease.duty] = replace(current, released=True)

    def is_current(self, duty: str, epoch: Epoch) -> bool:
        """See LeaseStore."""
        held = self.held(duty)
        return held is not None and held.epoch == epoch

    def held(self, duty: str) -> Lease | None:
        """See LeaseStore."""
        with self._lock:
            current = self._leases.get(duty)
            return current if current is not None and current.is_held(self._clock()) else None

    def time(self) -> datetime:
        """See LeaseStore."""
        return self._clock()
