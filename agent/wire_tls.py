"""The part of the contract that is about TLS between nodes; `agent.wire` has the whole of it."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from agent.wire_base import Wire

TLS_WIRE_VERSION = 2
"""Of a document whose services speak TLS: an agent from before would leave that out and start Kafka in plaintext. It
knows no document of this version, and starts nothing."""

STEP_WIRE_VERSION = 3
"""Of a document with a service between plaintext and TLS: an agent that left the step out would start it as if all had
made all steps, and controllers that skip one end themselves. It knows no document of this version."""

TlsStep = Literal["C1", "B1", "C2", "B2"]
"""How far controllers (C) and brokers (B) of a living cluster are on their way: `agent.services.tls_steps` has each."""


class TlsListener(Wire):
    """A listener for clients, of a broker whose cluster speaks TLS between its nodes."""

    name: str
    port: int
    security: Literal["plaintext", "tls"]
    authentication: Literal["none", "tls", "scram-sha-512"] = Field(
        default="none",
        description="`scram-sha-512` came later than wire version 2: an older agent cannot read the document, and what"
        " it has started stays",
    )
    reauthenticate_s: int | None = Field(
        default=None, ge=1, description="of SCRAM: how long a connection lasts before the password is asked for again"
    )

    @property
    def asks(self) -> bool:
        """Whether clients have to prove who they are."""
        return self.authentication != "none"


class ServiceTls(Wire):
    """A node that proves itself by a certificate of its cluster's CA, which its agent gets before each start."""

    super_users: tuple[str, ...] = Field(description="principals, as in `User:CN=kedge-node-0123456789abcdef`")
    listeners: tuple[TlsListener, ...] = Field(default=(), description="of a broker, for clients")
    step: TlsStep | None = Field(
        default=None, description="between plaintext and TLS; absent: TLS alone. Only in documents of version 3"
    )
    plain_port: int = Field(default=0, description="of a controller at a step: where it listens in plaintext, too")


class NodeCertificateAnswer(Wire):
    """What a node shows to others of its cluster, and whom it believes; all PEM."""

    certificate: str = Field(description="for the key of the request")
    cluster_ca: str = Field(description="who signs nodes, and Kedge's own connections")
    clients_ca: str = Field(description="who signs users")
    issuer: str = Field(
        default="",
        description="the CA that signed it, where `cluster_ca` names several; empty: it is `cluster_ca`",
    )


class ServedCertificate(Wire):
    """What a listener showed in a handshake of the agent with it."""

    listener: str
    port: int
    serial: str = Field(default="", description="hex; empty: nobody answered, or with no certificate")
    until: datetime | None = None
    at: datetime = Field(description="when it was looked at")
    problem: str = Field(default="", description="why nothing was seen")


class CertificateReport(Wire):
    """What a service was started with, by its files, and what its listeners show. CAs are named by the first 16 hex
    digits of the SHA-256 of their DER."""

    serial: str = Field(description="hex, of the certificate in its file")
    until: datetime
    issuer: str = Field(description="the CA that signed it")
    believes: tuple[str, ...] = Field(description="CAs by which it recognises nodes")
    clients: tuple[str, ...] = Field(default=(), description="CAs by which it recognises users")
    served: tuple[ServedCertificate, ...] = Field(default=(), description="by listener; empty: not looked at yet")
