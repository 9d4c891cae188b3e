"""Sends again what is still so: Alertmanager forgets at a restart, and ends an alert that nobody repeats."""

import logging
from collections.abc import Callable, Iterator

from controlplane.background.anomalies.fold import read_anomalies
from controlplane.background.anomalies.record import ANOMALIES_NOTED, noted_of
from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import NotDelivered, Notifier
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.post import notice_of
from controlplane.background.notifications.silences import IsSilenced, never
from controlplane.fleet.ports import SeenFleet
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.store import EventStore
from planner.anomalies.kinds import ALARMS

_log = logging.getLogger(__name__)

AT_ONCE = 500
"""Alerts in one request."""


class NoticeRefresher:
    """Tells a notifier all open alarms of the fleet. Its first notices, and the ends, come by the outbox."""

    def __init__(
        self,
        binding: NotifierBinding,
        notifier: Notifier,
        fleet: SeenFleet,
        store: EventStore,
        latest: LatestStore,
        clock: Clock,
        silences: Callable[[], IsSilenced] = lambda: never,
    ) -> None:
        self._binding, self._notifier, self._fleet = binding, notifier, fleet
        self._store, self._latest, self._clock, self._silences = store, latest, clock, silences

    def poll(self) -> None:
        """What is not taken is sent again at the next poll. Raises StoreUnavailable."""
        wanted = [notice for notice in self._open() if self._binding.wants(notice)]
        for first in range(0, len(wanted), AT_ONCE):
            try:
                self._notifier.tell(wanted[first : first + AT_ONCE])
            except NotDelivered as error:
                _log.warning("notifier %s: %s; again with the next poll", self._binding.name, error)
                return

    def _open(self) -> Iterator[Notice]:
        silenced = self._silences()
        noted = noted_of(self._latest.of_kind(ANOMALIES_NOTED))
        for view in self._fleet.views():
            known = noted.get(view.uid)
            if view.deleted or known is None or not any(one.state in ALARMS for one in known.open_):
                continue
            owner = view.document.metadata.owner if view.document is not None else ""
            for anomaly in read_anomalies(self._store, view.uid).open_.values():
                if anomaly.state not in ALARMS:
                    continue
                now = self._clock()
                notice = notice_of(anomaly, view.name, owner=owner, event=f"{anomaly.id}-again", at=now)
                # What was told before the silence began goes on: an alert that is not repeated would be called over.
                if not (silenced(notice, now) and silenced(notice, anomaly.changed_at)):
                    yield notice
