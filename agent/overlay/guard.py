"""The packet filter of an overlay: what has an address of its network goes by its tunnels, or not at all.

Linux takes packets for any of its addresses from any interface (the weak host model, RFC 1122 3.3.4.2): without this a
stranger with a route to the prefix reached a broker's port from the private network, and with the tunnels gone packets
left in clear by the VM's own route.
"""

from collections.abc import Collection
from ipaddress import IPv6Network

from agent.packet_filter import anew

TABLE = ("ip6", "kedge_overlay")


def guard(prefix: IPv6Network, links: Collection[str]) -> str:
    """The table as `nft -f` takes it, in one transaction over the one before. `links`: names of the tunnels."""
    names = ", ".join(f'"{link}"' for link in ("lo", *sorted(links)))
    return f"""\
{anew(TABLE)}table {" ".join(TABLE)} {{
	chain in {{
		type filter hook input priority -5; policy accept;
		iifname {{ {names} }} accept
		ip6 saddr {prefix} drop
		ip6 daddr {prefix} drop
	}}
	chain out {{
		type filter hook output priority -5; policy accept;
		oifname {{ {names} }} accept
		ip6 daddr {prefix} drop
	}}
}}
"""
