"""What clouds announce of VMs, read seldom: it is days ahead, and never worth a tick that waits or fails."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from events.clock import Clock
from providers.base import CloudProvider, Place
from providers.errors import ProviderError
from providers.notices import MaintenanceNotice, TellsMaintenance

READ_EVERY = timedelta(minutes=5)
"""One listing a place, shared by its clusters."""


@dataclass(slots=True)
class Announcements:
    """The last reading of each place. A reading that fails leaves the one before it: nothing is destroyed by either."""

    cloud: Callable[[str], CloudProvider]
    clock: Clock
    _read: dict[Place, tuple[datetime, Mapping[str, MaintenanceNotice]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, place: Place, vm: str) -> MaintenanceNotice | None:
        """What is announced of a VM by its id; None for nothing, for a cloud that tells nothing, and not yet asked."""
        cloud = self.cloud(place.cloud)
        return self._of_place(cloud, place).get(vm) if isinstance(cloud, TellsMaintenance) else None

    def _of_place(self, cloud: TellsMaintenance, place: Place) -> Mapping[str, MaintenanceNotice]:
        """One thread reads; whoever comes meanwhile has the reading before."""
        now = self.clock()
        with self._lock:
            at, known = self._read.get(place, (None, {}))
            if at is not None and now - at < READ_EVERY:
                return known
            self._read[place] = (now, known)
        try:
            fresh = cloud.notices(place)
        except ProviderError:
            return known
        with self._lock:
            self._read[place] = (now, fresh)
        return fresh
