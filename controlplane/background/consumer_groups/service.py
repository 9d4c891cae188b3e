"""Looks at the consumer groups of a cluster: for a person who asks, and for the watch."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from controlplane.cluster.observed.consumer_groups import keep_groups, kept_groups, kept_note
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.gateway import GroupGateway
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import ClusterUid
from planner.consumers.judgement import judged
from planner.consumers.reported import GroupsStatus

FRESH = timedelta(seconds=10)
"""Who asks again within this time gets the look there is: pages reload by themselves."""

_NOTED_EVERY = timedelta(minutes=1)
"""How exactly it is known when somebody last asked."""


class Groups(Protocol):
    """Consumer groups for those who ask; `GroupService` is one."""

    def look(self, view: ClusterView) -> GroupsStatus:
        """The groups now, or as they were a moment ago. Raises KafkaFault, StoreUnavailable."""


class GroupService:
    """Thread-safe; one look at a cluster at a time. `kafka` is a way to brokers of its own: a long look must not keep
    a tick waiting for the connection."""

    def __init__(self, latest: LatestStore, kafka: Callable[[ClusterView], GroupGateway], clock: Clock) -> None:
        self._latest, self._kafka, self._clock = latest, kafka, clock
        self._guard = threading.Lock()
        self._locks: dict[ClusterUid, threading.Lock] = {}
        self._failed: dict[ClusterUid, tuple[datetime, KafkaFault]] = {}

    def look(self, view: ClusterView) -> GroupsStatus:
        """See Groups. That it was asked for is remembered: the watch goes on with it for a while."""
        with self._lock_of(view.uid):
            now, known = self._clock(), kept_groups(self._latest, view.uid)
            if known is not None and now - known.at < FRESH:
                self._note_asked(view.uid, known, now)
                return known
            # Those who waited here for a look that failed are not each made to wait for one of their own.
            failed = self._failed.get(view.uid)
            if failed is not None and now - failed[0] < FRESH:
                raise failed[1].with_traceback(None)
            try:
                return self._look(view, known, asked_at=now)
            except KafkaFault as fault:
                self._failed[view.uid] = self._clock(), fault
                raise

    def watch(self, view: ClusterView) -> GroupsStatus:
        """A look nobody asked for. Raises as `look` does."""
        with self._lock_of(view.uid):
            noted = kept_note(self._latest, view.uid)
            known = kept_groups(self._latest, view.uid)
            return self._look(view, known, asked_at=noted.asked_at if noted else None)

    def _look(self, view: ClusterView, known: GroupsStatus | None, *, asked_at: datetime | None) -> GroupsStatus:
        status = judged(self._kafka(view).groups(), known)
        keep_groups(self._latest, view.uid, status, asked_at)
        return status

    def _note_asked(self, uid: ClusterUid, known: GroupsStatus, now: datetime) -> None:
        noted = kept_note(self._latest, uid)
        if noted is None or noted.asked_at is None or now - noted.asked_at >= _NOTED_EVERY:
            keep_groups(self._latest, uid, known, now)

    def _lock_of(self, uid: ClusterUid) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(uid, threading.Lock())
