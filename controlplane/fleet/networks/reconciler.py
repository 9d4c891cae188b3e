"""Looks after the fleet's networks at each tick: what clusters name is made before their first VM.

Runs go through the same runner as those of clusters, under the same epochs: only the leader starts any.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from controlplane.cluster.observed.jobs import job_seen
from controlplane.cluster.observed.network_audits import AUDIT, NetworkAtRest
from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.cluster.places import declared_places, left_places, place_named, place_of, places_of
from controlplane.cluster.view import TLS_BROKER_PORT, TLS_CONTROLLER_PORT, ClusterView
from controlplane.fleet.networks import decide, fold, server_addresses
from controlplane.fleet.networks.overlay_ports import overlay_ports
from controlplane.fleet.networks.waiting import shut_out, waits_for
from controlplane.kafka.zookeeper.members import SECURE_PORT, ZooKeeperMember
from controlplane.runtime.once import once
from controlplane.storage.job_store import JobStore
from controlplane.storage.streams import NETWORKS
from events import codec, envelope, errors, ids
from events.clock import Clock
from events.store import EventStore
from planner.rollout.security_steps import FIRST
from providers import errors as provider_errors
from providers.base import Listing, Place
from providers.errors import ProviderError
from providers.networks import USUAL_PORTS, FirewallPorts, NetworkRun, NetworkRunKind

MAX_DECISIONS = 5
"""Decisions one tick takes in a row while each records something."""

_SERVER = ZooKeeperMember(1, "any")
_ZOOKEEPER = (_SERVER.port, _SERVER.peer_port, _SERVER.election_port)
"""For clients, which brokers are, and for its servers among themselves."""


class NetworkRunner(Protocol):
    """Starts runs on networks and returns at once; how they end is read from the job store."""

    def network(self, job_id: str, run: NetworkRun, *, epoch: ids.Epoch) -> None:
        """The job row exists when this returns."""


@dataclass(frozen=True, slots=True)
class NetworkPorts:
    """What the reconciler reaches the world through."""

    store: EventStore
    jobs: JobStore
    runner: NetworkRunner
    makes_network: Callable[[Place], bool]
    """Whether the settings leave the network of that account and region to Kedge. Raises `ProviderError`."""
    list_place: Callable[[Place], Listing]
    """Everything of this installation there, asked now. Raises `ProviderError`."""
    installation_id: str
    clock: Clock
    epoch: Callable[[], ids.Epoch]
    filters_packets: Callable[[Place], bool] = lambda place: False
    """Whether VMs there let clients in by themselves, as no firewall of their cloud sees private traffic."""
    servers: server_addresses.ServerCidrs | None = None
    """Where servers of this installation dial from; None where nothing dials, as in a portal of its own."""


class NetworkReconciler:
    """Thread-safe: ticks come one at a time, questions at any time."""

    def __init__(self, ports: NetworkPorts, pool: decide.AddressPool) -> None:
        self._ports = ports
        self._pool = pool
        self._lock = threading.RLock()
        self._view = fold.NetworksView()
        self._problems: Mapping[Place, str] = {}
        self._left: dict[Place, bool] = {}
        self._since = ports.clock()

    @property
    def pool(self) -> decide.AddressPool:
        return self._pool

    def view(self) -> fold.NetworksView:
        with self._lock:
            return self._view

    def take_in(self, recorded: envelope.Recorded) -> None:
        """Folds an event of the stream; those of others, and what is known, change nothing."""
        if recorded.stream != NETWORKS:
            return
        with self._lock:
            if recorded.version > self._view.version:
                self._view = fold.evolve(self._view, recorded)

    def settings_of(self, place: Place) -> Mapping[str, Any] | None:
        """See `MadeNetworks`."""
        return self.view().settings_of(place)

    def cidr_at(self, place: Place) -> str:
        """All addresses of the network made there, by CIDR; "" where Kedge made none."""
        network = self.view().at(place)
        return str(network.cidr) if network is not None else ""

    def waits_for(self, view: ClusterView) -> tuple[NetworkAwaited, ...]:
        """What is missing before VMs of the cluster can be made; empty where nothing is."""
        with self._lock:
            known, problems = self._view, self._problems
        ours, ports = (p for p in declared_places(view) if self.is_ours(p)), _ports(view)
        waits = (waits_for(known, p, _zones(view, p), ports, problems, overlay_ports(view, p)) for p in ours)
        beside = (shut_out(known, p, _unmet(view, p, others), problems) for p, others in self._beside(view).items())
        return tuple(one for one in (*waits, *beside) if one is not None)

    def planned(self, view: ClusterView, fleet: Sequence[ClusterView] = ()) -> tuple[str, ...]:
        """What is to be done about networks for the document of `view`, for a plan: before its first VM, and of who is
        let in. `fleet` are all clusters as they are, that one with its present document."""
        known, ports = self.view(), _ports(view)
        ours = [p for p in declared_places(view) if self.is_ours(p)]
        made = (decide.will_be_made(known, p, _zones(view, p), ports, self._pool, overlay_ports(view, p)) for p in ours)
        beside = ((p, [o for o in others if self.is_ours(o)]) for p, others in self._beside(view).items())
        peers = (decide.will_let_in(known, p, others) for p, others in beside)
        access = (self._access_planned(view, p, fleet) for p in ours)
        return tuple(one for one in (*made, *peers, *access, *self._servers_planned(view, ours, ports)) if one)

    def _servers_planned(self, view: ClusterView, ours: Collection[Place], ports: FirewallPorts) -> Iterator[str]:
        """Whether this server reaches the brokers; of networks of others before the first VM there alone, as nobody can
        tell whom they let in by now."""
        if self._ports.servers is None:
            return
        known, servers = self.view(), self._servers()
        yield from (decide.server_will_be_let_in(known, p, ports, servers) for p in ours)
        lived_in = {place_of(view, i) for i in view.alive()}
        for place in declared_places(view):
            if place.cloud != "local" and place not in ours and place not in lived_in:
                yield decide.server_to_let_in(place, ports, servers, vms_filter=self._ports.filters_packets(place))

    def _servers(self) -> tuple[str, ...] | None:
        return self._ports.servers(self._pool.cidr) if self._ports.servers is not None else None

    def _access_planned(self, view: ClusterView, place: Place, fleet: Sequence[ClusterView]) -> str:
        network, others = self.view().at(place), [v for v in fleet if v.name != view.name]
        known = network.access if network is not None else None
        before, wanted = (
            self.wants(views).get(place, decide.Want()).access({}, known=known) for views in (fleet, [*others, view])
        )
        return decide.access_will_change(network, before, wanted, vms_filter=self._ports.filters_packets(place))

    def is_ours(self, place: Place) -> bool:
        """Whether Kedge makes that place's network. A place nobody can say it of has none: its cluster tells why."""
        key = Place(place.cloud, place.region, place.account)
        if key not in self._left:
            try:
                self._left[key] = self._ports.makes_network(key)
            except ProviderError:
                return False
        return self._left[key]

    def wants(self, views: Iterable[ClusterView]) -> dict[Place, decide.Want]:
        """What living clusters want of each network Kedge makes."""
        found: dict[Place, decide.Want] = {}
        for view in views:
            if view.deleted or view.document is None:
                continue
            beside = self._beside(view)
            for place, zones in _zones_by_place(view):
                if self.is_ours(place):
                    want, others = found.get(place, decide.Want()), beside.get(place, ())
                    asked = (_clients(view), view.name, _ports(view), others, _doors(view), overlay_ports(view, place))
                    found[place] = want.joined(zones, *asked)
        return found

    def _beside(self, view: ClusterView) -> Mapping[Place, tuple[Place, ...]]:
        """Places of a cluster whose firewalls are Kedge's -> its other places, whose members they are to let in. Where
        VMs filter packets they are told by their agents (`packet_filter_in`)."""
        places = places_of(view)
        if len(places) < 2:
            return {}
        walled = [p for p in places if self.is_ours(p) and not self._ports.filters_packets(p)]
        return {place: tuple(p for p in places if p != place) for place in walled}

    def _left_by(self, views: Iterable[ClusterView], wants: Collection[Place]) -> dict[Place, decide.LeavingCluster]:
        """Places that a cluster was the last to move away from, of those nobody wants."""
        found: dict[Place, decide.LeavingCluster] = {}
        for view in views:
            for place, at in left_places(view).items():
                if place not in wants and (place not in found or found[place].at < at):
                    found[place] = decide.LeavingCluster(view.name, at)
        return found

    def at_rest(self) -> tuple[NetworkAtRest, ...]:
        """Those that stand, for who looks at them beside the ticks."""
        return tuple(
            NetworkAtRest(self._as_it_is(n), n.work is None, n.changed_at or n.requested_at)
            for n in self.view().existing()
            if n.is_ready
        )

    def _as_it_is(self, network: fold.NetworkView) -> NetworkRun:
        """The run that would make it once more, as it stands. It is never started."""
        return NetworkRun(
            intent_id="",
            kind=NetworkRunKind.MAKE,
            key=network.id,
            place=network.place,
            installation_id=self._ports.installation_id,
            cidr=str(network.cidr),
            zones=network.zones,
            clients=network.access.clients,
            ports=network.access.ports,
            peers=network.access.peers,
            servers=network.access.servers,
            port_clients=network.access.port_clients,
            overlay=network.access.overlay,
            called=network.cloud_name,
        )

    def tick(self, views: Sequence[ClusterView]) -> int:
        """Records what is to be recorded and starts what is due; how many events and runs that were.

        Raises LostLeadership, and EventsError when the store is away.
        """
        moved = 0
        wants = self.wants(views)
        for _ in range(MAX_DECISIONS):
            decision = self._decide(wants, views)
            self._problems = decision.problems
            if not decision.events:
                break
            try:
                self._append(decision)
            except errors.StreamConflict:
                return moved  # a person asked for something meanwhile: it is read at the next tick
            moved += len(decision.events)
        for network, work in decision.starts:
            self._ports.runner.network(work.job, self._run(network, work), epoch=self._ports.epoch())
            moved += 1
        return moved

    def _decide(self, wants: Mapping[Place, decide.Want], views: Sequence[ClusterView]) -> decide.Decision:
        known = self.view()
        working = [n for n in known.existing() if n.work is not None]
        if not working and not wants and not known.existing():
            return decide.Decision()
        jobs = {n.work.job: self._ports.jobs.get(ids.IntentId(n.work.job)) for n in working if n.work}
        fleet = decide.NetworkFleet(
            wants=wants,
            pool=self._pool,
            installation_id=self._ports.installation_id,
            now=self._ports.clock(),
            since=self._since,
            jobs={job_id: job_seen(job) for job_id, job in jobs.items() if job is not None},
            busy=frozenset(n.id for n in working if self._is_busy(n)),
            left=self._left_by(views, wants) if any(n.place not in wants for n in known.existing()) else {},
            retained=_retained(views) if any(n.access.peers for n in known.existing()) else frozenset(),
            servers=self._servers(),
            occupied={n.id: self._occupants(n, views) for n in working if n.state is fold.NetworkState.REMOVING},
        )
        return decide.decide_networks(known, fleet)

    def _is_busy(self, network: fold.NetworkView) -> bool:
        own = network.work.job if network.work else ""
        return any(
            # An audit is in nobody's way: it reads, and works on a copy of the state.
            j.intent_id != own and j.ended_at is None and j.kind != AUDIT
            for j in self._ports.jobs.of_cluster(ids.ClusterUid(network.id))
        )

    def _occupants(self, network: fold.NetworkView, views: Sequence[ClusterView]) -> str:
        """What stands in the way of its removal: VMs of deleted clusters that were left standing, or of nobody known.

        VMs of clusters known to be in another network do not.
        """
        if network.work is None or self._ports.jobs.get(ids.IntentId(network.work.job)) is not None:
            return ""
        elsewhere = {v.uid for v in views if network.place not in places_of(v)}
        try:
            listing = self._ports.list_place(network.place)
        except provider_errors.NotFound:
            return ""
        except ProviderError as error:
            return f"nobody can tell what is in it: {error}"
        inside = sorted(i.key for i in listing.instances if i.cluster_uid not in elsewhere)
        return f"{len(inside)} VMs may be in it: {', '.join(inside[:5])}" if inside else ""

    def _append(self, decision: decide.Decision) -> None:
        epoch = self._ports.epoch()
        version = self.view().version
        events = network_events(version, decision.events)
        origin = envelope.Origin(actor="converger", epoch=epoch)
        for recorded in self._ports.store.append(NETWORKS, events, expected_version=version, origin=origin):
            self.take_in(recorded)

    def _run(self, network: fold.NetworkView, work: fold.NetworkWork) -> NetworkRun:
        run = replace(self._as_it_is(network), intent_id=work.job, kind=work.kind, zones=work.zones)
        if work.kind is NetworkRunKind.GROW:
            return run
        access = work.access
        run = replace(run, clients=access.clients, ports=access.ports, peers=access.peers)
        return replace(run, servers=access.servers, port_clients=access.port_clients, overlay=access.overlay)


