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

    def of(self, place: Place) -> Mapping[str, MaintenanceNotice]:
        """What is announced of the place's VMs, by VM id; nothing for a cloud that tells nothing, and not yet asked.

        One thread reads; whoever comes meanwhile has the reading before.
        """
        now = self.clock()
        with self._lock:
            at, known = self._read.get(place, (None, {}))
            if at is not None and now - at < READ_EVERY:
                return known
            self._read[place] = (now, known)
        cloud = self.cloud(place.cloud)
        try:
            fresh = cloud.notices(place) if isinstance(cloud, TellsMaintenance) else {}
        except ProviderError:
            return known
        with self._lock:
            self._read[place] = (now, fresh)
        return fresh
