"""Java's certificates without the hour they were collected in: `settle_cacerts.py FILE`, run in the root of an image.

Debian makes the file when Java is installed, each entry with the time of that moment. Python's standard library alone.
Form: that of `sun.security.provider.JavaKeyStore`, whose digest is over password, a phrase and all before it.
"""

import hashlib
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

_MAGIC, _CERTIFICATE = 0xFEEDFEED, 2
_PASSWORD, _PHRASE = "changeit".encode("utf-16-be"), b"Mighty Aphrodite"
"""The password is Debian's, and everybody's: what is in the file is public."""


def settled(store: bytes, *, epoch: int) -> bytes:
    """The same certificates, sorted by name, each of that time (seconds since 1970). Raises `ValueError` for a store
    that is another one or damaged."""
    body, digest = store[:-20], store[-20:]
    if len(body) < 12 or struct.unpack_from(">I", body)[0] != _MAGIC or _digest(body) != digest:
        raise ValueError("this is not Java's file of certificates")
    entries = sorted(_entries(body, epoch * 1000))
    written = body[:12] + b"".join(entry for _, entry in entries)
    return written + _digest(written)


def _entries(body: bytes, time_ms: int) -> Iterator[tuple[bytes, bytes]]:
    """Name, and the entry with another time."""
    at = 12
    for _ in range(struct.unpack_from(">I", body, 8)[0]):
        tag, name_length = struct.unpack_from(">IH", body, at)
        if tag != _CERTIFICATE:
            raise ValueError("there is a key in Java's file of certificates")
        time_at = at + 6 + name_length
        kind_length = struct.unpack_from(">H", body, time_at + 8)[0]
        length_at = time_at + 10 + kind_length
        end = length_at + 4 + struct.unpack_from(">I", body, length_at)[0]
        yield body[at + 6 : time_at], body[at:time_at] + struct.pack(">Q", time_ms) + body[time_at + 8 : end]
        at = end


def _digest(body: bytes) -> bytes:
    # SHA-1 is what the form has; it guards nothing here.
    return hashlib.sha1(_PASSWORD + _PHRASE + body, usedforsecurity=False).digest()


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_bytes(settled(file.read_bytes(), epoch=int(os.environ["SOURCE_DATE_EPOCH"])))
