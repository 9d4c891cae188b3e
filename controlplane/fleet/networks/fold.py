"""The fold of the stream `networks`: what was asked, how far each is. Pure and total, as that of a cluster."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Network
from types import MappingProxyType
from typing import Any

from events import codec, envelope, errors, facts
from providers.base import Place
from providers.networks import NO_OVERLAY, USUAL_PORTS, FirewallPorts, NetworkRunKind, OverlayPorts, PortClients


@dataclass(frozen=True, slots=True)
class NetworkAccess:
    """Who is let in at which ports. `peers` are networks of members in other places, `servers` where servers of Kedge
    dial from, by CIDR; `port_clients` who is let in at single ports of brokers instead of `clients`; `overlay` where
    tunnels are taken."""

    clients: tuple[str, ...] = ()
    ports: FirewallPorts = USUAL_PORTS
    peers: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    port_clients: PortClients = ()
    overlay: OverlayPorts = NO_OVERLAY

    def clients_at(self, port: int) -> frozenset[str]:
        """Who of outside is let in at that port, by CIDR."""
        return frozenset(dict(self.port_clients).get(port, self.clients) if port in self.ports.brokers else ())


class NetworkState(StrEnum):
    """Where a network stands. VMs are made in it while it is made; `REMOVED` is its end."""

    MAKING = "being made"
    MADE = "made"
    REMOVING = "being removed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class NetworkWork:
    """The intent in hand. `tries` count runs that failed: each is a job of its own."""

    intent: str
    kind: NetworkRunKind
    requested_at: datetime
    zones: Mapping[str, int]
    access: NetworkAccess
    reason: str
    tries: int = 0
    failed_at: datetime | None = None
    """When the last of them did; None where somebody has asked since."""
    error: str = ""
    message: str = ""
    retryable: bool = True

    @property
    def job(self) -> str:
        return f"{self.intent}.{self.tries}"


@dataclass(frozen=True, slots=True)
class NetworkView:
    """One network. `zones` and `access` are what it has, `work` what it is to get."""

    id: str
    place: Place
    cidr: IPv4Network
    requested_at: datetime
    state: NetworkState = NetworkState.MAKING
    zones: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    access: NetworkAccess = NetworkAccess()
    settings: Mapping[str, Any] | None = None
    work: NetworkWork | None = None
    changed_at: datetime | None = None
    """When anything was last recorded of it."""
    cloud_name: str = ""
    """See `NetworkRun.called`."""

    @property
    def name(self) -> str:
        return self.place.network

    def known_peers(self) -> frozenset[str]:
        """Those its firewall lets in, and those it is to let in."""
        return frozenset({*self.access.peers, *(self.work.access.peers if self.work else ())})

    @property
    def is_ready(self) -> bool:
        """Whether VMs may be made in it."""
        return self.state is NetworkState.MADE and self.settings is not None


@dataclass(frozen=True, slots=True)
class NetworksView:
    """All networks there ever were, by id. `unreadable` says why nothing more is done, "" when all was read."""

    version: int = 0
    networks: Mapping[str, NetworkView] = field(default_factory=lambda: MappingProxyType({}))
    unreadable: str = ""

    def existing(self) -> tuple[NetworkView, ...]:
        """Those that are not removed, by place and name."""
        there = (n for n in self.networks.values() if n.state is not NetworkState.REMOVED)
        return tuple(sorted(there, key=lambda n: (str(n.place), n.name)))

    def at(self, place: Place) -> NetworkView | None:
        """The network of that place and name, None when there is none."""
        return next((n for n in self.existing() if n.place == place), None)

    def settings_of(self, place: Place) -> Mapping[str, Any] | None:
        """What providers are told of a place's network: see `MadeNetworks`."""
        network = self.at(place)
        return network.settings if network is not None else None

    def taken(self) -> tuple[IPv4Network, ...]:
        """Addresses that are given to nobody: those of networks that stand, and those some firewall lets in still."""
        existing = self.existing()
        own = {n.cidr for n in existing}
        let_in = {IPv4Network(peer) for n in existing for peer in n.known_peers()}
        return (*(n.cidr for n in existing), *sorted(let_in - own))

    def cidrs(self) -> Mapping[Place, str]:
        """The addresses of each network that stands."""
        return {n.place: str(n.cidr) for n in self.existing()}


def evolve(view: NetworksView, recorded: envelope.Recorded) -> NetworksView:
    """The view after one event. Total: what cannot be placed sets `unreadable`."""
    if view.unreadable:
        return replace(view, version=recorded.version)
    try:
        event = codec.decode(recorded)
        if isinstance(event, facts.NetworkRequested):
            network = _requested(event, recorded)
        else:
            known = view.networks[event.id]  # type: ignore[attr-defined]  # a KeyError or AttributeError is told below
            network = _RULES[type(event)](known, event, recorded)
    except (errors.EventsError, LookupError, AttributeError, ValueError) as error:
        reason = f"event {recorded.position} ({recorded.type}): {type(error).__name__}: {error}"
        return replace(view, version=recorded.version, unreadable=reason)
    network = replace(network, changed_at=recorded.recorded_at)
    changed = MappingProxyType({**view.networks, network.id: network})
    return replace(view, version=recorded.version, networks=changed)


