"""Probes through each tunnel to each peer, and the answers to theirs: UDP within the tunnel, bound to its interface.

What comes in by a tunnel from an address is of the peer that has it: WireGuard lets nobody else send from there. A ping
would not do: its answer takes the main route, and so tells of the path in use.
"""

import contextlib
import heapq
import secrets
import selectors
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.overlay.network import Overlay

PORT = 51819
"""UDP, at the VM's address of the overlay, and reached by tunnels alone."""
_MESSAGE = struct.Struct("!4sB8sQ")
_MARK, _ASKS, _ANSWERS = b"kdg0", 0, 1
_MOST_AT_ONCE = 256
"""Messages read in one turn: the probes that are due do not wait for a flood."""


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """Of one probe. `rtt_s` is None where it did not come back in time."""

    node: str
    path: str
    rtt_s: float | None


@dataclass(frozen=True, slots=True)
class _Sent:
    node: str
    path: str
    at_s: float


class Prober:
    """One thread's. Each pair of peer and path is probed every `interval_s`, spread over it: sent as one burst they
    overflowed a socket's buffer, and peers seemed down."""

    def __init__(
        self, overlay: Overlay, *, interval_s: float, monotonic: Callable[[], float], port: int = PORT
    ) -> None:
        """Its tunnels and the VM's address have to be there. Raises OSError. `port` is another one in tests alone."""
        self._overlay, self._interval_s, self._monotonic, self._port = overlay, interval_s, monotonic, port
        self._run = secrets.token_bytes(8)
        """Of this start: answers to the agent before it are none of ours."""
        self._number = 0
        self._sent: dict[int, _Sent] = {}
        self._selector = selectors.DefaultSelector()
        self._sockets: dict[str, socket.socket] = {}
        try:
            for link in overlay.links:
                self._sockets[link.path] = self._opened(link.name, link.path)
        except BaseException:
            self.close()
            raise
        pairs = [(p.node, str(p.vm), path) for p in overlay.peers for path in overlay.order if path in p.paths]
        now_s = monotonic()
        step_s = interval_s / max(1, len(pairs))
        self._due = [(now_s + n * step_s, n, *pair) for n, pair in enumerate(pairs)]
        """In the order of a heap: the next one is the first."""

    def turn(self, most_s: float) -> tuple[ProbeOutcome, ...]:
        """Sends what is due, answers and reads for `most_s` at most, and tells what came of earlier probes."""
        self._send()
        next_s = self._due[0][0] - self._monotonic() if self._due else most_s
        outcomes: list[ProbeOutcome] = []
        for ready, _ in self._selector.select(max(0.0, min(most_s, next_s))):
            outcomes += self._read(ready.data)
        return (*outcomes, *self._overdue())

    def close(self) -> None:
        """Closes its sockets."""
        for one in self._sockets.values():
            one.close()
        self._selector.close()

    def _opened(self, link: str, path: str) -> socket.socket:
        door = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        try:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind((str(self._overlay.vm), self._port))
            door.setblocking(False)
        except BaseException:
            door.close()
            raise
        self._selector.register(door, selectors.EVENT_READ, path)
        return door

    def _send(self) -> None:
        now_s = self._monotonic()
        while self._due and self._due[0][0] <= now_s:
            due_s, n, node, address, path = self._due[0]
            # where the VM stood still what was left out is not made up for
            again_s = max(due_s, now_s - self._interval_s) + self._interval_s
            heapq.heapreplace(self._due, (again_s, n, node, address, path))
            self._number += 1
            self._sent[self._number] = _Sent(node, path, now_s)
            self._say(path, address, _MESSAGE.pack(_MARK, _ASKS, self._run, self._number))

    def _say(self, path: str, address: str, message: bytes) -> None:
        """What cannot be sent does not come back: there is no key for that peer yet, or no buffer."""
        with contextlib.suppress(OSError):
            self._sockets[path].sendto(message, (address, self._port))

    def _read(self, path: str) -> Iterator[ProbeOutcome]:
        for _ in range(_MOST_AT_ONCE):
            try:
                message, (host, *_) = self._sockets[path].recvfrom(2048)
            except OSError:  # nothing more
                return
            if len(message) < _MESSAGE.size:
                continue
            mark, kind, run, number = _MESSAGE.unpack_from(message)
            if mark == _MARK and kind == _ASKS:
                self._say(path, host, _MESSAGE.pack(_MARK, _ANSWERS, run, number))
            elif (mark, kind, run) == (_MARK, _ANSWERS, self._run) and number in self._sent:
                sent = self._sent.pop(number)
                yield ProbeOutcome(sent.node, sent.path, self._monotonic() - sent.at_s)

    def _overdue(self) -> Iterator[ProbeOutcome]:
        """An answer that comes after this counts for nothing, as its probe was counted as lost."""
        now_s = self._monotonic()
        for number, sent in list(self._sent.items()):
            if now_s - sent.at_s < self._interval_s:
                return  # they are in the order they were sent in
            del self._sent[number]
            yield ProbeOutcome(sent.node, sent.path, None)
