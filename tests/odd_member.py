"""A member of a classic consumer group as some client libraries are one: its metadata says version 1 and ends before
the owned partitions. Kafka takes any bytes here; it does not read them.
"""

import socket
import struct
import threading
import time
from contextlib import suppress

OLD_LIBRARY = "old-library"
HEARTBEAT_S = 1.0
_JOIN_GROUP, _SYNC_GROUP, _HEARTBEAT, _FIND_COORDINATOR = 11, 14, 12, 10


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def _blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


ODD_METADATA = struct.pack(">hi", 1, 1) + _text("clicks") + _blob(b"")
"""As it came from the field."""
EMPTY_ASSIGNMENT = struct.pack(">hi", 0, 0) + _blob(b"")


class OddMember:
    """Joins `group` through the broker at `bootstrap` and stays until it is closed."""

    def __init__(self, bootstrap: str, group: str = OLD_LIBRARY, *, timeout_s: float = 30) -> None:
        self._group, self._stop = group, threading.Event()
        self._broker = _Broker(self._coordinator(bootstrap, time.monotonic() + timeout_s))
        protocols = _text("consumer") + struct.pack(">i", 1) + _text("range") + _blob(ODD_METADATA)
        timeouts_ms = struct.pack(">ii", 60_000, 60_000)
        joined = self._broker.ask(_JOIN_GROUP, 2, _text(group) + timeouts_ms + _text("") + protocols)
        self._generation, at = joined[6:10], 10
        for _ in range(3):  # the protocol's name, the leader's id, its own
            (length,) = struct.unpack(">h", joined[at : at + 2])
            self._member, at = joined[at + 2 : at + 2 + length].decode(), at + 2 + length
        given = struct.pack(">i", 1) + _text(self._member) + _blob(EMPTY_ASSIGNMENT)
        self._broker.ask(_SYNC_GROUP, 1, self._as_member() + given)
        self._heart = threading.Thread(target=self._beat, name="odd-member")
        self._heart.start()

    def close(self) -> None:
        self._stop.set()
        self._heart.join()
        self._broker.close()

    def _coordinator(self, bootstrap: str, until_s: float) -> str:
        while True:
            broker = _Broker(bootstrap)
            found = broker.ask(_FIND_COORDINATOR, 0, _text(self._group))
            broker.close()
            error, _, length = struct.unpack(">hih", found[:8])
            if not error:
                (port,) = struct.unpack(">i", found[8 + length : 12 + length])
                return f"{found[8 : 8 + length].decode()}:{port}"
            assert time.monotonic() < until_s, f"no coordinator: error {error}"
            time.sleep(0.5)

    def _as_member(self) -> bytes:
        return _text(self._group) + self._generation + _text(self._member)

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_S):
            with suppress(OSError):
                self._broker.ask(_HEARTBEAT, 1, self._as_member())


class _Broker:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=90)

    def ask(self, key: int, version: int, body: bytes) -> bytes:
        message = struct.pack(">hhi", key, version, 1) + _text("odd") + body
        self._socket.sendall(_blob(message))
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)[4:]

    def close(self) -> None:
        self._socket.close()

    def _read(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            got = self._socket.recv(size - len(found))
            if not got:
                raise ConnectionError("the broker hung up")
            found += got
        return found
