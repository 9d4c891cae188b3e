"""Networks that Kedge makes: what a run makes or changes, and how a provider learns what was made.

A network belongs to one account and region and has a name there. Its Terraform state is its own: it outlives clusters
and is shared by them.
"""

import hashlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from providers.base import Place, Resources
from providers.errors import PlaceUnknown, ProviderError

MadeNetworks = Callable[[Place], Mapping[str, Any] | None]
"""Place, its network's name included -> what its module gave as `settings`, None while there is no such network."""

LONGEST_NAME = 30
"""Google's module leaves that much: a name of 63 with room for what begins with it."""


def none_made(place: Place) -> Mapping[str, Any] | None:
    """For who knows of no network: a shell, a test of settings alone."""
    return None


class NetworkMissing(ProviderError):
    """The network of that place is one Kedge makes, and it is not there yet."""

    retryable = True
    what_next = "It is made before the first VM; `kedge networks` shows how far it is."


class NetworkRunKind(StrEnum):
    """What a run may do to a network, and nothing else: see `providers.tf.network_guard`."""

    MAKE = "network-make"
    GROW = "network-grow"
    ACCESS = "network-access"
    REMOVE = "network-remove"


@dataclass(frozen=True, slots=True)
class FirewallPorts:
    """TCP ports a network's firewall knows, each list in order: those of `brokers`, where clients are let in as well,
    and those only `members` reach, one another's: of controllers, and of ZooKeeper."""

    brokers: tuple[int, ...] = (9092,)
    members: tuple[int, ...] = (9093,)

    def joined(self, other: "FirewallPorts") -> "FirewallPorts":
        """Both together. No client is let in at a port of members, whatever a broker listens at."""
        if other == self:
            return self
        members = {*self.members, *other.members}
        brokers = {*self.brokers, *other.brokers} - members
        return FirewallPorts(tuple(sorted(brokers)) or FirewallPorts().brokers, tuple(sorted(members)))

    @property
    def of_server(self) -> tuple[int, ...]:
        """Those the server of Kedge dials: brokers, where a cluster's nodes speak TLS at the port of brokers among
        themselves, and while a cluster of the network has a ZooKeeper ensemble its ports for clients, and those of
        controllers, which a migration asks for the quorum by themselves."""
        plain = {2181, 9093} if 2181 in self.members else set()
        secured = {2182, 9090} if 2182 in self.members else set()
        beside = {9091, *plain, *secured} & {*self.members}
        return tuple(sorted({*self.brokers, *beside}))

    def without(self, other: "FirewallPorts") -> tuple[int, ...]:
        """Those it has and the other has not, in order."""
        return tuple(sorted({*self.brokers, *self.members} - {*other.brokers, *other.members}))


@dataclass(frozen=True, slots=True)
class OverlayPorts:
    """UDP ports at which VMs take tunnels of an overlay, each list in order: those that members are let in at, in other
    places too, and those that anybody is, as nobody knows behind which NAT a member calls. WireGuard answers nobody
    whose key it has not."""

    members: tuple[int, ...] = ()
    anybody: tuple[int, ...] = ()

    def joined(self, other: "OverlayPorts") -> "OverlayPorts":
        """Both together."""
        members, anybody = {*self.members, *other.members}, {*self.anybody, *other.anybody}
        return OverlayPorts(tuple(sorted(members - anybody)), tuple(sorted(anybody)))

    def without(self, other: "OverlayPorts") -> tuple[int, ...]:
        """Those it has and the other has not, or has for fewer, in order."""
        lacking = {*self.anybody} - {*other.anybody} | {*self.members} - {*other.members, *other.anybody}
        return tuple(sorted(lacking))


NO_OVERLAY = OverlayPorts()
"""What a network lets in by UDP while no cluster of it has an overlay: nothing."""

PortClients = tuple[tuple[int, tuple[str, ...]], ...]
"""Ports of brokers where others than `clients` are let in, and whom by CIDR (nobody of outside: none); in order."""

USUAL_PORTS = FirewallPorts()
"""What the modules of networks let in unless told: Kafka's own."""

NO_PORTS = FirewallPorts((), ())
"""What nobody needs anything of: a network always has some of both."""


