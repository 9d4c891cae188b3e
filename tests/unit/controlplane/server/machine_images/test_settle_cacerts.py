"""Java's file of certificates: the same for the same certificates, whenever and in whatever order it was written."""

import hashlib
import struct

import pytest

from controlplane.server.machine_images.settle_cacerts import settled


def a_store(*entries: tuple[bytes, int, bytes], tag: int = 2) -> bytes:
    body = struct.pack(">III", 0xFEEDFEED, 2, len(entries))
    for name, time_ms, certificate in entries:
        body += struct.pack(">IH", tag, len(name)) + name + struct.pack(">Q", time_ms)
        body += struct.pack(">H", 5) + b"X.509" + struct.pack(">I", len(certificate)) + certificate
    return body + hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def test_order_and_time_of_collecting_make_no_difference() -> None:
    one = a_store((b"debian:b.pem", 1764000000123, b"BB"), (b"debian:a.pem", 1764000000456, b"A"))
    other = a_store((b"debian:a.pem", 1799999999999, b"A"), (b"debian:b.pem", 1799999999999, b"BB"))
    wanted = a_store((b"debian:a.pem", 1764000000000, b"A"), (b"debian:b.pem", 1764000000000, b"BB"))
    assert settled(one, epoch=1764000000) == settled(other, epoch=1764000000) == wanted
    assert settled(wanted, epoch=1764000000) == wanted


@pytest.mark.parametrize(
    "store",
    [
        b"",
        b"\0" * 64,
        a_store((b"a", 1, b"A"))[:-1],
        a_store((b"a", 1, b"A")).replace(b"X.509", b"X.500"),
        a_store((b"a", 1, b"A"), tag=1),
    ],
)
def test_another_file_a_damaged_one_and_one_with_a_key_are_left_alone(store: bytes) -> None:
    with pytest.raises(ValueError, match="Java's file of certificates"):
        settled(store, epoch=0)
