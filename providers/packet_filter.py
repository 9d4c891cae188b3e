"""The packet filter of a VM, where no firewall of its cloud sees private traffic (Hetzner, UpCloud): it guards itself.

A VM is born with the rules of its day, which cloud-init loads at each boot before it starts SSH. What changes in its
network later, its agent is told and loads over them.
"""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Annotated, Protocol, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from events.spec.network import OVERLAY_PROBE_PORT
from providers.base import Place
from providers.networks import NO_OVERLAY, USUAL_PORTS, FirewallPorts, OverlayPorts, PortClients

_METADATA = "169.254.169.254"


def _network(given: str) -> str:
    return str(IPv4Network(given))


Cidr = Annotated[str, AfterValidator(_network)]
_Port = Annotated[int, Field(ge=1, le=65535)]


class FilteredRegion(BaseModel):
    """Base of a region in `<cloud>.yaml` whose VMs filter packets themselves: who is let in besides its own network."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    clients: tuple[Cidr, ...] = ()
    """Networks clients of Kafka come from."""
    broker_ports: tuple[_Port, ...] = Field(default=USUAL_PORTS.brokers, min_length=1)
    """Where clients are let in, and members."""
    servers: tuple[Cidr, ...] = ()
    """Where the servers of Kedge dial from: they reach brokers, and ZooKeeper and controllers where they have to."""
    member_ports: tuple[_Port, ...] = Field(default=USUAL_PORTS.members, min_length=1)
    """Where only members are: 9093, and 2181, 2888 and 3888 for clusters in ZooKeeper mode."""
    port_clients: Mapping[_Port, tuple[Cidr, ...]] = Field(default_factory=dict)
    """Port of brokers -> networks whose clients are let in there instead of `clients`."""

    overlay_ports: tuple[_Port, ...] = ()
    """UDP ports at which members make tunnels of an overlay; none unless a cluster has one."""
    open_overlay_ports: tuple[_Port, ...] = ()
    """The same, where anybody may call: members behind NAT, and in other clouds."""

    @property
    def members(self) -> tuple[str, ...]:
        """All networks its VMs are in, by CIDR; none where nobody told them: then nothing is filtered."""
        return ()

    def packet_filter(self, others: Sequence[str] = (), servers: Sequence[str] = ()) -> str:
        """The rules of a VM there, "" where nothing is filtered. `others` are networks of members elsewhere, `servers`
        where servers of Kedge dial from beside those told here. Pure."""
        ports = FirewallPorts(self.broker_ports, self.member_ports)
        if not self.members:
            return ""
        at_ports = tuple(sorted(self.port_clients.items()))
        overlay = OverlayPorts(self.overlay_ports, self.open_overlay_ports)
        return rules([*self.members, *others], self.clients, ports, [*self.servers, *servers], at_ports, overlay)


FILTER_FIELDS = frozenset(FilteredRegion.model_fields)
"""What the module of such a cloud's network gives beside its ids."""


@runtime_checkable
class FiltersPackets(Protocol):
    """A provider whose VMs guard themselves, as nothing of their cloud filters private traffic."""

    def packet_filter(self, place: Place, others: Sequence[str] = (), servers: Sequence[str] = ()) -> str:
        """The rules for `nft -f` of all VMs there as of now, "" where the network is somebody's who filters himself.

        `others`: networks of members in other places, `servers`: where Kedge's dial from, by CIDR. Asks nobody. Raises
        `PlaceUnknown`, and `NetworkMissing` before there is such a network.
        """


def rules(
    members: Sequence[str],
    clients: Sequence[str] = (),
    ports: FirewallPorts = USUAL_PORTS,
    servers: Sequence[str] = (),
    port_clients: PortClients = (),
    overlay: OverlayPorts = NO_OVERLAY,
) -> str:
    """A ruleset for `nft -f`: `members` reach all `ports`, `clients` those of brokers, but where `port_clients` names
    others, `servers` those that Kedge dials, and nobody anything else. With an `overlay` tunnels are let in at its
    ports, and what comes out of them at all `ports`.

    All are IPv4 networks by CIDR, never addresses of single nodes: a new VM changes no rule of another. Nobody logs in.
    The metadata service, which holds the boot data, answers to root alone. Raises `ValueError` for what is no network.
    """
    inside = _networks(members)
    if not inside:
        raise ValueError("without networks of members no broker would reach another")
    every = sorted({*ports.brokers, *ports.members})
    lines = [f"tcp dport {{ {', '.join(map(str, every))} }} ip saddr {{ {inside} }} accept"]
    own = dict(port_clients)
    shared = tuple(port for port in ports.brokers if port not in own)
    let_in_at = [(clients, shared), *((own[port], (port,)) for port in ports.brokers if port in own)]
    for told, let_in in (*let_in_at, (servers, ports.of_server)):
        if let_in and (outside := _networks(told)):
            one, several = str(let_in[0]), f"{{ {', '.join(map(str, let_in))} }}"
            lines.append(f"tcp dport {one if len(let_in) == 1 else several} ip saddr {{ {outside} }} accept")
    lines += _tunnels(overlay, inside, every)
    return _TEMPLATE.format(accepted="\n    ".join(lines), metadata=_METADATA)


def _tunnels(overlay: OverlayPorts, inside: str, every: Sequence[int]) -> Iterator[str]:
    """UDP from outside, and what comes out of tunnels, probes among it: WireGuard itself proves whose that is."""
    if overlay.members:
        yield f"udp dport {{ {', '.join(map(str, overlay.members))} }} ip saddr {{ {inside} }} accept"
    if overlay.anybody:
        yield f"udp dport {{ {', '.join(map(str, overlay.anybody))} }} accept"
    if overlay != NO_OVERLAY:
        came = 'iifname "kedge-*" ip6 saddr fd00::/8'
        yield f"{came} tcp dport {{ {', '.join(map(str, every))} }} accept"
        yield f"{came} udp dport {OVERLAY_PROBE_PORT} accept"


def _networks(given: Sequence[str]) -> str:
    return ", ".join(str(network) for network in sorted({IPv4Network(cidr) for cidr in given}))


_TEMPLATE = """\
flush ruleset
table inet kedge {{
  chain input {{
    type filter hook input priority filter; policy drop;
    ct state established,related accept
    ct state invalid drop
    iif lo accept
    icmp type {{ echo-request, destination-unreachable, time-exceeded }} accept
    icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert }} accept
    udp sport 67 udp dport 68 accept
    {accepted}
  }}
  chain forward {{
    type filter hook forward priority filter; policy drop;
  }}
  chain output {{
    type filter hook output priority filter; policy accept;
    ip daddr {metadata} meta skuid != 0 reject
  }}
}}
"""