def _requested(e: facts.NetworkRequested, recorded: envelope.Recorded) -> NetworkView:
    work = _work(recorded, NetworkRunKind.MAKE, e.zones, _asked(e), e.reason)
    place = Place(e.cloud, e.region, e.account, e.name)
    return NetworkView(e.id, place, IPv4Network(e.cidr), recorded.recorded_at, work=work, cloud_name=e.cloud_name)


def _work(
    recorded: envelope.Recorded,
    kind: NetworkRunKind,
    zones: Mapping[str, int],
    access: NetworkAccess,
    reason: str,
) -> NetworkWork:
    numbers = MappingProxyType(dict(zones))
    return NetworkWork(recorded.event_id, kind, recorded.recorded_at, numbers, access, reason)


def _asked(e: facts.NetworkRequested | facts.NetworkChangeRequested) -> NetworkAccess:
    ports = FirewallPorts(e.broker_ports, e.member_ports)
    overlay = OverlayPorts(e.overlay_ports, e.open_overlay_ports)
    return NetworkAccess(e.clients, ports, e.peers, e.servers, e.port_clients, overlay)


def _zones_requested(n: NetworkView, e: facts.NetworkZonesRequested, r: envelope.Recorded) -> NetworkView:
    making = n.work is not None and n.work.kind is NetworkRunKind.MAKE
    kind = NetworkRunKind.MAKE if making else NetworkRunKind.GROW
    return replace(n, work=_work(r, kind, e.zones, ((n.work if making else None) or n).access, e.reason))


def _change_requested(n: NetworkView, e: facts.NetworkChangeRequested, r: envelope.Recorded) -> NetworkView:
    return replace(n, work=_work(r, NetworkRunKind.ACCESS, n.zones, _asked(e), e.reason))


def _removal_requested(n: NetworkView, e: facts.NetworkRemovalRequested, r: envelope.Recorded) -> NetworkView:
    if n.state is NetworkState.REMOVING and n.work is not None:
        return replace(n, work=replace(n.work, failed_at=None))  # again, at once; `tries` tell that half may be gone
    # What a run that had not ended was to get may be there: it is removed with the rest.
    work = _work(r, NetworkRunKind.REMOVE, *_meant(n), e.reason)
    return replace(n, state=NetworkState.REMOVING, work=work)


def _done(n: NetworkView, e: facts.NetworkMade | facts.NetworkChanged, r: envelope.Recorded) -> NetworkView:
    if n.work is None:
        raise LookupError(f"network {n.id} had nothing in hand")
    settings = MappingProxyType(json.loads(e.settings))
    done = replace(n, zones=n.work.zones, access=n.work.access)
    return replace(done, state=NetworkState.MADE, settings=settings, work=None)


def _dropped(n: NetworkView, e: facts.NetworkRemovalDropped, r: envelope.Recorded) -> NetworkView:
    if n.settings is not None:
        return replace(n, state=NetworkState.MADE, work=None)
    # It was never made: that goes on.
    return replace(n, state=NetworkState.MAKING, work=_work(r, NetworkRunKind.MAKE, *_meant(n), e.reason))


def _meant(n: NetworkView) -> tuple[Mapping[str, int], NetworkAccess]:
    """What it has, or what a run in hand is to give it."""
    of = n.work or n
    return of.zones, of.access


def _removed(n: NetworkView, e: facts.NetworkRemoved, r: envelope.Recorded) -> NetworkView:
    return replace(n, state=NetworkState.REMOVED, work=None, settings=None)


def _failed(n: NetworkView, e: facts.NetworkRunFailed, r: envelope.Recorded) -> NetworkView:
    if n.work is None:
        raise LookupError(f"network {n.id} had nothing in hand")
    failure = {"error": e.error, "message": e.message, "retryable": e.retryable, "failed_at": r.recorded_at}
    return replace(n, work=replace(n.work, tries=n.work.tries + 1, **failure))  # type: ignore[arg-type]


_RULES: Mapping[type, Callable[[NetworkView, Any, envelope.Recorded], NetworkView]] = {
    facts.NetworkZonesRequested: _zones_requested,
    facts.NetworkChangeRequested: _change_requested,
    facts.NetworkRemovalRequested: _removal_requested,
    facts.NetworkRemovalDropped: _dropped,
    facts.NetworkMade: _done,
    facts.NetworkChanged: _done,
    facts.NetworkRemoved: _removed,
    facts.NetworkRunFailed: _failed,
}