@dataclass(frozen=True, slots=True)
class NetworkRun:
    """One guarded run on one network. `key` names its state for ever; `zones` are zone -> number of its subnet."""

    intent_id: str
    kind: NetworkRunKind
    key: str
    place: Place
    installation_id: str
    cidr: str
    zones: Mapping[str, int] = field(default_factory=dict)
    clients: tuple[str, ...] = ()
    ports: FirewallPorts = USUAL_PORTS
    peers: tuple[str, ...] = ()
    """Networks of members in other places, by CIDR: let in as members are, at all ports."""
    servers: tuple[str, ...] = ()
    """Where the servers of this installation dial from, by CIDR: let in at `FirewallPorts.of_server`."""
    port_clients: PortClients = ()
    overlay: OverlayPorts = NO_OVERLAY
    called: str = ""
    """What it is called in the account, as recorded when it was asked for (`name_in_account`); "" for one of before."""

    def clients_at(self, port: int) -> tuple[str, ...]:
        """Who of outside is let in at a port of brokers."""
        return dict(self.port_clients).get(port, self.clients)

    @property
    def cloud_name(self) -> str:
        """What it is called in the account. One of before names told installations apart is `kedge-<name>-<region>`,
        cut with a digest where that is too long."""
        whole = f"kedge-{self.place.network}-{self.place.region}"
        return self.called or (whole if len(whole) <= LONGEST_NAME else _cut(whole, whole))


def name_in_account(place: Place, installation_id: str) -> str:
    """`kedge-<name>-<region>`, cut to fit, and a digest of it and of the installation: two installations of Kedge may
    each have a network of one name in one account, where most clouds refuse the second of a name."""
    whole = f"kedge-{place.network}-{place.region}"
    return _cut(whole, f"{installation_id} {whole}")


def _cut(whole: str, of: str) -> str:
    digest = hashlib.sha256(of.encode()).hexdigest()[:6]
    return f"{whole[: LONGEST_NAME - 7].rstrip('-')}-{digest}"


@runtime_checkable
class MakesNetworks(Protocol):
    """A provider whose accounts may leave the network of a region to Kedge."""

    def makes_network(self, place: Place) -> bool:
        """Whether the settings leave that region's network to Kedge. Raises `PlaceUnknown` where it is not in them."""

    def network_variables(self, place: Place) -> Mapping[str, str]:
        """The cloud's own values for `terraform/modules/<cloud>-network`."""


@runtime_checkable
class TellsIpv6(Protocol):
    """A provider of a cloud whose VMs may have IPv6 addresses."""

    def has_ipv6(self, place: Place) -> bool:
        """Whether the network of that place has IPv6. Raises `PlaceUnknown`."""


def check_ipv6(provider: object, wanted: Resources, new: Set[str]) -> None:
    """Raises `PlaceUnknown` where one of `new` (targets as `instance/b-0.g1`) is to have IPv6 in a network without."""
    asking = sorted(i.key for i in wanted.instances if i.ipv6 and f"instance/{i.key}" in new)
    place = wanted.place
    if asking and not (isinstance(provider, TellsIpv6) and provider.has_ipv6(place)):
        raise PlaceUnknown(
            f"{place}: {', '.join(asking)} are to have IPv6, and the network {place.network} there has none; nothing "
            f"was made. Is it yours, give it IPv6 and say `ipv6: true` in its region of {place.cloud}.yaml. One that "
            "Kedge made keeps what it was made with: say so there all the same, and name another in `place.network` of "
            "a new pool. Or leave `ipv6` out of the pool"
        )


def ipv6_word(has_ipv6: bool) -> dict[str, str]:
    """What of it is said in a module's `cloud`: nothing where there is none, as before there was any."""
    return {"ipv6": "true"} if has_ipv6 else {}


@runtime_checkable
class FindsNetworks(Protocol):
    """Knows what of a network exists, by its marks and names: so an interrupted run leaves no twin behind."""

    def network_pieces(self, run: NetworkRun) -> Mapping[str, str]:
        """Terraform's address in the rendered configuration -> id to import it by. Raises `ProviderError`."""


def network_variables(run: NetworkRun, cloud: Mapping[str, str]) -> dict[str, object]:
    """Variables of `terraform/modules/<cloud>-network`; the shape is terraform/README.md's. JSON-safe.

    Ports, peers, servers, clients of single ports and tunnels are told where they are not the module's own default.
    """
    more: dict[str, object] = {}
    if run.ports != USUAL_PORTS:
        more |= {"broker_ports": list(run.ports.brokers), "member_ports": list(run.ports.members)}
    if run.peers:
        more["peers"] = sorted(run.peers)
    if run.servers:
        more |= {"servers": sorted(run.servers), "server_ports": list(run.ports.of_server)}
    if run.port_clients:
        more["port_clients"] = {str(port): sorted(clients) for port, clients in run.port_clients}
    if run.overlay.members:
        more["overlay_ports"] = list(run.overlay.members)
    if run.overlay.anybody:
        more["open_overlay_ports"] = list(run.overlay.anybody)
    return {
        "installation_id": run.installation_id,
        "name": run.cloud_name,
        "region": run.place.region,
        "cidr": run.cidr,
        "zones": dict(sorted(run.zones.items())),
        "clients": sorted(run.clients),
        **more,
        "cloud": dict(cloud),
    }
