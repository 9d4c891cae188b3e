"""Which server is believed: one whose certificate comes from the CA whose hash the VM was born with, no other."""

import hashlib
import hmac
import logging
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx

from agent.durable import write_durably
from agent.identity import PlainHttpRefused, is_loopback

_log = logging.getLogger(__name__)

CA_PATH = "/agent/v1/ca"
_LARGEST_CA_BYTES = 64 * 1024
_FETCH_TIMEOUT_S = 10.0


class CaRefused(Exception):
    """What came as the server's CA is not the certificate of the boot data's hash: somebody imitates the server."""


class PinnedCa:
    """The CA of the boot data's hash. `context` believes nobody until `ensure` has found that CA, then only it.

    `show` puts another one in its place, by which this VM's certificate is shown.
    """

    def __init__(
        self, server_url: str, sha256: str, *, kept: Path, fetch: Callable[[str], bytes] | None = None
    ) -> None:
        """`kept` is the file the CA stays in once it was found right. Raises PlainHttpRefused for a plain address."""
        if not server_url.startswith("https://"):
            raise PlainHttpRefused(
                f"server_url {server_url!r}: the boot data carries the hash of a CA, so only https is spoken"
            )
        self.context = _trusting_no_ca()
        self._url = server_url
        self._sha256 = sha256
        self._kept = kept
        self._fetch = fetch or fetch_ca
        self._lock = threading.Lock()
        self._ca: bytes | None = None

    def ensure(self) -> None:
        """Has the CA, from disk or from the server. Raises CaRefused, and httpx.HTTPError when nobody answers."""
        with self._lock:
            if self._ca is not None:
                return
            found = self._from_disk() or self._from_server()
            try:
                # As DER and not as it came: what was not hashed is not loaded.
                self.context.load_verify_locations(cadata=found)
            except ssl.SSLError as error:
                raise CaRefused(
                    f"the CA of {self._url} has the right hash and is not a certificate: {error}"
                ) from error
            self._ca = found

    def show(self, certificate: Path) -> None:
        """New connections show that certificate (and key, one file). Raises OSError; ssl.SSLError if they do not fit.

        In a context of its own: one that another thread connects by stays as it is.
        """
        fresh = _trusting_no_ca()
        fresh.load_cert_chain(certificate)
        with self._lock:
            if self._ca is not None:
                fresh.load_verify_locations(cadata=self._ca)
            self.context = fresh

    def _from_disk(self) -> bytes | None:
        try:
            return self._judged(self._kept.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, CaRefused) as error:
            _log.warning("%s cannot be used and is fetched again: %s", self._kept, error)
            return None

    def _from_server(self) -> bytes:
        found = self._judged(self._fetch(self._url))
        try:
            write_durably(self._kept, ssl.DER_cert_to_PEM_cert(found).encode(), mode=0o600)
        except OSError as error:
            _log.warning("the server's CA cannot be kept, it is fetched again at the next start: %s", error)
        return found

    def _judged(self, pem: bytes) -> bytes:
        """The certificate as DER. Raises CaRefused unless it is one certificate, and the one of the hash."""
        try:
            if pem.count(b"-----BEGIN") != 1:
                raise ValueError("exactly one is expected")
            found = ssl.PEM_cert_to_DER_cert(pem.decode("ascii").strip())
        except ValueError as error:
            raise CaRefused(f"what {self._url} gave as its CA is not a certificate: {error}") from error
        said = hashlib.sha256(found).hexdigest()
        if not hmac.compare_digest(said, self._sha256):
            raise CaRefused(
                f"{self._url} gave a CA with SHA-256 {said}, the boot data of this VM says {self._sha256}: the server "
                "is imitated, or its home was replaced. Nothing was sent to it; put `ca.pem` and `ca-key.pem` back "
                "into the server's home"
            )
        return found


def _trusting_no_ca() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def fetch_ca(server_url: str) -> bytes:
    """GET /agent/v1/ca, from whoever answers: nothing secret is sent, and the hash judges what comes.

    Raises httpx.HTTPError, CaRefused.
    """
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    with (
        httpx.Client(
            verify=anybody, timeout=_FETCH_TIMEOUT_S, follow_redirects=False, trust_env=not is_loopback(server_url)
        ) as http,
        http.stream("GET", f"{server_url}{CA_PATH}") as response,
    ):
        response.raise_for_status()
        taken = bytearray()
        for chunk in response.iter_bytes():
            taken += chunk
            if len(taken) > _LARGEST_CA_BYTES:
                raise CaRefused(f"what {server_url} gave as its CA is larger than {_LARGEST_CA_BYTES} bytes")
        return bytes(taken)


def certificate_problem(error: BaseException) -> str:
    """Why the server's certificate was not believed, or it did not believe ours; "" when that was not the problem."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            return (
                f"the server's certificate is refused: {cause.verify_message}. It has to be one by the CA of this VM's "
                f"boot data, for the address it was told; this VM's clock says {now}"
            )
        if isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or ""):
            return f"the server refuses the TLS connection, maybe over this VM's certificate: {cause.reason}"
        cause = cause.__cause__ or cause.__context__
    return ""
