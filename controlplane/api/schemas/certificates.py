"""What the HTTP API says of certificates that nodes of a cluster show each other, and of its CAs."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from controlplane.api.schemas.messages import Message


class AuthorityOut(Message):
    """A CA of the cluster."""

    kind: Literal["cluster", "clients"] = Field(description="`cluster` signs nodes, `clients` users")
    fingerprint: str = Field(description="first 16 hex digits of the SHA-256 of its DER")
    since: datetime
    until: datetime
    signs: bool = Field(description="new certificates are of this one")
    believed: bool = Field(description="nodes recognise others by it now")


class AuthorityReplacementOut(Message):
    """The replacement of a CA in hand."""

    kind: Literal["cluster", "clients"]
    phase: Literal["trust-both", "reissue", "new-alone", "old-alone"]
    since: datetime
    reached: bool = Field(description="every node is at it; what comes next waits for a person")
    reason: str
    there: list[str] = Field(description="VMs that run at the phase")
    behind: list[str] = Field(description="VMs that are to be started anew for it")
    unknown: list[str] = Field(description="VMs of which agents have not said it of their last start")


class ServedOut(Message):
    """What a listener showed in a handshake of the VM's agent."""

    listener: str
    port: int
    serial: str = Field(description="hex; empty: nothing was seen")
    until: datetime | None
    seen_at: datetime
    problem: str


class NodeCertificateOut(Message):
    """The certificate of a VM's service."""

    key: str
    service: str
    service_id: int
    revoked_at: datetime | None = Field(description="since when nothing is signed for its VM and its agent not heard")
    serial: str = Field(description="hex, of the last one that was signed")
    since: datetime
    until: datetime
    renewed_from: datetime = Field(description="from here on Kedge starts the service anew, which gets it another one")
    started_with: str = Field(description="serial of the one its process was started with; empty: not known")
    issuer: str = Field(description="fingerprint of the CA that signed that; empty: not known")
    believes: list[str] = Field(description="fingerprints of the CAs it recognises nodes by; empty: not known")
    served: list[ServedOut] = Field(description="by listener; empty: not looked at yet")


class CertificatesOut(Message):
    """All of a cluster."""

    cluster: str
    authorities: list[AuthorityOut]
    replacement: AuthorityReplacementOut | None
    nodes: list[NodeCertificateOut]


class RevokeCertificatesIn(Message):
    """Somebody else may have the VM of this node: revoke what it was given, and replace it. `confirm` must be the
    cluster's name, typed out; with `dry_run` nothing is recorded, and none is needed."""

    node: str = Field(min_length=1, max_length=200, description="a node, or the key of one VM of it")
    reason: str = Field(min_length=1, description="recorded, and shown to others")
    confirm: str = ""
    replace_ca: bool = Field(default=False, description="begin the replacement of the cluster CA at once")
    dry_run: bool = False


class ReplaceAuthorityIn(Message):
    """Give the cluster another CA: begin, go on to the next phase, or back to the one before. `reason` is recorded;
    with `dry_run` nothing is."""

    clients: bool = Field(default=False, description="the CA of users, not that of nodes")
    step: Literal["begin", "continue", "back"] = "begin"
    reason: str = ""
    dry_run: bool = False
