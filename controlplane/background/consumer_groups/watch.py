"""Looks again at groups people asked for, at a slow pace: what stands still shows only between two looks."""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Literal

from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.rounds import Round
from controlplane.cluster.observed.consumer_groups import GROUPS_NOTED, GroupsNoted, notes_of
from controlplane.cluster.view import ClusterView
from controlplane.fleet.ports import FreshFleet
from controlplane.kafka.errors import KafkaFault
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import ClusterUid

WatchGroups = Literal["asked", "always", "off"]
"""Which clusters' groups are watched: those that somebody asked for a while ago or whose spec says so, all, none."""

ASKED_FOR = timedelta(minutes=15)
"""How long groups are watched after a person asked for them."""
_ROUND = timedelta(seconds=45)
"""A round ends after this time; those it did not come to are the first of the next one."""
_REMEMBERED = timedelta(hours=1)

_log = logging.getLogger(__name__)


class GroupWatch:
    """One round over the clusters that are watched. Polled by the leader alone."""

    def __init__(
        self, service: GroupService, fleet: FreshFleet, latest: LatestStore, clock: Clock, which: WatchGroups
    ) -> None:
        self._service, self._fleet, self._latest, self._clock, self._which = service, fleet, latest, clock, which
        self._tried: dict[ClusterUid, datetime] = {}

    def poll(self) -> None:
        """A cluster that cannot be looked at is left for the next round. Raises StoreUnavailable, and RoundIncomplete
        where one was left out for another reason than that its brokers did not answer."""
        began, this_round = self._clock(), Round("groups")
        notes = notes_of(self._latest.of_kind(GROUPS_NOTED))
        for view in watched(self._fleet.views(), notes, self._which, began, self._tried):
            if self._clock() - began >= _ROUND:
                break
            with this_round.apart(view.name):
                self._look(view)
            self._tried[view.uid] = self._clock()
        self._tried = {uid: at for uid, at in self._tried.items() if at > began - _REMEMBERED}
        this_round.close()

    def _look(self, view: ClusterView) -> None:
        try:
            self._service.watch(view)
        except KafkaFault as fault:
            _log.info("groups of %s: %s", view.name, fault)


def watched(
    views: Iterable[ClusterView],
    notes: Mapping[ClusterUid, GroupsNoted],
    which: WatchGroups,
    now: datetime,
    tried: Mapping[ClusterUid, datetime] = MappingProxyType({}),
) -> list[ClusterView]:
    """Those to look at, the one that was looked at longest ago first, and those that never were before it. A look that
    was `tried` and failed counts: it may take the time of the others. Where something was found it is watched until
    that is over, whoever asked."""
    if which == "off":
        return []
    living = [
        v for v in views if not v.deleted and v.quorum.founding is not None and any(i.address for i in v.brokers())
    ]
    always = {v.uid for v in living if which == "always" or (v.document and v.document.spec.health.watch_groups)}
    chosen = [v for v in living if v.uid in always or _is_of_interest(notes.get(v.uid), now)]
    looked = {uid: noted.at for uid, noted in notes.items()}
    last = {v.uid: max((at[v.uid] for at in (looked, tried) if v.uid in at), default=None) for v in chosen}
    return sorted(chosen, key=lambda v: (last[v.uid] is not None, last[v.uid] or now, v.uid))


def _is_of_interest(noted: GroupsNoted | None, now: datetime) -> bool:
    if noted is None:
        return False
    return bool(noted.troubled) or (noted.asked_at is not None and now - noted.asked_at <= ASKED_FOR)
