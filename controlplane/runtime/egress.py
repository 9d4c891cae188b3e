"""Where this server may call: judged by the address a name has at that moment, and that one is connected to.

It goes for what people's settings name: forges, the provider of sign-ins, webhooks, repositories over http. The clouds'
own SDKs call their vendors and are not asked here.

Never: link-local addresses and the others at which clouds tell a VM its credentials. This machine itself only where the
settings say so by a loopback address, private networks only by a host that the settings name. With an allow-list that
alone counts. Behind a proxy of the environment the proxy looks names up: then only what stands in the URL is judged.
"""

import logging
import socket
import ssl
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from controlplane.runtime.loopback import is_loopback

IpAddress: TypeAlias = IPv4Address | IPv6Address
IpNetwork: TypeAlias = IPv4Network | IPv6Network
Resolve: TypeAlias = Callable[[str, int], Sequence[str]]

_NAMES = frozenset({"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"})
_NEVER: tuple[IpNetwork, ...] = tuple(
    ip_network(network)
    for network in (
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::/32",  # EC2 over IPv6
        "168.63.129.16/32",  # Azure's own, which tells VMs their certificates
        "100.100.100.200/32",
        "0.0.0.0/8",
        "::/128",
        "224.0.0.0/4",
        "ff00::/8",
    )
)
_EMBEDDING = ip_network("64:ff9b::/96")
"""NAT64 (RFC 6052): the last 32 bits are an address of IPv4."""


class EgressRefused(httpx.ConnectError):
    """The call was not made. What now: a person looks at the address, or allows it in `allow.calls`."""


