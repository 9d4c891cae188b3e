"""The DHCP of a private network: an address of its own (/32) for each network card, and the routes beside it.

Messages are RFC 2131's, routes RFC 3442's (option 121).
"""

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

_REQUEST, _REPLY, _ETHERNET = 1, 2, 1
_COOKIE = bytes((99, 130, 83, 99))
_DISCOVER, _OFFER, _WANTED, _ACK = 1, 2, 3, 5
_HEAD = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
_PKTINFO = getattr(socket, "IP_PKTINFO", 8)
_INFO = struct.Struct("=I4s4s")
"""in_pktinfo: index of the device, the local address, the one in the header."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a card is told. `routes`: network -> gateway; 0.0.0.0 is a neighbour on the card itself."""

    address: str
    server: str
    routes: tuple[tuple[str, str], ...]
    mtu: int = 1450
    seconds: int = 86_400


@dataclass(frozen=True, slots=True)
class Request:
    """What a card asks."""

    kind: int
    transaction: int
    hardware: bytes


def request_of(message: bytes) -> Request | None:
    """A DISCOVER or REQUEST; None for anything else."""
    if len(message) < _HEAD.size + len(_COOKIE) or message[_HEAD.size : _HEAD.size + 4] != _COOKIE:
        return None
    head = _HEAD.unpack_from(message)
    kind = _options(message[_HEAD.size + 4 :]).get(53, b"\0")[0]
    if head[0] != _REQUEST or kind not in (_DISCOVER, _WANTED):
        return None
    return Request(kind, head[4], head[11][:6])


def answer(request: Request, lease: Lease) -> bytes:
    """OFFER to a DISCOVER, ACK to a REQUEST."""
    own, server = IPv4Address(lease.address).packed, IPv4Address(lease.server).packed
    nobody = bytes(4)
    hardware = request.hardware.ljust(16, b"\0")
    head = _HEAD.pack(
        _REPLY, _ETHERNET, 6, 0, request.transaction, 0, 0x8000, nobody, own, server, nobody, hardware, b"", b""
    )
    options = {
        53: bytes((_OFFER if request.kind == _DISCOVER else _ACK,)),
        54: server,
        51: struct.pack("!I", lease.seconds),
        1: bytes((255, 255, 255, 255)),
        26: struct.pack("!H", lease.mtu),
        121: b"".join(_route(network, gateway) for network, gateway in lease.routes),
    }
    told = b"".join(bytes((code, len(value))) + value for code, value in options.items() if value)
    return head + _COOKIE + told + b"\xff"


def _route(network: str, gateway: str) -> bytes:
    to = IPv4Network(network)
    return bytes((to.prefixlen,)) + to.network_address.packed[: -(-to.prefixlen // 8)] + IPv4Address(gateway).packed


def _options(told: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while told and told[0] != 255:
        if told[0] == 0:
            told = told[1:]
            continue
        code, length = told[0], told[1]
        found[code], told = told[2 : 2 + length], told[2 + length :]
    return found


class DhcpServer:
    """Answers on every device of a namespace, by the device a question came in at. `leases`: index of it -> lease."""

    def __init__(self, make_in_there: Callable[[Callable[[], socket.socket]], socket.socket]) -> None:
        self.leases: dict[int, Lease] = {}
        self._over = False
        self._socket = make_in_there(_listening)
        self._thread = threading.Thread(target=self._serve, name="dhcp", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over = True
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._over:
            try:
                message, told, _, _ = self._socket.recvmsg(2048, 256)
            except TimeoutError:
                continue
            device = next(_INFO.unpack(data[: _INFO.size])[0] for _, kind, data in told if kind == _PKTINFO)
            request, lease = request_of(message), self.leases.get(device)
            if request is not None and lease is not None:
                through = (socket.IPPROTO_IP, _PKTINFO, _INFO.pack(device, bytes(4), bytes(4)))
                self._socket.sendmsg([answer(request, lease)], [through], 0, ("255.255.255.255", 68))


def _listening() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    made.setsockopt(socket.IPPROTO_IP, _PKTINFO, 1)
    made.settimeout(0.2)
    made.bind(("", 67))
    return made
