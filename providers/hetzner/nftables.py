"""Rules for the packet filter of a VM. Hetzner's firewalls see public traffic only, so a VM guards itself."""

from collections.abc import Sequence
from ipaddress import IPv4Network

from providers.networks import USUAL_PORTS, Ports

_METADATA = "169.254.169.254"


def rules(members: Sequence[str], clients: Sequence[str] = (), ports: Ports = USUAL_PORTS) -> str:
    """A ruleset for `nft -f`: `members` reach all `ports`, `clients` those of brokers, and nobody anything else.

    All are IPv4 networks by CIDR, never addresses of single nodes: a new VM changes no rule of another. Nobody logs in.
    The metadata service, which holds the boot data, answers to root alone. Raises `ValueError` for what is no network.
    """
    inside, outside = _networks(members), _networks(clients)
    if not inside:
        raise ValueError("without networks of members no broker would reach another")
    every = sorted({*ports.brokers, *ports.members})
    lines = [f"tcp dport {{ {', '.join(map(str, every))} }} ip saddr {{ {inside} }} accept"]
    if outside:
        one, several = str(ports.brokers[0]), f"{{ {', '.join(map(str, ports.brokers))} }}"
        lines.append(f"tcp dport {one if len(ports.brokers) == 1 else several} ip saddr {{ {outside} }} accept")
    return _TEMPLATE.format(accepted="\n    ".join(lines), metadata=_METADATA)


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