def keep_calls_out_of_logs() -> None:
    """The libraries of HTTP log whole URLs and headers, each of which may be a secret, or have one."""
    for library in ("httpx", "httpcore"):
        logging.getLogger(library).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry of the allow-list: a host, `*.DOMAIN` for all below one, or a network."""

    name: str = ""
    network: IpNetwork | None = None

    @classmethod
    def of(cls, text: str) -> "Allowed":
        """Raises ValueError."""
        try:
            return cls(network=ip_network(text))
        except ValueError:
            name = text.lower().removeprefix("*.")
            if not name or any(not step.replace("-", "").isalnum() for step in name.split(".")):
                raise ValueError(
                    f"{text!r} is not a place to call: hooks.example.com, *.example.com or 10.0.0.0/8 (no host bits)"
                ) from None
            return cls(name=text.lower())

    def covers_name(self, host: str) -> bool:
        """Whether a host goes by its name; below a domain is not the domain itself."""
        return host == self.name or (self.name.startswith("*.") and host.endswith(self.name[1:]))

    def covers(self, address: IpAddress) -> bool:
        """Whether it goes by its address."""
        return self.network is not None and address in self.network


def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a host now, as the system finds them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


@dataclass(frozen=True, slots=True)
class Egress:
    """The rules of one server. `allow` empty: what the settings name. `resolve` is another resolver in tests."""

    allow: tuple[Allowed, ...] = ()
    resolve: Resolve = resolved

    def client(
        self,
        named: Collection[str],
        *,
        timeout: httpx.Timeout | float,
        verify: ssl.SSLContext | bool = True,
        by_proxy: bool = True,
    ) -> httpx.Client:
        """A client for calls to hosts of which `named` stand in the settings. It follows no redirect.

        Its calls raise EgressRefused, which is an httpx.ConnectError, where they may not go.
        """
        transport = _Outgoing(self, frozenset(host.lower() for host in named), verify, by_proxy=by_proxy)
        return httpx.Client(transport=transport, timeout=timeout, follow_redirects=False, trust_env=False)

    def addresses(self, host: str, port: int, *, named: bool) -> tuple[str, ...]:
        """Where a host may be connected to: its addresses now, without those that are refused.

        Raises EgressRefused where none is left, OSError where the host has none.
        """
        self.judge_name(host)
        good: list[str] = []
        why = ""
        for found in self.resolve(host, port):
            refused = self._refusal(host, found, named=named)
            why = why or refused
            if not refused:
                good.append(found)
        if not good:
            raise EgressRefused(why or f"{host} has no address")
        return tuple(good)

    def judge_name(self, host: str) -> None:
        """What can be said without looking a name up. Raises EgressRefused."""
        bare = host.lower().rstrip(".")
        if bare in _NAMES:
            raise EgressRefused(f"{host} is where clouds tell a VM its credentials: it is never called")

    def judge_unresolved(self, host: str, *, named: bool) -> None:
        """For a call that goes by a proxy, which looks the name up. Raises EgressRefused."""
        self.judge_name(host)
        if _is_address(host):
            refused = self._refusal(host, host, named=named)
        elif self.allow and not self._allows_name(host):
            refused = f"{host} is not in `allow.calls`"
        else:
            refused = ""
        if refused:
            raise EgressRefused(refused)

    def _refusal(self, host: str, found: str, *, named: bool) -> str:
        """Why it may not be, "" where it may."""
        address = plain_address(found)
        where = host if host == found else f"{host} ({found})"
        if is_never_called(address):
            return f"{where} is link-local or a cloud's own, where VMs are told their credentials: it is never called"
        if any(entry.covers(address) for entry in self.allow):
            return ""
        if self.allow and not self._allows_name(host):
            return f"{where} is not in `allow.calls`"
        if address.is_loopback:
            return "" if named and is_loopback(host) else f"{where} is this machine itself, which its name does not say"
        if address.is_global or named or self.allow:
            return ""
        return f"{where} is in a private network, and the settings do not name that host: list it in `allow.calls`"

    def _allows_name(self, host: str) -> bool:
        return any(entry.covers_name(host.lower().rstrip(".")) for entry in self.allow)


class _Outgoing(httpx.BaseTransport):
    """Straight to a judged address, or by the environment's proxy."""

    def __init__(self, egress: Egress, named: frozenset[str], verify: ssl.SSLContext | bool, *, by_proxy: bool) -> None:
        self._egress, self._named, self._by_proxy = egress, named, by_proxy
        self._context = verify if isinstance(verify, ssl.SSLContext) else httpx.create_ssl_context(verify=verify)
        self._direct = _Direct(_Judged(egress, named), self._context)
        self._proxied: dict[str, httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        proxy = proxy_for(request.url.scheme, host) if self._by_proxy else ""
        try:
            if not proxy:
                return self._direct.handle_request(request)
            self._egress.judge_unresolved(host, named=host.lower() in self._named)
            if proxy not in self._proxied:
                self._proxied[proxy] = httpx.HTTPTransport(verify=self._context, proxy=proxy)
            return self._proxied[proxy].handle_request(request)
        except httpx.ConnectError as error:
            if isinstance(error.__cause__, _NotConnected):
                raise EgressRefused(str(error.__cause__), request=request) from None
            raise

    def close(self) -> None:
        for one in (self._direct, *self._proxied.values()):
            one.close()


def plain_address(found: str) -> IpAddress:
    """An address as rules are about it: without a zone, and one of IPv4 however it is written."""
    return _inner(ip_address(found.partition("%")[0]))


def is_never_called(address: IpAddress) -> bool:
    """Whether it is link-local or one at which clouds tell a VM its credentials."""
    return any(address in network for network in _NEVER)


def proxy_for(scheme: str, host: str) -> str:
    """The proxy the environment names for calls there (`HTTPS_PROXY`, `NO_PROXY`), "" for none and for loopback."""
    if is_loopback(host) or proxy_bypass(host):
        return ""
    return getproxies().get(scheme, "")


class _NotConnected(httpcore.ConnectError):
    """EgressRefused, on its way through httpcore."""


class _Direct(httpx.HTTPTransport):
    """httpx hands no network backend on to httpcore, where connections are made: its pool is made anew with ours."""

    def __init__(self, backend: httpcore.NetworkBackend, context: ssl.SSLContext) -> None:
        super().__init__(verify=context, trust_env=False)
        self._pool.close()
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            network_backend=backend,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
        )


class _Judged(httpcore.SyncBackend):
    """Looks a host up once and connects to what it judged; TLS still asks for the certificate of the host's name."""

    def __init__(self, egress: Egress, named: frozenset[str]) -> None:
        super().__init__()
        self._egress, self._named = egress, named

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = self._egress.addresses(host, port, named=host.lower() in self._named)
        except EgressRefused as refused:
            raise _NotConnected(str(refused)) from refused
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        for address in addresses[:-1]:
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue  # the next one of the host; of the last one it is told
        return super().connect_tcp(addresses[-1], port, timeout, local_address, socket_options)


def _inner(address: IpAddress) -> IpAddress:
    """The address of IPv4 that is written as one of IPv6: mapped, 6to4 or NAT64; else itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _EMBEDDING:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
