"""What is to be done about the fleet's networks next. Pure: no clock, randomness or I/O.

Outcomes come before new intents. One thing at a time is in hand for each network, one network never waits for another.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Network

from controlplane.cluster.observed.jobs import JobSeen
from controlplane.fleet.networks.address_pool import PoolExhausted, TooManyZones, next_cidr, numbered
from controlplane.fleet.networks.fold import NetworkAccess, NetworkState, NetworksView, NetworkView, NetworkWork
from controlplane.runtime.backoff import CAP_S, delay_s, refused_pause_s
from events import facts
from providers.base import Place
from providers.errors import AuthFailed, NotPermitted
from providers.networks import NO_OVERLAY, NO_PORTS, FirewallPorts, NetworkRunKind, OverlayPorts, name_in_account


@dataclass(frozen=True, slots=True)
class Door:
    """A listener's port, and who of outside is let in there, by CIDR; None: the clients of all."""

    port: int
    clients: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Want:
    """What the clusters in one network want of it together."""

    zones: frozenset[str] = frozenset()
    clients: frozenset[str] = frozenset()
    clusters: tuple[str, ...] = ()
    ports: FirewallPorts = NO_PORTS
    others: frozenset[Place] = frozenset()
    """Other places of theirs, whose networks its firewall is to let in as members."""
    listeners: frozenset[Door] = frozenset()
    """Of the specs."""
    overlay: OverlayPorts = NO_OVERLAY

    def joined(
        self,
        zones: Collection[str],
        clients: Collection[str],
        cluster: str,
        ports: FirewallPorts,
        others: Collection[Place],
        listeners: Collection[Door] = (),
        overlay: OverlayPorts = NO_OVERLAY,
    ) -> "Want":
        return Want(
            self.zones | set(zones),
            self.clients | set(clients),
            tuple(sorted({*self.clusters, cluster})),
            self.ports.joined(ports),
            self.others | set(others),
            self.listeners | set(listeners),
            self.overlay.joined(overlay),
        )

    def access(
        self, cidrs: Mapping[Place, str], servers: tuple[str, ...] = (), known: NetworkAccess | None = None
    ) -> NetworkAccess:
        """Who is to be let in. Peers: of the other places those whose network is Kedge's; nobody knows the others'.
        `known`: who is let in so far. Where brokers listen still and no spec names the port any more, that stays."""
        peers = sorted(cidrs[place] for place in self.others if place in cidrs)
        own = ((port, self._at(port, known)) for port in self.ports.brokers)
        told = tuple((port, tuple(sorted(clients))) for port, clients in own if clients != self.clients)
        return NetworkAccess(tuple(sorted(self.clients)), self.ports, tuple(peers), servers, told, self.overlay)

    def _at(self, port: int, known: NetworkAccess | None) -> frozenset[str]:
        named = [door.clients for door in self.listeners if door.port == port]
        if not named:
            stays = known is not None and port in dict(known.port_clients)
            return known.clients_at(port) if known is not None and stays else self.clients
        let_in = (self.clients if clients is None else frozenset(clients) for clients in named)
        return frozenset().union(*let_in)


