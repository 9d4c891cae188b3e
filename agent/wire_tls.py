"""The part of the contract that is about TLS between nodes; `agent.wire` has the whole of it."""

from typing import Literal

from pydantic import Field

from agent.wire_base import Wire

TLS_WIRE_VERSION = 2
"""Of a document whose services speak TLS: an agent from before would leave that out and start Kafka in plaintext. It
knows no document of this version, and starts nothing."""


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


class NodeCertificateAnswer(Wire):
    """What a node shows to others of its cluster, and whom it believes; all PEM."""

    certificate: str = Field(description="for the key of the request")
    cluster_ca: str = Field(description="who signs nodes, and Kedge's own connections")
    clients_ca: str = Field(description="who signs users")
