"""A private network of a cloud: a router of its own, one wire to each card, DHCP and the metadata service.

As at Hetzner: traffic between two servers goes through the network's gateway, each address is a /32, and nothing leads
out of it but the routes that somebody gave it, each to a server in it that passes packets on.
"""

import http.server
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from tests.boot import namespaces
from tests.boot.debian_vm import ran
from tests.boot.dhcp import DhcpServer, Lease

MTU = 1450
_METADATA = "169.254.169.254"

Telling = Callable[[str, str], str | None]
"""(address of who asks, path) -> what the metadata service says, None for a 404."""


@dataclass(frozen=True, slots=True)
class Card:
    """A network card: in whose namespace, called what, with which address."""

    namespace: str
    name: str
    address: str
    hardware: str = ""


@dataclass
class CloudNetwork:
    """`name` is of its router's namespace."""

    name: str
    ip_range: str
    metadata: Telling
    cards: dict[str, Card] = field(default_factory=dict)
    """By address."""
    routes: dict[str, str] = field(default_factory=dict)
    """Destination -> the server of the network that passes packets on."""

    def open(self) -> "CloudNetwork":
        namespaces.make(self.name)
        namespaces.forwards(self.name)
        for address in (self.gateway, _METADATA):
            ran("ip", "-n", self.name, "address", "add", f"{address}/32", "dev", "lo")
        self._dhcp = DhcpServer(lambda act: namespaces.within(self.name, act))
        self._http = _serving(self.name, self.metadata)
        return self

    def close(self) -> None:
        self._dhcp.close()
        self._http.shutdown()
        self._http.server_close()
        namespaces.remove(self.name)

    @property
    def gateway(self) -> str:
        """The first address, which is the network's own."""
        return str(IPv4Network(self.ip_range)[1])

    def plug(self, card: Card) -> None:
        """A wire to that card, which is down until whoever has it brings it up."""
        device = f"to-{int(IPv4Network(card.address).network_address):x}"
        hardware = ("address", card.hardware) if card.hardware else ()
        peer = ("peer", "name", card.name, *hardware, "mtu", str(MTU), "netns", card.namespace)
        ran("ip", "-n", self.name, "link", "add", device, "mtu", str(MTU), "type", "veth", *peer)
        ran("ip", "-n", self.name, "link", "set", device, "up")
        ran("ip", "-n", self.name, "route", "add", f"{card.address}/32", "dev", device, "src", self.gateway)
        (link,) = json.loads(ran("ip", "-n", self.name, "-json", "link", "show", "dev", device))
        self._dhcp.leases[link["ifindex"]] = self._lease(card.address)
        self.cards[card.address] = card

    def unplug(self, address: str) -> None:
        """The card is gone from whoever had it."""
        del self.cards[address]
        ran("ip", "-n", self.name, "link", "del", f"to-{int(IPv4Network(address).network_address):x}")

    def route(self, destination: str, gateway: str) -> None:
        """Packets to there go to that server of the network. Again: nothing is changed."""
        if self.routes.get(destination) == gateway:
            return
        self.routes[destination] = gateway
        device = f"to-{int(IPv4Network(gateway).network_address):x}"
        ran("ip", "-n", self.name, "route", "add", destination, "via", gateway, "dev", device, "onlink")

    def join(self, card: Card, *, own: str, default: bool = False) -> None:
        """A server of somebody's that stands: up, with its routes as the documents give them.

        `own`: the address it talks from, which may be of a network behind it.
        """
        self.plug(card)
        there = ("-n", card.namespace)
        for address in {card.address, own}:
            ran("ip", *there, "address", "replace", f"{address}/32", "dev", "lo")
        ran("ip", *there, "link", "set", card.name, "up")
        ran("ip", *there, "route", "add", self.gateway, "dev", card.name, "src", own)
        to = "default" if default else self.ip_range
        ran("ip", *there, "route", "add", to, "via", self.gateway, "dev", card.name, "src", own)

    def _lease(self, address: str) -> Lease:
        """No default route: Hetzner's DHCP gives none in a private network since 2025-08-11."""
        routes = ((f"{self.gateway}/32", "0.0.0.0"), (self.ip_range, self.gateway), (f"{_METADATA}/32", self.gateway))
        return Lease(address, self.gateway, routes)


def _serving(namespace: str, telling: Telling) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = telling(self.client_address[0], self.path)
            body = (said or "").encode()
            self.send_response(404 if said is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent: what went wrong stands on the VM's console."""

    server = http.server.ThreadingHTTPServer((_METADATA, 80), Handler, bind_and_activate=False)
    server.daemon_threads = True
    server.socket.close()
    server.socket = namespaces.within(namespace, lambda: socket.create_server((_METADATA, 80)))
    server.server_address = (_METADATA, 80)
    threading.Thread(target=server.serve_forever, args=(0.05,), name="metadata", daemon=True).start()
    return server
