"""A scan of the doors of nodes that speak TLS: every port that a VM listens at is tried in ways that must not work, by
raw sockets and `openssl s_client`. What answers and was not declared is told by address, port and way."""

import contextlib
import os
import socket
import ssl
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

import psutil
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from controlplane.storage.certificates.building import key_pem
from controlplane.storage.certificates.cluster_authority import NODE_LIFE, ClusterAuthority

Admits = Literal["nodes", "members", "certified clients", "users", "anybody over TLS", "anybody", "readers of figures"]
"""Whom a declared door lets in: `members` are nodes, at one of ZooKeeper's; `users` have to sign in over TLS; `readers
of figures` speak HTTP (Jolokia)."""

_ANSWER_S = 3.0
_METADATA = 3
_MAPPED = "::ffff:"
"""Java listens at IPv4 addresses by sockets of IPv6."""
_OLD = {"TLS 1.0": "-tls1", "TLS 1.1": "-tls1_1"}
_WEAK = {"a null cipher": "eNULL:@SECLEVEL=0", "an anonymous cipher": "aNULL:@SECLEVEL=0"}


@dataclass(frozen=True, slots=True, order=True)
class Door:
    """Where somebody listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, order=True)
class Opening:
    """A door that answered where it must not, and in which way it was tried."""

    door: Door
    way: str

    def __str__(self) -> str:
        return f"{self.door.host}:{self.door.port} {self.way}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client's, as files for `ssl` and `openssl`."""

    pem: Path


@dataclass(frozen=True, slots=True)
class Scan:
    """What is tried. `declared` are the doors that there may be; `strangers` certificates by what they are."""

    declared: Mapping[Door, Admits]
    strangers: Mapping[str, Certificate] = field(default_factory=dict)
    clients: Certificate | None = None
    """Of the clients CA: lets in at doors of certified clients, nowhere else."""

    def openings(self, found: Iterable[Door]) -> list[Opening]:
        """Of the doors that were found: those nobody declared, and ways that opened one which must not have."""
        return sorted({one for door in found for one in self._tried(door)})

    def _tried(self, door: Door) -> Iterator[Opening]:
        admits = self.declared.get(door)
        if admits is None:
            yield Opening(door, "listens, and was not declared")
        if admits == "readers of figures":
            return
        ways = self._ways_into_an_ensemble(door) if admits == "members" else self._ways(door, admits)
        for way, answers in (*ways, *_weak_handshakes(door)):
            if answers():
                yield Opening(door, way)

    def _ways_into_an_ensemble(self, door: Door) -> Iterator[tuple[str, Callable[[], bool]]]:
        yield "answers in plaintext", partial(ensemble_answers, door, None)
        shown = {"nobody": None, **self.strangers, "a client": self.clients}
        for name, certificate in shown.items():
            yield f"answers to {name}", partial(ensemble_answers, door, as_client(certificate))

    def _ways(self, door: Door, admits: Admits | None) -> Iterator[tuple[str, Callable[[], bool]]]:
        if admits != "anybody":
            yield "answers in plaintext", partial(metadata_is_told, door)
        if admits != "anybody over TLS":
            yield "answers over TLS to nobody", partial(metadata_is_told, door, as_client())
            for name, stranger in self.strangers.items():
                yield f"answers to {name}", partial(metadata_is_told, door, as_client(stranger))
            if self.clients is not None and admits != "certified clients":
                shown = as_client(self.clients)
                yield "answers to a client's certificate", partial(metadata_is_told, door, shown)


def _weak_handshakes(door: Door) -> Iterator[tuple[str, Callable[[], bool]]]:
    for name, flag in _OLD.items():
        yield f"shakes hands in {name}", partial(shakes_hands, door, flag, "-cipher", "ALL:@SECLEVEL=0")
    for name, ciphers in _WEAK.items():
        yield f"shakes hands with {name}", partial(shakes_hands, door, "-tls1_2", "-cipher", ciphers)


def ensemble_answers(door: Door, context: ssl.SSLContext | None) -> bool:
    """Whether a door of a ZooKeeper server lets in: in plaintext, where it tells how it is, or by a handshake to its
    end, which is the server's word in TLS 1.2, all that ZooKeeper 3.8 speaks."""
    with contextlib.suppress(OSError, ssl.SSLError), socket.create_connection((door.host, door.port), _ANSWER_S) as raw:
        raw.settimeout(_ANSWER_S)
        if context is not None:
            return context.wrap_socket(raw, server_hostname=door.host).version() is not None
        raw.sendall(b"srvr")
        return b"Zookeeper" in raw.recv(4096)
    return False


def doors_of(pids: Iterable[int]) -> set[Door]:
    """Where these processes listen for TCP, in this network namespace."""
    wanted = set(pids)
    return {
        Door(one.laddr.ip.removeprefix(_MAPPED), one.laddr.port)
        for one in psutil.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN and one.laddr and one.pid in wanted
    }


def metadata_is_told(door: Door, context: ssl.SSLContext | None = None) -> bool:
    """Whether a Metadata request (version 1, of no topic) is answered: brokers answer it to who may be there alone.
    Controllers close it, or answer an error: an answer of any kind counts as one."""
    header = struct.pack(">hhi", _METADATA, 1, 7) + struct.pack(">h", 4) + b"scan"
    request = header + struct.pack(">i", 0)
    with contextlib.suppress(OSError, ssl.SSLError), socket.create_connection((door.host, door.port), _ANSWER_S) as raw:
        raw.settimeout(_ANSWER_S)
        line = context.wrap_socket(raw, server_hostname=door.host) if context is not None else raw
        line.sendall(struct.pack(">i", len(request)) + request)
        head = _exactly(line, 8)
        return len(head) == 8 and struct.unpack(">ii", head)[1] == 7
    return False


def shakes_hands(door: Door, *options: str) -> bool:
    """Whether a handshake of `openssl s_client` with these options ends well. Raises AssertionError where this openssl
    cannot even try, as the scan would see nothing then."""
    command = ["openssl", "s_client", "-connect", f"{door.host}:{door.port}", *options]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False, env=_no_config()
        )
    except subprocess.TimeoutExpired:
        return False
    told = done.stdout + done.stderr
    unable = [words for words in ("no cipher match", "no protocols available", "Unknown option") if words in told]
    assert not unable, f"{' '.join(command)}: this openssl cannot try it: {unable}"
    return "Cipher is (NONE)" not in told and "Cipher is " in told


def stranger(folder: Path, name: str, authority: ClusterAuthority) -> Certificate:
    """A certificate of another CA that calls itself `name`."""
    key = ec.generate_private_key(ec.SECP256R1())
    uses = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
    leaf = authority.sign(key.public_key(), name, uses=uses, life=NODE_LIFE, now=datetime.now(UTC))
    path = folder / f"{leaf.serial}.pem"
    path.write_text(f"{key_pem(key)}\n{leaf.pem}{authority.pem}")
    return Certificate(path)


def told(openings: Sequence[Opening]) -> str:
    """One a line."""
    return "\n".join(map(str, openings))


def as_client(shown: Certificate | None = None) -> ssl.SSLContext:
    """A client with this certificate, which does not care whom it talks to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if shown is not None:
        context.load_cert_chain(shown.pem)
    return context


def _exactly(line: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count and (more := line.recv(count - len(got))):
        got += more
    return got


def _no_config() -> dict[str, str]:
    """Debian's own openssl.cnf allows nothing below TLS 1.2: the scan would find every door closed."""
    return {**os.environ, "OPENSSL_CONF": "/dev/null"}
