"""The addresses of an overlay, each from names alone: they follow a service, wherever its VM is.

Digits are taken as they are written, so that people read them: broker 1003 is `PREFIX:b::1003`.
"""

import hashlib
from ipaddress import IPv6Address, IPv6Network
from typing import Literal

Kind = Literal["broker", "controller", "zookeeper"]

_GROUP_OF: dict[Kind, int] = {"broker": 0xB, "controller": 0xC, "zookeeper": 0xD}
_VM = 0xA
_HIGHEST_ID = 2**31 - 1


def prefix_of(cluster_uid: str) -> IPv6Network:
    """The cluster's /64: a locally assigned unique local prefix (RFC 4193, 3.1), whose 56 bits are of the cluster."""
    digest = hashlib.sha256(f"kedge overlay {cluster_uid}".encode()).digest()
    return IPv6Network((b"\xfd" + digest[:7] + bytes(8), 64))


def service_address(prefix: IPv6Network, kind: Kind, service_id: int) -> IPv6Address:
    """Of a broker (`b::`), a controller (`c::`) or a ZooKeeper server (`d::`) by its id. Raises ValueError for an id
    that none has."""
    if not 0 <= service_id <= _HIGHEST_ID:
        raise ValueError(f"{kind} {service_id}: ids are 0 to {_HIGHEST_ID}")
    return _at(prefix, _GROUP_OF[kind], int(f"{service_id:012d}", 16))


def vm_address(prefix: IPv6Network, node: str, generation: int) -> IPv6Address:
    """Of one VM (`a:`): the next VM of the same node has another one."""
    digest = hashlib.sha256(f"{node}.{generation}".encode()).digest()
    return _at(prefix, _VM, int.from_bytes(digest[:6]))


def _at(prefix: IPv6Network, group: int, rest: int) -> IPv6Address:
    """`rest` are the last 48 bits."""
    if prefix.prefixlen != 64:
        raise ValueError(f"{prefix} is no /64")
    return IPv6Address(int(prefix.network_address) | group << 48 | rest)
