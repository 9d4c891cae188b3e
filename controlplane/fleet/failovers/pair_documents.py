"""What brokers' VMs of a cluster are told by the pair it is of, or was: of its door, and of copying. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from agent.wire import DoorDocument
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.doors import door_document
from controlplane.fleet.failovers.replicators import ReplicatorPart, replicator_part
from controlplane.fleet.failovers.state import PairCache, PairsView, RegisteredPair
from controlplane.fleet.failovers.wanted import DoorOrder, wants_of
from events.ids import ClusterUid

ServersAt = Callable[[str], tuple[str, ...]]
"""By which networks, as CIDRs, Kedge's servers come to an address."""
ViewOf = Callable[[ClusterUid], ClusterView | None]


@dataclass(frozen=True, slots=True)
class PairPart:
    """Of a cluster's documents, what its pair says; nothing for a cluster that was never of one."""

    door: DoorDocument | None = None
    replicator: ReplicatorPart | None = None


NO_PART = PairPart()


@dataclass(frozen=True, slots=True)
class PairParts:
    """Those of all clusters as they are to be now. For any thread."""

    cache: PairCache
    servers_at: ServersAt
    view_of: ViewOf

    def of(self, view: ClusterView) -> PairPart:
        """See `door_of` and `replicator_part`."""
        pairs = self.cache.pairs()
        pair = pairs.last_declared(view.uid)
        if pair is None:
            return NO_PART
        told = pairs.last_warm(view.uid) or pair  # it is over where it is not the last one: nothing is copied any more
        other = next((self.view_of(ClusterUid(uid)) for uid in pair.clusters if uid != view.uid), None)
        return PairPart(door_of(pairs, view, self.servers_at, other), replicator_part(told, view, other))

    def also_tell(self, heard: Callable[[str], object]) -> None:
        """From here on `heard` is called with each cluster whose pair has changed."""
        self.cache.also_tell(heard)


def door_of(
    pairs: PairsView, view: ClusterView, servers_at: ServersAt, other: ClusterView | None = None
) -> DoorDocument | None:
    """None where there is nothing to say: the cluster was never of a pair that was declared.

    Of a pair that stands still nobody knows who is to let clients in. VMs keep what they have, as they follow no second
    word of the epoch they have or an earlier one; a VM that has nothing is shut. A pair that was withdrawn takes its
    door away, by an epoch behind all that it gave. Of a warm pair nodes of the `other` cluster get in, too: they copy.
    """
    pair = pairs.last_declared(view.uid)
    if pair is None:
        return None
    ports, members = client_ports(view), tuple(_members(view, servers_at))
    if not members:
        return None  # it has no VM yet, whom this would be said to
    if pair.view.is_warm and other is not None:
        members = (*members, *_nodes(other))
    if pair.view.is_withdrawn:
        return _no_door(pair, ports, members)
    door = pair.view.doors[view.uid]
    order = DoorOrder(is_open=False, epoch=door.epoch)
    if not pair.view.stands_still:
        order = wants_of(pair.view, None).doors[view.uid]
    return door_document(pair.uid, order, ports, members)


def client_ports(view: ClusterView) -> frozenset[int]:
    """Of every listener for clients: those that are declared, and those that brokers were started with."""
    ports = {view.plain_port_of(None), *(view.plain_port_of(broker) for broker in view.brokers())}
    declared = view.document.spec.listeners if view.document is not None else ()
    told = [broker.start.security for broker in view.brokers()]
    ports.update(listener.port for listener in declared)
    ports.update(listener.port for security in told if security is not None for listener in security.listeners)
    return frozenset(ports)


def _no_door(pair: RegisteredPair, ports: frozenset[int], members: tuple[str, ...]) -> DoorDocument:
    epoch = pair.view.last_epoch + 1
    return DoorDocument(pair=pair.uid, state="none", epoch=epoch, ports=tuple(sorted(ports)), members=members)


def _members(view: ClusterView, servers_at: ServersAt) -> Iterator[str]:
    """Its own nodes, and the servers that look after it."""
    for network in _nodes(view):
        yield network
        yield from servers_at(network.partition("/")[0])


def _nodes(view: ClusterView) -> Iterator[str]:
    addresses = {address for vm in view.alive() for address in (vm.address, vm.own_address, view.seat_address(vm))}
    for address in sorted(addresses):
        try:
            yield f"{address}/{ip_address(address).max_prefixlen}"
        except ValueError:
            continue  # not known yet: a VM has addresses, never a name
