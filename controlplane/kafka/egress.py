"""Where connections to brokers may go: judged by the address a host has at that moment, and that one is connected to.

A spec names brokers that others run, and brokers name each other in what they advertise: both are words of people who
own no more than a cluster. Never a cloud's metadata service. This machine itself only where the cluster's own VMs are
(those of the `local` cloud), of a cluster that others run a part of at their very addresses, or where the settings list
it; where they list anything, brokers of others are there and nowhere else.
"""

import itertools
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafka.errors import KafkaConnectionError
from kafka.net.inet import KafkaNetSocket

from agent.host_port import plain_host
from controlplane.runtime import egress
from controlplane.runtime.loopback import is_loopback


@dataclass(frozen=True, slots=True)
class _Known:
    own: frozenset[str] = frozenset()
    is_outside: bool = False

    @property
    def is_here(self) -> bool:
        """Whether it is a cluster of our own on this machine: whoever changed such a broker is on it already."""
        return not self.is_outside and any(is_loopback(address) for address in self.own)


class BrokerDoors:
    """The rules of one server. Thread-safe. `resolve` is another resolver in tests."""

    def __init__(self, allow: Iterable[egress.Allowed] = (), *, resolve: egress.Resolve = egress.resolved) -> None:
        """`allow`: the only places of brokers that others run; empty: any but this machine."""
        self._allow = tuple(allow)
        self._resolve = resolve
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def know(self, cluster: str, own: Iterable[str], *, is_outside: bool) -> None:
        """The addresses of a cluster's own VMs as of now, and whether brokers of it are run by others."""
        with self._lock:
            self._known[cluster] = _Known(frozenset(map(plain_host, own)), is_outside)

    def addresses(self, cluster: str, host: str, port: int) -> tuple[str, ...]:
        """Where a broker of that cluster may be connected to. Raises EgressRefused, and OSError for an unknown name."""
        with self._lock:
            known = self._known.get(cluster, _Known())
        egress.Egress().judge_name(host)
        found = self._resolve(host, port)
        refused = [self._refusal(known, cluster, host, address) for address in found]
        good = tuple(address for address, why in zip(found, refused, strict=True) if not why)
        if not good:
            raise egress.EgressRefused(next(iter(refused), f"{host} has no address"))
        return good

    def _refusal(self, known: _Known, cluster: str, host: str, found: str) -> str:
        """Why no broker is dialled there, "" where one may be."""
        address = egress.plain_address(found)
        where = f"no broker of {cluster} is dialled at {host if host == found else f'{host} ({found})'}"
        if egress.is_never_called(address):
            return f"{where}: it is link-local or a cloud's own, where VMs are told their credentials"
        if str(address) in known.own or (address.is_loopback and known.is_here):
            return ""
        if any(entry.covers(address) or entry.covers_name(host.lower().rstrip(".")) for entry in self._allow):
            return ""
        if address.is_loopback:
            return f"{where}: it is this machine itself, and `allow.brokers` does not list it"
        return f"{where}: `allow.brokers` does not list it" if known.is_outside and self._allow else ""


class _JudgedSocket(KafkaNetSocket):  # type: ignore[misc]  # the library has no types
    """The library's sockets, with names looked up by our rules. It takes its class by the scheme of a `proxy_url`."""

    SCHEMES = ("judged",)

    def __init__(self, proxy_url: str) -> None:
        super().__init__()
        self._doors, self._cluster = _RULES[proxy_url]

    def dns_lookup(self, host: str, port: int, raise_error: bool = False) -> list[Any]:
        """As `getaddrinfo` answers. Raises KafkaConnectionError for what may not be, or has no address."""
        try:
            found = self._doors.addresses(self._cluster, host, port)
        except (egress.EgressRefused, OSError) as refused:
            raise KafkaConnectionError(str(refused)) from refused
        return [info for one in found for info in socket.getaddrinfo(one, port, type=socket.SOCK_STREAM)]


_RULES: dict[str, tuple[BrokerDoors, str]] = {}
_numbers = itertools.count()


class JudgedAddress:
    """What the library is told to have its names judged for one connection. Close it with that."""

    def __init__(self, doors: BrokerDoors, cluster: str) -> None:
        self.url = f"judged://{next(_numbers)}"
        _RULES[self.url] = (doors, cluster)

    def close(self) -> None:
        """Forgets it."""
        _RULES.pop(self.url, None)
