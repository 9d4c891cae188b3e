"""Addresses of the local cloud's VMs, and of this machine as they see it."""

from ipaddress import IPv4Address, IPv4Network
from typing import Literal

NetworkName = Literal["loopback", "namespaces"]

RANGES: dict[NetworkName, IPv4Network] = {
    "loopback": IPv4Network("127.64.0.0/10"),
    "namespaces": IPv4Network("198.18.128.0/17"),
}
"""Addresses of VMs. 198.18.0.0/15 is for tests of network devices (RFC 2544): nobody has a network there."""

GATEWAY = "198.18.0.1"
"""This machine, as VMs in namespaces see it: the server, and every client that runs here."""


def name_of(address: str) -> NetworkName:
    """The network an address belongs to."""
    return "namespaces" if IPv4Address(address) in RANGES["namespaces"] else "loopback"
