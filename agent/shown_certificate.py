"""What the listeners of a service really show: looked at by a handshake at their own address, at a slow pace. Beside it
what its files hold, which are those its process was started with.

A reload that failed, or a process that was started with an older file, is seen by nothing else. The handshake proves
nothing to this VM: whom it speaks to is itself, and only the certificate is read.
"""

import hashlib
import logging
import re
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agent import wire
from agent.services.tls_properties import CLIENTS_CA, CLUSTER_CA, CONTROLPLANE, NODE_PEM, REPLICATION
from agent.wire_tls import ServedCertificate

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 300.0
AGAIN_S = 10.0
"""While nobody has answered yet."""
_LIMIT_S = 3.0
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_OF_NODES: Mapping[wire.ServiceName, str] = {
    "broker": REPLICATION,
    "controller": CONTROLPLANE,
    "zookeeper": "secureClientPort",
}
_INTEGER, _SEQUENCE, _VERSION = 0x02, 0x30, 0xA0
_UTC_TIME = 0x17


class NoCertificate(ValueError):
    """What was read, or shown, is no certificate."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """`serial` is hex."""

    serial: str
    until: datetime


@dataclass(frozen=True, slots=True)
class _Files:
    """What they hold, and of which moment of theirs (nanoseconds of the file's clock)."""

    of: tuple[int, ...]
    leaf: Leaf
    issuer: str
    believes: tuple[str, ...]
    clients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Handshakes:
    """A round of handshakes: of which files and start, when (monotonic seconds), and what was shown."""

    of: tuple[object, ...]
    at_s: float
    shown: tuple[ServedCertificate, ...] = ()

    @property
    def is_answered(self) -> bool:
        return bool(self.shown) and all(one.serial for one in self.shown)


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="shown-certificate", daemon=True).start()


class ServedCertificates:
    """`report` is called by the converger alone, and never waits."""

    def __init__(
        self,
        folder: Callable[[str], Path],
        *,
        monotonic_s: Callable[[], float],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        begin: Callable[[Callable[[], None]], None] = _in_thread,
    ) -> None:
        self._folder, self._monotonic_s, self._now, self._begin = folder, monotonic_s, now, begin
        self._lock = threading.Lock()
        self._files: dict[str, _Files] = {}
        self._looks: dict[str, _Handshakes] = {}
        self._looking: set[str] = set()

    def report(self, service: wire.ServiceDocument, start_id: str) -> wire.CertificateReport | None:
        """Of a service that runs by this start; None where it has no certificate, or its files cannot be read."""
        if service.tls is None:
            return None
        files = self._read(service.name)
        if files is None:
            return None
        of = (*files.of, start_id)
        with self._lock:
            look = self._looks.get(service.name)
            look = look if look is not None and look.of == of else None
            every_s = LOOK_EVERY_S if look is not None and look.is_answered else AGAIN_S
            is_due = look is None or self._monotonic_s() - look.at_s >= every_s
            begins = is_due and service.name not in self._looking
            if begins:
                self._looking.add(service.name)
        if begins:
            self._begin(lambda: self._look(service, of))
        return wire.CertificateReport(
            serial=files.leaf.serial,
            until=files.leaf.until,
            issuer=files.issuer,
            believes=files.believes,
            clients=files.clients,
            served=look.shown if look is not None else (),
        )

    def _look(self, service: wire.ServiceDocument, of: tuple[object, ...]) -> None:
        try:
            node = self._folder(service.name) / NODE_PEM
            found = tuple(self._shown(service.address, name, port, node) for name, port in listeners_of(service))
        finally:
            with self._lock:
                self._looking.discard(service.name)
        with self._lock:
            self._looks[service.name] = _Handshakes(of, self._monotonic_s(), found)

    def _shown(self, address: str, name: str, port: int, node: Path) -> ServedCertificate:
        try:
            leaf = shown_at(address, port, node)
            return ServedCertificate(listener=name, port=port, serial=leaf.serial, until=leaf.until, at=self._now())
        except (OSError, ValueError) as error:  # ssl.SSLError is one of the first
            return ServedCertificate(listener=name, port=port, at=self._now(), problem=str(error)[:200])

    def _read(self, name: str) -> _Files | None:
        folder = self._folder(name)
        paths = [folder / file for file in (NODE_PEM, CLUSTER_CA, CLIENTS_CA)]
        try:
            of = tuple(path.stat().st_mtime_ns for path in paths)
            known = self._files.get(name)
            if known is not None and known.of == of:
                return known
            chain, believes, clients = (_ders(path.read_text()) for path in paths)
            if len(chain) < 2:
                raise NoCertificate("it has no certificate with its CA")
            leaf = leaf_of(chain[0])
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _log.warning("the certificate of %s cannot be read: %s", name, error)
            return None
        found = _Files(of, leaf, _name(chain[1]), _names(believes), _names(clients))
        self._files[name] = found
        return found


