"""The certificate a Kafka service of this VM shows to the others of its cluster: a new one before each start.

The key is made here and never leaves the VM; the control plane signs it for the addresses it knows this VM by. Files
are looked at before they take the place of others: with a bad one Kafka starts for nothing, and says so in its log
alone. Where the control plane is away a service starts with what it had, for as long as that counts: a reboot without
Kedge brings Kafka back.

Nothing here waits for the network: a thread of its own asks, and `ready` says what it is waited for.
"""

import json
import logging
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from agent import wire
from agent.certification import NoSigningRequest, SigningRequest, made_aside
from agent.client import CertificateLost, CredentialLost, Retired, RetryLater, ServerRefused
from agent.durable import write_durably
from agent.secret_log import remember_key
from agent.service_user import ServiceUser
from agent.services.tls_properties import CLIENTS_CA, CLUSTER_CA, NODE_PEM

_log = logging.getLogger(__name__)

_AGAIN_S = 5.0
"""Between two tries that failed."""
_CRASH_LOOP = timedelta(hours=12)
"""A service that ends by itself starts again with what it had, for so long: each certificate is an event."""
_MADE_FOR = "made-for.json"


class CertificateUnusable(ValueError):
    """What is on disk, or came, would not let a service in: the words say why."""


class Signs(Protocol):
    """Who signs; `ServerClient` is one."""

    def certify_node(self, request: wire.CertificateRequest) -> wire.NodeCertificateAnswer: ...


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="node-certificate", daemon=True).start()


@dataclass(frozen=True, slots=True)
class _MadeFor:
    """What the files on disk were made for."""

    start_id: str
    address: str
    at: datetime


