"""Who this VM is to the control plane: a secret made here, bound to (cluster, node, generation)."""

import hashlib
import os
import secrets
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from agent.durable import sync_directory, write_durably
from agent.wire import BootData, EnrolRequest

INSTANCE_HEADER = "X-Kedge-Instance"


class PlainHttpRefused(ValueError):
    """The server's address would carry the credential readable over a network: give up, the boot data is wrong."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The instance and its secret. `repr` hides the secret: it may end in a log."""

    cluster_uid: str
    node: str
    generation: int
    credential: str

    def __repr__(self) -> str:
        return f"Identity({self.instance})"

    @property
    def instance(self) -> str:
        return f"{self.cluster_uid}/{self.node}.g{self.generation}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.credential}", INSTANCE_HEADER: self.instance}


class Credential:
    """The credential's file (0600), and the mark that the server has taken it."""

    def __init__(self, state: Path) -> None:
        self._secret = state / "credential"
        self._enrolled = state / "enrolled"

    def load_or_make(self) -> str:
        """The secret: 32 random bytes, hex. On disk before anybody hears of it: a crash never makes a second one."""
        try:
            kept = self._secret.read_text().strip()
        except FileNotFoundError:
            kept = ""
        if kept:
            os.chmod(self._secret, 0o600)
            return kept
        made = secrets.token_hex(32)
        write_durably(self._secret, made.encode(), mode=0o600)
        return made

    @property
    def is_enrolled(self) -> bool:
        return self._enrolled.exists()

    def keep_enrolled(self) -> None:
        self._enrolled.touch(mode=0o600)
        sync_directory(self._enrolled.parent)

    def forget_enrolled(self) -> None:
        """The server does not know the credential: enrol again. The secret stays the same."""
        self._enrolled.unlink(missing_ok=True)


def identity_of(boot: BootData, credential: str) -> Identity:
    return Identity(boot.cluster_uid, boot.node, boot.generation, credential)


def enrol_request(boot: BootData, credential: str) -> EnrolRequest:
    """The first message: the one-time token, and the hash of the secret we shall send from now on."""
    return EnrolRequest(
        cluster_uid=boot.cluster_uid,
        node=boot.node,
        generation=boot.generation,
        intent_id=boot.intent_id,
        token=boot.token,
        credential_sha256=hashlib.sha256(credential.encode()).hexdigest(),
    )


def is_loopback(server_url: str) -> bool:
    host = urlsplit(server_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_server_url(server_url: str) -> None:
    """Raises `PlainHttpRefused` unless the URL is https, or http to this very machine."""
    scheme = urlsplit(server_url).scheme
    if scheme == "https" or (scheme == "http" and is_loopback(server_url)):
        return
    raise PlainHttpRefused(
        f"server_url {server_url!r}: the agent speaks https, and plain http to loopback addresses only"
    )
