"""The certificate of this VM: the key is made here and never leaves it, the server signs it. The server says when.

Key and certificate are one file (0600), whole or not there. This VM's clock plays no part: a certificate that is over
is shown all the same, and the server renews it by the credential beside it.
"""

import logging
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.client import RetryLater, ServerClient, ServerRefused
from agent.durable import sync_directory, write_durably
from agent.exit_reason import exit_reason
from agent.secret_log import remember_key
from agent.trust import PinnedCa
from agent.wire import BootData, CertificateRequest

_log = logging.getLogger(__name__)

_CSR_BEGINS = "-----BEGIN CERTIFICATE REQUEST-----"
_LIMIT_S = 60.0


class NoSigningRequest(Exception):
    """No key, or no request for it, could be made on this VM; the words say why."""


@dataclass(frozen=True, slots=True)
class SigningRequest:
    """A fresh key, PEM, and the request to sign it. `repr` shows no key."""

    key_pem: str
    csr_pem: str

    def __repr__(self) -> str:
        return "SigningRequest()"


class Certification:
    """Obtains and renews it. `is_settled`: whether this agent stays, as one on trial may not.

    The first certificate is for ever: from its first use on the server hears this VM with one only. So an agent on
    trial asks for none: the one it may have to give way to might know of no certificates.
    """

    def __init__(
        self,
        boot: BootData,
        *,
        client: ServerClient,
        trust: PinnedCa,
        state: Path,
        is_settled: Callable[[], bool] = lambda: True,
        make: Callable[[], SigningRequest] | None = None,
    ) -> None:
        """Shows the one that is kept from here on, if there is one."""
        self._boot = boot
        self._client = client
        self._trust = trust
        self._file = state / "certificate.pem"
        self._next = state / "certificate.pem.next"
        self._is_settled = is_settled
        self._make = make or made_aside
        self._lock = threading.Lock()
        self.is_there = self._show_kept()
        """Whether this VM has a certificate to show."""

    def begin(self) -> SigningRequest | None:
        """A fresh key and its request; None where the time for it has not come, or where none can be made."""
        if not self.is_there and not self._is_settled():
            return None
        try:
            made = self._make()
            remember_key(made.key_pem)
            return made
        except NoSigningRequest as error:
            _log.error("no certificate can be asked for, no key was made: %s", error)
            return None

    def run(self) -> bool:
        """Asks for one and shows it from here on; False where none is asked for. Raises what `ServerClient` raises."""
        with self._lock:
            begun = self.begin()
            if begun is None:
                return False
            boot = self._boot
            asked = CertificateRequest(
                cluster_uid=boot.cluster_uid, node=boot.node, generation=boot.generation, csr=begun.csr_pem
            )
            self._keep(begun, self._client.certify(asked).certificate)
        return True

    def take(self, begun: SigningRequest, certificate_pem: str) -> None:
        """What came of it at the enrolment. Raises RetryLater, Refused."""
        with self._lock:
            self._keep(begun, certificate_pem)

    def _keep(self, begun: SigningRequest, certificate_pem: str) -> None:
        """The one before stays in its place until this one is whole on disk and found to be of its key."""
        try:
            write_durably(self._next, f"{begun.key_pem}{certificate_pem}".encode(), mode=0o600)
            self._trust.show(self._next)
            self._next.replace(self._file)
            sync_directory(self._file.parent)
        except ssl.SSLError as error:
            raise ServerRefused(f"the server's certificate for this VM cannot be used: {error}") from error
        except OSError as error:
            raise RetryLater(f"this VM's certificate cannot be kept: {error}") from error
        self.is_there = True
        self._client.reconnect()
        _log.info("this VM has a new certificate")

    def _show_kept(self) -> bool:
        try:
            remember_key(self._file.read_text(errors="replace"))
            self._trust.show(self._file)
        except FileNotFoundError:
            return False
        except OSError as error:  # ssl.SSLError is one, too
            _log.error("%s cannot be used, the server is asked for another one: %s", self._file, error)
            return False
        self._client.reconnect()
        return True


def made_aside() -> SigningRequest:
    """The same by a process of its own: what makes it takes 12 MiB, and this agent would keep them for good. Raises
    NoSigningRequest."""
    command = [sys.executable, "-P", "-m", "agent.certification"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        made = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            env=environ,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSigningRequest(str(error)) from error
    key_pem, begin, csr_pem = made.stdout.partition(_CSR_BEGINS)
    if made.returncode or not begin:
        why = exit_reason(made.stderr).words
        raise NoSigningRequest(why or f"the process that makes it ended with {made.returncode}")
    return SigningRequest(key_pem, begin + csr_pem)


def signing_request() -> SigningRequest:
    """A key of the curve P-256, and its request. It says no name: the server knows who asks. Raises ImportError."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    asked = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return SigningRequest(key_pem.decode(), asked.public_bytes(serialization.Encoding.PEM).decode())


if __name__ == "__main__":
    request = signing_request()
    sys.stdout.write(request.key_pem + request.csr_pem)
