"""Where something listens: a host and a port, read and written in one place.

An IPv6 address has many spellings, and its colons stand beside that of the port. Kafka (listeners, bootstrap lists,
voters), ZooKeeper, kazoo and URLs (RFC 3986, 3.2.2) take it in brackets; sockets, certificates, Jolokia's `host=` and
what Kafka's metadata says have none. Java writes all eight groups (`fd5a:0:0:0:b:0:0:1001`), so texts are never
compared: values are.
"""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from typing import Self


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """Its text is `host:port`, with the brackets an IPv6 address needs. `host` has none, and an address of version 6 is
    in its shortest form (RFC 5952): two spellings of one address are equal. A name is not looked up, nor is the port
    judged."""

    host: str
    port: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "host", plain_host(self.host))

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"

    @classmethod
    def parse(cls, text: str, default_port: int | None = None) -> Self:
        """From `10.0.0.1:9092`, `broker.example:9092` or `[fd00::1]:9092`; the port may be missing where there is a
        default, and then an IPv6 address needs no brackets. Raises ValueError for anything else, an IPv6 address that
        has a port and no brackets among them: nobody can say where it ends."""
        text = text.strip()
        if default_port is not None and text and (":" not in text or _address(_bare(text)) is not None):
            return cls(text, default_port)
        host, _, port = text.rpartition(":")
        in_brackets = host.startswith("[") and host.endswith("]")
        # int() would take " 1", "+1" and "1_0" too
        if not host or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
            raise ValueError(f"{text!r} is no HOST:PORT, as in 10.0.0.1:9092 or [fd00::1]:9092")
        if in_brackets != (":" in host) or (in_brackets and _address(_bare(host)) is None):
            raise ValueError(f"{text!r}: before a port an IPv6 address stands in brackets, and nothing else does")
        return cls(host, int(port))


def plain_host(host: str) -> str:
    """Without brackets, and of version 6 in its shortest form: what sockets take, and what can be compared."""
    bare = _bare(host)
    return _address(bare) or bare


def bracketed(host: str) -> str:
    """As it stands before a port: an IPv6 address in brackets, anything else as it is."""
    address = _address(_bare(host))
    return host if address is None else f"[{address}]"


def _bare(host: str) -> str:
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _address(bare: str) -> str | None:
    """The shortest form, None where it is no IPv6 address."""
    return _shortest(bare) if ":" in bare else None


@lru_cache(maxsize=16_384)
def _shortest(text: str) -> str | None:
    """Every look at a cluster asks for the same ones again."""
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        return None