def listeners_of(service: wire.ServiceDocument) -> tuple[tuple[str, int], ...]:
    """(name, port) of the listeners that show the certificate: that for nodes first. One that asks users for theirs is
    left out: it would count each look as somebody it refused."""
    own = (_OF_NODES[service.name], service.port)
    told = service.tls.listeners if service.tls is not None and service.name == "broker" else ()
    return (own, *((one.name, one.port) for one in told if one.security == "tls" and one.authentication != "tls"))


def shown_at(address: str, port: int, node: Path) -> Leaf:
    """What is shown there, to whoever comes with the certificate of the file `node`. Raises OSError, NoCertificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent, and nothing believed
    context.load_cert_chain(node)
    with (
        socket.create_connection((address, port), timeout=_LIMIT_S) as connection,
        context.wrap_socket(connection) as secured,
    ):
        shown = secured.getpeercert(binary_form=True)
    if not shown:
        raise NoCertificate("it shows none")
    return leaf_of(shown)


def leaf_of(der: bytes) -> Leaf:
    """Serial and end of a certificate (X.509, RFC 5280 section 4.1: of TBSCertificate the serial number and the second
    time of its validity). `ssl` tells neither of one that it did not verify, and what else could takes 12 MiB. Raises
    NoCertificate."""
    try:
        _, tbs, _ = _part(_part(der, 0)[1], 0)
        kind, serial, after = _part(tbs, 0)
        if kind == _VERSION:
            kind, serial, after = _part(tbs, after)
        if kind != _INTEGER:
            raise NoCertificate("it has no serial number")
        for _ in range(2):  # the algorithm, the issuer
            _, _, after = _part(tbs, after)
        kind, validity, _ = _part(tbs, after)
        if kind != _SEQUENCE:
            raise NoCertificate("it has no validity")
        _, _, second = _part(validity, 0)
        kind, until, _ = _part(validity, second)
        text = until.decode("ascii")
        if kind == _UTC_TIME:  # of two digits those below 50 are of this century
            text = ("20" if int(text[:2]) < 50 else "19") + text
        return Leaf(f"{int.from_bytes(serial):x}", datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC))
    except NoCertificate:
        raise
    except (IndexError, ValueError) as error:
        raise NoCertificate(f"it is no certificate: {error}") from error


def _part(data: bytes, at: int) -> tuple[int, bytes, int]:
    """The element of DER there: its tag, its content, and where the next one begins. Raises IndexError, ValueError."""
    tag, length, begins = data[at], data[at + 1], at + 2
    if length & 0x80:
        digits = length & 0x7F
        length = int.from_bytes(data[begins : begins + digits])
        begins += digits
    if begins + length > len(data):
        raise ValueError("it is cut off")
    return tag, data[begins : begins + length], begins + length


def _ders(pem: str) -> Sequence[bytes]:
    return [ssl.PEM_cert_to_DER_cert(one) for one in _CERTIFICATE.findall(pem)]


def _name(der: bytes) -> str:
    return hashlib.sha256(der).hexdigest()[:16]


def _names(ders: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(_name(der) for der in ders)