def network_events(version: int, events: Iterable[object]) -> list[envelope.NewEvent]:
    """Facts as events to append after `version`."""
    return codec.encode_all(events, "network", str(version))


@once
def _zones_by_place(view: ClusterView) -> tuple[tuple[Place, tuple[str, ...]], ...]:
    """Places of a cluster with their zones: those its spec names, and in what it is about to leave those it is in."""
    declared = declared_places(view)
    leaving = [p for p in places_of(view) if p not in declared]
    there = {p: tuple(sorted({i.planned.rack for i in view.alive() if place_of(view, i) == p})) for p in leaving}
    return (*((place, _zones(view, place)) for place in declared), *there.items())


def _retained(views: Iterable[ClusterView]) -> frozenset[Place]:
    """Places where deleted clusters have VMs that may exist."""
    return frozenset(place_of(view, i) for view in views if view.deleted for i in view.alive())


def _unmet(view: ClusterView, place: Place, others: Sequence[Place]) -> tuple[Place, ...]:
    """Those with whom the cluster does not live in both: no first VM is made there before both let the other in. Where
    VMs stand on both sides somebody has let them in, a person in the days before Kedge did."""
    lived_in = {place_of(view, i) for i in view.alive()}
    return tuple(p for p in others if not {p, place} <= lived_in)


