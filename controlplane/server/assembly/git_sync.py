"""Builds what the bindings of the settings ask for: a clone and a sync for each, pollers, one service."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from agent.host_port import HostPort
from controlplane.background.forges.link import ForgeLink, link_of
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.pairs import PairCommands
from controlplane.background.git_sync.service import SourceService
from controlplane.background.git_sync.status import SourceStatuses
from controlplane.background.git_sync.sync import SourceCommands, SourceSync, SyncParts
from controlplane.fleet.ports import FreshFleet
from controlplane.fleet.proposals.from_git import GitProposals
from controlplane.runtime.polling import Leadership, Poller
from controlplane.server.settings import Settings
from events.clock import Clock
from events.store import EventStore


@dataclass(frozen=True, slots=True)
class Sources:
    """Git sync of one server. Nothing runs before `start`. `statuses` tells forges beside the polls."""

    service: SourceService
    forges: Mapping[str, ForgeLink]
    poller: Poller
    statuses: Poller

    def start(self) -> None:
        """Every source is looked at now, and then at its interval."""
        self.poller.start()
        self.statuses.start()

    def stop(self) -> None:
        """No look begins after this returns, and none is under way; calls to forges are broken off."""
        for link in self.forges.values():
            link.forge.close()
        self.statuses.stop()
        self.poller.stop()

    def ring_all(self) -> None:
        """Whoever begins to lead looks at once."""
        for status in self.service.polled.all():
            self.poller.ring(status.binding.name)


def sources_of(
    settings: Settings,
    *,
    store: EventStore,
    commands: SourceCommands,
    pairs: PairCommands,
    fleet: FreshFleet,
    leadership: Leadership,
    wake: Callable[[str], None],
    clock: Clock,
    proposals: GitProposals | None = None,
) -> Sources:
    """The sources of these settings; their clones are in `git/` of the home."""
    by_source, stop = SourceStatuses(settings.git), threading.Event()
    parts = SyncParts(
        store=store,
        commands=commands,
        pairs=pairs,
        fleet=fleet,
        wake=wake,
        may_act=lambda: leadership.may_act and not stop.is_set(),
        statuses=by_source,
        clock=clock,
        proposals=proposals,
    )
    folder = settings.home / "git"
    syncs = {
        binding.name: SourceSync(
            binding,
            Clone(
                binding,
                folder / binding.name,
                local_paths=settings.allow.git_paths,
                stop=stop,
                egress=settings.allow.egress,
            ),
            parts,
        )
        for binding in settings.git
    }
    links = links_of(settings, by_source, clock)
    reconcilers = {name: link.reconciler for name, link in links.items() if link.binding.statuses}
    statuses = Poller(reconcilers, dict.fromkeys(reconcilers, _STATUS_S), leadership=leadership, stop=stop)
    polled = {name: _NotifyingSource(sync.poll, partial(statuses.ring, name)) for name, sync in syncs.items()}
    poller = Poller(polled, {b.name: b.poll_s for b in settings.git}, leadership=leadership, stop=stop)
    return Sources(SourceService(by_source, store, poller.ring), links, poller, statuses)


_STATUS_S = 15.0
"""How often it is looked whether a forge still has to hear something; after each poll it is looked at once."""


@dataclass(frozen=True, slots=True)
class _NotifyingSource:
    """A source whose forge hears of each look when it is over."""

    look: Callable[[], None]
    tell: Callable[[], bool]

    def poll(self) -> None:
        self.look()
        self.tell()


def links_of(settings: Settings, statuses: SourceStatuses, clock: Clock) -> Mapping[str, ForgeLink]:
    """The forges of the bindings that name one. Statuses lead to the portal where people elsewhere can reach it."""
    name = settings.portal.names[0] if settings.portal.names else ""
    portal = f"https://{HostPort.parse(name, settings.portal.port)}" if name else ""
    return {
        binding.name: link_of(
            binding,
            binding.forge,
            partial(statuses.of, binding.name),
            portal=portal,
            clock=clock,
            egress=settings.allow.egress,
        )
        for binding in settings.git
        if binding.forge is not None
    }