class NodeCertificates:
    """`ready` is called by the converger alone. `woken` is called once there is news."""

    def __init__(
        self,
        boot: wire.BootData,
        client: Signs,
        folder: Callable[[str], Path],
        *,
        user: ServiceUser | None = None,
        monotonic_s: Callable[[], float],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        woken: Callable[[], object] = lambda: None,
        make: Callable[[], SigningRequest] = made_aside,
        begin: Callable[[Callable[[], None]], None] = _in_thread,
    ) -> None:
        self._boot, self._client, self._folder, self._user = boot, client, folder, user
        self._monotonic_s, self._now, self._woken = monotonic_s, now, woken
        self._make, self._begin = make, begin
        self._lock = threading.Lock()
        self._asks = ""
        self._failed: tuple[str, float, str] = ("", 0.0, "")
        """For which start, until when it is not tried again (monotonic seconds), and why."""

    def ready(self, service: wire.ServiceDocument) -> str:
        """What the service waits for before it may start, "" once its certificate is there, or where it needs none."""
        if service.tls is None:
            return ""
        folder = self._folder(service.name)
        made_for = _read(folder / _MADE_FOR)
        is_its_own = made_for is not None and (made_for.start_id, made_for.address) == (
            service.start_id,
            service.address,
        )
        if made_for is not None and is_its_own and self._now() - made_for.at < _CRASH_LOOP:
            return ""
        with self._lock:
            if self._asks:
                return "waiting for the control plane to sign this node's certificate"
            start_id, again_s, why = self._failed
            if start_id == service.start_id and self._monotonic_s() < again_s:
                return self._without(service, folder, made_for, why)
            self._asks = service.start_id
        self._begin(lambda: self._obtain(service, folder))
        return "asking the control plane for this node's certificate"

    def _without(self, service: wire.ServiceDocument, folder: Path, made_for: _MadeFor | None, why: str) -> str:
        """What there is does, where it was made for this address and still lets it in."""
        if made_for is None or made_for.address != service.address:
            return why
        try:
            check(folder / NODE_PEM, folder / CLUSTER_CA, service.address)
        except CertificateUnusable as error:
            return f"{why}; the one before cannot be used any more: {error}"
        _log.warning("%s starts with the certificate it had: %s", service.name, why)
        return ""

    def _obtain(self, service: wire.ServiceDocument, folder: Path) -> None:
        why = ""
        try:
            self._keep(service, folder, *self._signed())
        except NoSigningRequest as error:
            why = f"no key could be made for this node's certificate: {error}"
        except CertificateUnusable as error:
            why = f"the certificate that was signed for this node cannot be used: {error}"
        except Retired as error:
            why = f"no certificate is signed any more: {error}"
        except (RetryLater, CredentialLost, CertificateLost, ServerRefused) as error:
            why = f"no certificate for this node yet: {error}"
        except OSError as error:
            why = f"this node's certificate cannot be kept: {error}"
        with self._lock:
            self._asks = ""
            self._failed = (service.start_id, self._monotonic_s() + _AGAIN_S, why) if why else ("", 0.0, "")
        if why:
            _log.warning("%s: %s", service.name, why)
        self._woken()

    def _signed(self) -> tuple[str, wire.NodeCertificateAnswer]:
        begun, boot = self._make(), self._boot
        remember_key(begun.key_pem)
        asked = wire.CertificateRequest(
            cluster_uid=boot.cluster_uid, node=boot.node, generation=boot.generation, csr=begun.csr_pem
        )
        return begun.key_pem, self._client.certify_node(asked)

    def _keep(self, service: wire.ServiceDocument, folder: Path, key: str, answer: wire.NodeCertificateAnswer) -> None:
        """The one before stays in its place until this one is found right. Raises CertificateUnusable, OSError."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._user is not None:
            self._user.share(folder)
        issuer = answer.issuer or answer.cluster_ca
        node = f"{key.strip()}\n{answer.certificate.strip()}\n{issuer.strip()}\n"
        beside, trusted = folder / f"{NODE_PEM}.next", folder / f"{CLUSTER_CA}.next"
        try:
            write_durably(beside, node.encode(), mode=0o600)
            write_durably(trusted, answer.cluster_ca.encode(), mode=0o600)
            check(beside, trusted, service.address)
        finally:
            beside.unlink(missing_ok=True)
            trusted.unlink(missing_ok=True)
        owner = (self._user.uid, self._user.gid) if self._user is not None else None
        for name, text in ((CLUSTER_CA, answer.cluster_ca), (CLIENTS_CA, answer.clients_ca), (NODE_PEM, node)):
            write_durably(folder / name, text.encode(), mode=0o600, owner=owner)
        made_for = {"start_id": service.start_id, "address": service.address, "at": self._now().isoformat()}
        write_durably(folder / _MADE_FOR, json.dumps(made_for).encode())
        _log.info("%s has a new certificate, for its start as %s", service.name, service.start_id)


def check(node: Path, believed: Path, address: str) -> None:
    """Raises CertificateUnusable unless a node with the file `node` would be let in at `address` by the others, and
    lets in itself: key and certificate fit, the chain is of `believed`, the address is in it, it counts today by this
    VM's clock, and it is for both ends of a connection. Done by one handshake of it with itself, in memory.
    """
    try:
        if "-----BEGIN PRIVATE KEY-----" not in node.read_text():
            raise CertificateUnusable("its key is not PKCS#8, which is all that Kafka reads")
        server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for context in (server, client):
            context.load_cert_chain(node)
            context.load_verify_locations(believed)
        server.verify_mode = ssl.CERT_REQUIRED
        # 1.2: its handshake ends only once both have believed the other.
        server.maximum_version = client.maximum_version = ssl.TLSVersion.TLSv1_2
        _shake_hands(server, client, address)
    except ssl.SSLCertVerificationError as error:
        raise CertificateUnusable(f"{error.verify_message}; this VM's clock says {_clock()}") from error
    except ssl.SSLError as error:
        raise CertificateUnusable(f"{error.reason or error}; this VM's clock says {_clock()}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CertificateUnusable(f"it cannot be read: {error}") from error


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, address: str) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=address),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(8):
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                continue
        if not ends:
            return
    raise CertificateUnusable("a handshake of it with itself does not end")


def _clock() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: Path) -> _MadeFor | None:
    """None where nothing was made, or nobody can tell for what: another one is asked for then."""
    try:
        found = json.loads(path.read_bytes())
        at = datetime.fromisoformat(str(found["at"])).astimezone(UTC)
        return _MadeFor(str(found["start_id"]), str(found["address"]), at)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s cannot be read, a certificate is asked for anew: %s", path, error)
        return None
