"""A way to one broker on which the first record of a producer is refused once, as by a broker that does not know yet
that it leads the partition; what is sent behind it gets through. No JVM in here: it reads lengths and headers only.
"""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

_PRODUCE, _NOT_LEADER = 0, 6
_ALONE_S = 1.0
"""How long a second request is waited for before the first one is refused alone."""


class RefusingProxy:
    """Listens until `close()`. Once `armed`, it keeps the first produce request back, answers it with NOT_LEADER as
    soon as a second one came (or after a second), and lets the second one and all that follow pass."""

    def __init__(self, listens_at: tuple[str, int], broker: tuple[str, int], topic: str) -> None:
        self.armed = threading.Event()
        self.refused = threading.Event()
        self._broker, self._topic = broker, topic.encode()
        self._listener = socket.create_server(listens_at)
        self._open = [self._listener]
        self._begin(self._accept)

    def close(self) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _begin(self, run: Callable[..., None], *args: object) -> None:
        threading.Thread(target=_until_closed, args=(run, *args), daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            broker = socket.create_connection(self._broker)
            self._open += [client, broker]
            writing = threading.Lock()
            self._begin(_copy, broker, client, writing)
            self._begin(self._forward, client, broker, writing)

    def _forward(self, client: socket.socket, broker: socket.socket, writing: threading.Lock) -> None:
        while True:
            request = _message(client)
            kind, version, correlation = struct.unpack_from(">hhi", request, 4)
            if kind == _PRODUCE and self.armed.is_set():
                self.armed.clear()
                refusal = self._refusal(version, correlation)
                with suppress(TimeoutError):
                    client.settimeout(_ALONE_S)
                    request = _message(client)
                client.settimeout(None)
                with writing:
                    client.sendall(refusal)
                self.refused.set()
                if struct.unpack_from(">i", request, 8)[0] == correlation:
                    continue  # none came behind it
            broker.sendall(request)

    def _refusal(self, version: int, correlation: int) -> bytes:
        """ProduceResponse of versions 9 to 12 (flexible), of partition 0 alone: `ProduceResponse.json` of Kafka."""
        assert 9 <= version <= 12, version
        partition = struct.pack(">ihqqq", 0, _NOT_LEADER, -1, -1, -1) + b"\x01\x00\x00"
        topic = bytes([len(self._topic) + 1]) + self._topic + b"\x02" + partition + b"\x00"
        body = struct.pack(">i", correlation) + b"\x00\x02" + topic + struct.pack(">i", 0) + b"\x00"
        return struct.pack(">i", len(body)) + body


def _until_closed(run: Callable[..., None], *args: object) -> None:
    with suppress(OSError, EOFError):
        run(*args)


def _copy(source: socket.socket, target: socket.socket, writing: threading.Lock) -> None:
    while True:
        message = _message(source)
        with writing:
            target.sendall(message)


def _message(source: socket.socket) -> bytes:
    """One message with its length. Raises EOFError at the end, TimeoutError only where none of it has come."""
    head = source.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise EOFError
    body = source.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)
    return head + body
