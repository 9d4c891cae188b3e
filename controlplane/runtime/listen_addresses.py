"""Where a server listens, and what VMs are told of it."""

import errno
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent.host_port import HostPort
from controlplane.runtime.loopback import is_loopback

_PORTS = {"http": 80, "https": 443}

ACCEPTED_AT_ONCE = 16
"""Connections accepted in one turn of the event loop: what they ask is answered in between, and no wave of them takes
the last descriptors before any of them was counted."""
KNOCKING = 2048
"""Connections the kernel keeps until they are accepted, where it allows so many (`net.core.somaxconn`): one it turns
away comes again after a second at the earliest, whoever's it is."""

KEEP_ALIVE_S = 75
"""How long a connection nobody uses is kept: longer than clients keep theirs (httpx, and so every agent: 5 s). Who
closes first must not be the server: what a client sends into a connection that is just being closed is lost."""


class CannotListen(Exception):
    """The address is taken. What now: give up; a person names another port or ends the other server."""

    def __init__(self, message: str, *, is_taken: bool) -> None:
        super().__init__(message)
        self.is_taken = is_taken


class AddressRefused(Exception):
    """Agents would speak plain HTTP over a network. What now: give up; a person sets the address right."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A place that is served: people and agents of this machine by plain HTTP, those elsewhere by TLS."""

    host: str
    port: int
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HostPort(self.host, self.port)}"

    @property
    def is_tls(self) -> bool:
        return self.scheme == "https"


def address_of(url: str) -> ListenAddress:
    """Raises AddressRefused for plain HTTP over a network, and for what is no address at all."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise AddressRefused(f"`agent-url` in the home says {url!r}: that is not an http or https address. Put it back")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise AddressRefused(
            f"`agent-url` in the home says {url}: plain HTTP is spoken on loopback only, because it would carry the "
            "agents' credentials readable. Put it back; `agents.host` serves agents elsewhere over TLS"
        )
    return ListenAddress(parts.hostname, parts.port or _PORTS[parts.scheme], parts.scheme)


def listening(host: str, port: int, *, settings: str = "KEDGE_PROCESS_", shared: bool = False) -> socket.socket:
    """A listening socket; port 0 lets the system choose. `settings` begins the names of both. `shared`: with others of
    this user that say so too, and the kernel spreads connections over them. Raises CannotListen."""
    door = tcp_socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if shared:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        door.bind((host, port))
        door.listen(KNOCKING)
    except OSError as error:
        door.close()
        then = f"Is another `kedge server` running? {settings}_PORT names another port."
        if error.errno == errno.EADDRNOTAVAIL:
            then = f"This machine has no such address; {settings}_HOST names another one."
        raise CannotListen(
            f"cannot listen on {HostPort(host, port)}: {error.strerror}. {then}",
            is_taken=error.errno == errno.EADDRINUSE,
        ) from error
    return door


def tcp_socket(family: socket.AddressFamily) -> socket.socket:
    """To be bound and listened at. Its connections send at once: an answer goes as head and body, and the second one
    would wait for whoever asks to acknowledge the first, 40 ms each time. asyncio does not see to it here.
    """
    door = socket.socket(family, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return door
