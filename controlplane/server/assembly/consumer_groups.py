"""Builds what looks at groups from the settings."""

import threading
from dataclasses import dataclass

from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.consumer_groups.watch import GroupWatch
from controlplane.cluster.gateways import Gateways, judged
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.fleet.ports import FreshFleet
from controlplane.runtime.polling import Leadership, Poller
from controlplane.server.settings import Settings
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock

GROUPS = "groups"
"""The poller's name for the watch."""
_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class GroupsRoom:
    """The service, and what watches beside it. Nothing is started."""

    service: GroupService
    poller: Poller
    gateways: Gateways

    def close(self) -> None:
        """No look begins after this; connections are closed."""
        self.poller.stop()
        self.gateways.close()


def groups_of(
    settings: Settings,
    *,
    fleet: FreshFleet,
    latest: LatestStore,
    leadership: Leadership,
    clock: Clock,
    identities: ServerIdentities | None = None,
) -> GroupsRoom:
    """The room of groups, with connections of its own."""
    gateways = judged(settings.allow.brokers_allowed, keep=_CONNECTIONS, identities=identities)
    service = GroupService(latest, gateways.of, clock)
    polled = (
        {}
        if settings.kafka.watch_groups == "off"
        else {GROUPS: GroupWatch(service, fleet, latest, clock, settings.kafka.watch_groups)}
    )
    poller = Poller(polled, {GROUPS: settings.kafka.groups_poll_s}, leadership=leadership, stop=threading.Event())
    return GroupsRoom(service, poller, gateways)
