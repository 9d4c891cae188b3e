"""Who this VM is to the control plane: a secret made here, bound to (cluster, node, generation)."""

import hashlib
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import SecretStr

from agent.wire import BootData, EnrolRequest, RotateRequest

INSTANCE_HEADER = "X-Kedge-Instance"


class PlainHttpRefused(ValueError):
    """The server's address would carry the credential readable over a network: give up, the boot data is wrong."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The instance and its secret."""

    cluster_uid: str
    node: str
    generation: int
    credential: SecretStr

    @property
    def instance(self) -> str:
        return f"{self.cluster_uid}/{self.node}.g{self.generation}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.credential.get_secret_value()}", INSTANCE_HEADER: self.instance}


def identity_of(boot: BootData, credential: str) -> Identity:
    return Identity(boot.cluster_uid, boot.node, boot.generation, SecretStr(credential))


def enrol_request(boot: BootData, credential: str) -> EnrolRequest:
    """The first message: the one-time token, and the hash of the secret we shall send from now on."""
    return EnrolRequest(
        cluster_uid=boot.cluster_uid,
        node=boot.node,
        generation=boot.generation,
        intent_id=boot.intent_id,
        token=boot.token,
        credential_sha256=_digest(credential),
    )


def rotate_request(boot: BootData, credential: str) -> RotateRequest:
    """The hash of the secret that is to take the place of the one that is shown."""
    return RotateRequest(
        cluster_uid=boot.cluster_uid,
        node=boot.node,
        generation=boot.generation,
        credential_sha256=_digest(credential),
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
        f"server_url {server_url!r}: the agent speaks https, and plain http to loopback addresses only: its credential "
        "would cross the network readable. Set `agents.host` on the server: VMs made then are told an https address"
    )


def _digest(credential: str) -> str:
    return hashlib.sha256(credential.encode()).hexdigest()