def _zones(view: ClusterView, place: Place) -> tuple[str, ...]:
    pools = view.document.spec.pools if view.document else ()
    return tuple(zone for pool in pools if place_named(pool.place) == place for zone in pool.place.zones)


def _clients(view: ClusterView) -> tuple[str, ...]:
    return view.document.spec.access.clients if view.document else ()


def _doors(view: ClusterView) -> tuple[decide.Door, ...]:
    listeners = view.document.spec.listeners if view.document else ()
    return tuple(decide.Door(one.port, one.clients) for one in listeners)


def _goes_tls(view: ClusterView) -> bool:
    """From the spec that asks for it on, so before the first node listens there; until the last one does no more."""
    asks = view.document is not None and view.document.spec.security.internal == "tls"
    return asks or view.security.high > FIRST


def _has_controllers(view: ClusterView) -> bool:
    """From the spec of a migration to KRaft on, so before the first of them listens."""
    comes = view.document is not None and view.document.spec.kafka.mode == "kraft"
    return comes or any(i.planned.service == "controller" for i in view.alive())


@once
def _ports(view: ClusterView) -> FirewallPorts:
    """Where its brokers listen, those that stand at an older port among them, and its controllers; in all its places. A
    port is open before the first broker listens there, and until the last one does not.
    Servers of ZooKeeper are reached until the last of them is retired, whatever the spec says by then."""
    is_tls = view.nodes_speak_tls and view.security.is_over
    brokers = set() if is_tls else {view.plain_port_of(one) for one in (None, *view.brokers())}
    brokers |= {one.port for one in view.document.spec.listeners} if view.document is not None else set()
    brokers |= {one.port for i in view.brokers() if i.start.security for one in i.start.security.listeners}
    kept = any(i.planned.service == "zookeeper" for i in view.alive())
    members = {*USUAL_PORTS.members, *(_ZOOKEEPER if view.in_zookeeper_mode or kept else ())}
    if _goes_tls(view):
        members |= {TLS_BROKER_PORT} | ({SECURE_PORT} if view.in_zookeeper_mode or kept else set())
        members |= {TLS_CONTROLLER_PORT} if _has_controllers(view) else set()
    return FirewallPorts((), tuple(sorted(members))).joined(FirewallPorts(tuple(sorted(brokers)), ()))