@dataclass(frozen=True, slots=True)
class LeavingCluster:
    """A cluster that has moved away, and when its last VM there was retired."""

    cluster: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AddressPool:
    """Where networks get their addresses from: `[networks]` in the settings."""

    cidr: IPv4Network
    prefix: int
    reserved: tuple[IPv4Network, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkFleet:
    """All a decision may look at beside what is recorded."""

    wants: Mapping[Place, Want]
    pool: AddressPool
    now: datetime
    since: datetime
    """When this server was started."""
    installation_id: str = ""
    jobs: Mapping[str, JobSeen] = field(default_factory=dict)
    """By job id, of what is in hand."""
    busy: frozenset[str] = frozenset()
    """Ids of networks on which a run of something else has not ended."""
    left: Mapping[Place, LeavingCluster] = field(default_factory=dict)
    """Places that clusters have moved away from and that none names."""
    retained: frozenset[Place] = frozenset()
    """Places where VMs of deleted clusters were left standing."""
    occupied: Mapping[str, str] = field(default_factory=dict)
    """By id of a network that is to be removed: what is still in it, or why nobody knows."""
    servers: tuple[str, ...] | None = None
    """Where servers of this installation dial from, by CIDR; None where nobody can tell: then who is let in stays."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Events to record, and runs to start for what is in hand afterwards. `problems`: why a place gets no network."""

    events: tuple[object, ...] = ()
    starts: tuple[tuple[NetworkView, NetworkWork], ...] = ()
    problems: Mapping[Place, str] = field(default_factory=dict)


def decide_networks(view: NetworksView, fleet: NetworkFleet) -> Decision:
    """The decision of one tick: events of the first network that has any, or the runs that are to be started."""
    if view.unreadable:
        return Decision(problems=dict.fromkeys(fleet.wants, f"the networks' history is unreadable: {view.unreadable}"))
    events: list[object] = []
    problems: dict[Place, str] = {}
    cidrs = view.cidrs()
    for network in view.existing():
        try:
            events += _of_network(network, fleet, cidrs)
        except TooManyZones as error:
            problems[network.place] = str(error)
    try:
        events += _wanted(view, fleet)
    except (PoolExhausted, TooManyZones) as error:
        for place in fleet.wants.keys() - {n.place for n in view.existing()}:
            problems[place] = str(error)
    if events:
        return Decision(tuple(events), problems=problems)
    starts = tuple((n, n.work) for n in view.existing() if n.work is not None and _is_due(n, n.work, fleet))
    return Decision(starts=starts, problems=problems)


def will_let_in(view: NetworksView, place: Place, others: Collection[Place]) -> str:
    """What a plan says of members in other places that a firewall lets in from then on; "" where it does already, or
    the network is made with them."""
    network, cidrs = view.at(place), view.cidrs()
    if network is None or network.state is NetworkState.REMOVING:
        return ""
    if opened := sorted(str(p) for p in others if cidrs.get(p) not in network.known_peers()):
        return f"network {place.network} in {place} lets in members in {', '.join(opened)} first; no VM is replaced"
    return ""


def will_be_made(
    view: NetworksView,
    place: Place,
    zones: Collection[str],
    ports: FirewallPorts,
    pool: AddressPool,
    overlay: OverlayPorts = NO_OVERLAY,
) -> str:
    """What a plan says of a place's network, "" when it is there with all zones and lets in all ports."""
    network = view.at(place)
    if network is None:
        try:
            cidr = next_cidr(pool.cidr, pool.prefix, [*view.taken(), *pool.reserved])
        except PoolExhausted as error:
            return f"network {place.network} in {place} cannot be made: {error}; widen `networks.pool` in the settings"
        return f"network {place.network} is made in {place} first, with addresses of {cidr}"
    if missing := sorted(set(zones) - network.zones.keys() - (network.work.zones.keys() if network.work else set())):
        return f"network {place.network} in {place} gets {', '.join(missing)} first"
    if network.state is NetworkState.REMOVING:
        return f"network {place.network} in {place} is being removed; it is made again first"
    if closed := ports.without(network.access.ports):
        return f"network {place.network} in {place} lets in {ports_in_words(closed)} first"
    if closed := overlay.without(network.access.overlay):
        return f"network {place.network} in {place} lets in tunnels at UDP {ports_in_words(closed)} first"
    return ""


def server_will_be_let_in(
    view: NetworksView, place: Place, ports: FirewallPorts, servers: Collection[str] | None
) -> str:
    """What a plan says of the way of Kedge's own server to brokers there; "" where it is let in already, or the network
    is made with it. `ports` are those of the cluster."""
    network = view.at(place)
    known = set(network.access.servers) if network is not None else set()
    if servers is None and not known:
        return (
            f"network {place.network} in {place} lets no server of Kedge in: this one does not know where it dials "
            f"from. Say so in `clouds.server_addresses` of the settings, or put it into `access.clients` of the spec "
            f"(TCP {ports_in_words(ports.of_server)}); until then its brokers are not seen"
        )
    if network is None or network.state is NetworkState.REMOVING:
        return ""
    if opened := sorted(set(servers or ()) - known):
        told = ports_in_words(ports.of_server)
        return f"network {network.name} in {place} lets in this server ({', '.join(opened)}, {told}); no VM is replaced"
    return ""


def server_to_let_in(place: Place, ports: FirewallPorts, servers: Collection[str] | None, *, vms_filter: bool) -> str:
    """What a plan says of the way of Kedge's own server to brokers in a network of somebody else. `vms_filter`: its VMs
    let in who is declared in the settings, beside whatever it does itself."""
    opened, who = ports_in_words(ports.of_server), f"this server ({', '.join(sorted(servers or ()))})"
    if servers is None:
        who = "this server, which does not know where it dials from (`clouds.server_addresses` of the settings says so)"
    beside = (
        " VMs there filter packets too, and let in `clouds.server_addresses` of the settings." if vms_filter else ""
    )
    return (
        f"network {place.network} in {place} is yours, Kedge opens no port in it: let in {who} at TCP {opened}, or its "
        f"brokers are not seen.{beside} Once they run `kedge doctor --cloud {place.cloud}` tries"
    )


def access_will_change(
    network: NetworkView | None, before: NetworkAccess, wanted: NetworkAccess, *, vms_filter: bool
) -> str:
    """What a plan says of clients that are let in from then on, and of those that are not any more; "" where none are,
    or the network is made with them. `before` is what specs ask for so far. `vms_filter`: its VMs let them in, not a
    firewall of the cloud."""
    if network is None or network.state is NetworkState.REMOVING:
        return ""
    old, new = frozenset(before.clients), frozenset(wanted.clients)
    changes = list(_opened_and_closed(new - old - {*network.access.clients}, old - new))
    for port in sorted(dict(before.port_clients).keys() | dict(wanted.port_clients).keys()):
        if port in wanted.ports.brokers:
            old, new = before.clients_at(port), wanted.clients_at(port)
            changes += _opened_and_closed(new - old, old - new, f" at port {port}")
    if not changes:
        return ""
    words = f"network {network.name} in {network.place} {' and '.join(changes)}; no VM is replaced"
    if vms_filter:
        words += (
            ". Its VMs filter packets themselves: those that stand follow by their agents, within a minute, and the "
            "condition PacketFilterBehind names who does not"
        )
    return words


def _opened_and_closed(opened: Collection[str], closed: Collection[str], at: str = "") -> Iterator[str]:
    if opened:
        yield f"lets in {', '.join(sorted(opened))}{at}"
    if closed:
        yield f"lets in {', '.join(sorted(closed))} no more{at} (connections that stand go on)"


def in_words(network: NetworkView) -> str:
    """How it stands, with the last error."""
    work = network.work
    if work is None:
        return str(network.state)
    doing = {NetworkRunKind.GROW: "zones are being added", NetworkRunKind.ACCESS: "the firewall is being changed"}
    words = doing.get(work.kind, str(network.state))
    first = work.message.partition("\n")[0]
    return f"{words}; try {work.tries} failed: {work.error}: {first}" if work.tries else words


def ports_in_words(ports: tuple[int, ...]) -> str:
    """As a sentence names them."""
    return f"{'port' if len(ports) == 1 else 'ports'} {', '.join(map(str, ports))}"


def change_of(network: NetworkView, access: NetworkAccess, reason: str) -> facts.NetworkChangeRequested:
    """The request to let in that, and nobody else."""
    change = facts.NetworkChangeRequested(
        network.id, access.clients, reason, access.ports.brokers, access.ports.members
    )
    change = replace(change, peers=access.peers, servers=access.servers, port_clients=access.port_clients)
    return replace(change, overlay_ports=access.overlay.members, open_overlay_ports=access.overlay.anybody)


def next_try_at(work: NetworkWork) -> datetime | None:
    """When what failed is tried again by itself; None where nothing failed since somebody asked."""
    return work.failed_at + timedelta(seconds=_pause_s(work)) if work.failed_at is not None else None


def _of_network(network: NetworkView, fleet: NetworkFleet, cidrs: Mapping[Place, str]) -> Iterator[object]:
    work, want = network.work, fleet.wants.get(network.place)
    if work is None:
        if want is not None:
            yield from _next_work(network, want, cidrs, fleet.servers)
        else:
            leaving = _left(network, fleet.left.get(network.place))
            yield from leaving or _peers_no_more(network, cidrs.values() if network.place in fleet.retained else ())
        return
    job = fleet.jobs.get(work.job)
    if job is not None and job.state == "succeeded":
        yield _outcome(network, work, job)
    elif job is not None and job.state == "failed":
        yield facts.NetworkRunFailed(network.id, job.error, job.message, job.retryable)
    elif job is None and work.kind is NetworkRunKind.REMOVE:
        # What a run was killed over may be half gone: only before the first one there is a way back.
        if want is not None and not work.tries:
            yield facts.NetworkRemovalDropped(network.id, f"{', '.join(want.clusters)} came to need it")
    elif job is None and work.tries and want is not None and network.id not in fleet.busy:
        yield from _other_target(network, work, want, cidrs, fleet.servers)


def _left(network: NetworkView, leaving: LeavingCluster | None) -> tuple[object, ...]:
    """A network that a cluster moved away from goes; one whose clusters were deleted stands until a person removes it.
    So does one that was made after the cluster had left."""
    if leaving is None or network.requested_at >= leaving.at:
        return ()
    reason = f"{leaving.cluster} has moved away, and no cluster names it"
    return (facts.NetworkRemovalRequested(network.id, network.name, reason),)


def _peers_no_more(network: NetworkView, existing: Collection[str]) -> Iterator[object]:
    """A network no living cluster names stays as it is, but lets in nobody elsewhere; while VMs were left standing in
    it, those networks that stand: the addresses of one that was removed are given again one day."""
    access = network.access
    kept = tuple(peer for peer in access.peers if peer in existing)
    if kept != access.peers:
        yield change_of(network, replace(access, peers=kept), "no cluster is both here and there")


def _next_work(
    network: NetworkView, want: Want, cidrs: Mapping[Place, str], servers: tuple[str, ...] | None
) -> Iterator[object]:
    """Zones are not taken back one by one; clients, ports and peers are, once no living cluster needs them."""
    if missing := sorted(want.zones - network.zones.keys()):
        reason = f"{', '.join(want.clusters)} {_names(want)} {', '.join(missing)}"
        yield facts.NetworkZonesRequested(network.id, numbered(want.zones, network.zones), reason)
    else:
        yield from _other_access(network, network.access, want, cidrs, servers)


def _other_access(
    network: NetworkView,
    known: NetworkAccess,
    want: Want,
    cidrs: Mapping[Place, str],
    servers: tuple[str, ...] | None,
) -> Iterator[object]:
    wanted = want.access(cidrs, known.servers if servers is None else servers, known)
    compared = (
        ("clients", wanted.clients, known.clients),
        ("ports", wanted.ports, known.ports),
        ("other places", wanted.peers, known.peers),
        ("servers", wanted.servers, known.servers),
        ("clients of single listeners", wanted.port_clients, known.port_clients),
        ("tunnels", wanted.overlay, known.overlay),
    )
    changed = [word for word, one, there in compared if one != there]
    if changed:
        yield change_of(network, wanted, f"{' and '.join(changed)} of {', '.join(want.clusters)}")


def _other_target(
    network: NetworkView,
    work: NetworkWork,
    want: Want,
    cidrs: Mapping[Place, str],
    servers: tuple[str, ...] | None,
) -> Iterator[object]:
    """A try failed and the specs say something else by now: that is tried, and not what failed."""
    if work.kind is NetworkRunKind.ACCESS:
        yield from _other_access(network, work.access, want, cidrs, servers)
    elif not want.zones <= work.zones.keys() or not work.zones.keys() <= want.zones | network.zones.keys():
        zones = numbered(want.zones, network.zones)
        yield facts.NetworkZonesRequested(network.id, zones, f"zones of {', '.join(want.clusters)} as they are now")


def _outcome(network: NetworkView, work: NetworkWork, job: JobSeen) -> object:
    if work.kind is NetworkRunKind.REMOVE:
        return facts.NetworkRemoved(network.id)
    settings = json.dumps(job.result.get("settings", {}), sort_keys=True)
    if work.kind is NetworkRunKind.ACCESS:
        return facts.NetworkChanged(network.id, settings)
    return facts.NetworkMade(network.id, settings)


def _wanted(view: NetworksView, fleet: NetworkFleet) -> Iterator[object]:
    """Networks that are named and do not exist. Each gets its addresses here, for as long as it stands."""
    taken, count = [*view.taken(), *fleet.pool.reserved], len(view.networks)
    missing = sorted(fleet.wants.keys() - {n.place for n in view.existing()}, key=lambda p: (str(p), p.network))
    cidrs = dict(view.cidrs())
    for place in missing:
        cidr = next_cidr(fleet.pool.cidr, fleet.pool.prefix, taken)
        taken.append(cidr)
        cidrs[place] = str(cidr)
    for place in missing:
        want = fleet.wants[place]
        zones, access = numbered(want.zones, {}), want.access(cidrs, fleet.servers or ())
        count += 1
        yield facts.NetworkRequested(
            id=f"network-{count}-{place.network}",
            cloud=place.cloud,
            account=place.account,
            region=place.region,
            name=place.network,
            cidr=cidrs[place],
            zones=zones,
            clients=access.clients,
            reason=f"{', '.join(want.clusters)} {_names(want)} it",
            broker_ports=access.ports.brokers,
            member_ports=access.ports.members,
            cloud_name=name_in_account(place, fleet.installation_id),
            peers=access.peers,
            servers=access.servers,
            port_clients=access.port_clients,
            overlay_ports=access.overlay.members,
            open_overlay_ports=access.overlay.anybody,
        )


def _is_due(network: NetworkView, work: NetworkWork, fleet: NetworkFleet) -> bool:
    if work.job in fleet.jobs or network.id in fleet.busy:
        return False
    if work.kind is NetworkRunKind.REMOVE and fleet.occupied.get(network.id):
        return False
    again = next_try_at(work)
    if again is None or work.failed_at is None or fleet.now >= again:
        return True
    return work.error in _OF_CREDENTIALS and work.failed_at < fleet.since


_OF_CREDENTIALS = frozenset({NotPermitted.__name__, AuthFailed.__name__})
"""Read where a server starts: one that was started since may have others."""


def _pause_s(work: NetworkWork) -> float:
    """What the cloud does not permit is tried again seldom: a person has to do something first."""
    if work.error == NotPermitted.__name__:
        return refused_pause_s(work.tries)
    return delay_s(work.tries) if work.retryable else CAP_S


def _names(want: Want) -> str:
    return "names" if len(want.clusters) == 1 else "name"
