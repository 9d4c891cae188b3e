"""The part of the contract that is about TLS between nodes; `agent.wire` has the whole of it."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from agent.wire_base import Wire
from agent.wire_versions import NAMES_WIRE_VERSION, STEP_WIRE_VERSION, TLS_WIRE_VERSION

TlsStep = Literal["C1", "Z1", "B1", "C2", "Z2", "B2"]
"""How far controllers (C), servers of an ensemble (Z) and brokers (B) of a living cluster are on their way:
`agent.services.tls_steps` and `agent.services.zoo_tls` have each."""


class TokenIssuer(Wire):
    """Whose tokens a listener takes."""

    issuer: str = Field(description="claim `iss`, the very text")
    audience: str = Field(description="has to be in the claim `aud`")
    jwks: str = Field(description="where the agent fetches the keys that sign tokens (RFC 7517)")
    principal_claim: str = "sub"
    ca: str = Field(default="", description="PEM, by which the provider is believed; empty: as the VM's system says")
    clock_skew_s: int = Field(default=30, ge=0)


class TlsListener(Wire):
    """A listener for clients, of a broker whose cluster speaks TLS between its nodes."""

    name: str
    port: int
    security: Literal["plaintext", "tls"]
    authentication: Literal["none", "tls", "scram-sha-512", "oauth"] = Field(
        default="none",
        description="`scram-sha-512` came later than wire version 2: an older agent cannot read the document, and what"
        " it has started stays. `oauth` only in documents of version 4",
    )
    reauthenticate_s: int | None = Field(
        default=None,
        ge=1,
        description="of SCRAM and tokens: how long a connection lasts before it is asked again who it is",
    )
    tokens: TokenIssuer | None = Field(default=None, description="of `oauth`: which tokens count")

    @property
    def asks(self) -> bool:
        """Whether clients have to prove who they are."""
        return self.authentication != "none"


class ServiceTls(Wire):
    """A node that proves itself by a certificate of its cluster's CA, which its agent gets before each start."""

    super_users: tuple[str, ...] = Field(description="principals, as in `User:CN=kedge-node-0123456789abcdef`")
    listeners: tuple[TlsListener, ...] = Field(default=(), description="of a broker, for clients")
    step: TlsStep | None = Field(
        default=None,
        description="between plaintext and TLS; absent: TLS alone. Only in documents of version 3, and of version 5"
        " in ZooKeeper's mode",
    )
    plain_port: int = Field(
        default=0,
        description="of a controller, or a ZooKeeper server, at a step: where it listens in plaintext, too",
    )
    mapping_rules: str = Field(
        default="",
        description="`ssl.principal.mapping.rules` of the listeners nodes come by, which give `super_users`; empty:"
        " they are the subjects of certificates. Only in documents of version 4",
    )

    @property
    def wire(self) -> int:
        """The lowest version of a document that says all of it."""
        if self.mapping_rules or self.token_listeners:
            return NAMES_WIRE_VERSION
        return TLS_WIRE_VERSION if self.step is None else STEP_WIRE_VERSION

    @property
    def token_listeners(self) -> tuple[tuple[TlsListener, TokenIssuer], ...]:
        """Those that ask for tokens, and whose."""
        return tuple((one, one.tokens) for one in self.listeners if one.tokens is not None)


class TokenKeysReport(Wire):
    """The keys by which a broker's listener judges tokens, as its agent last fetched them."""

    listener: str
    keys: int = Field(description="those it has; 0: it takes no token")
    fetched: datetime | None = Field(default=None, description="when the provider last told them; absent: not yet")
    problem: str = Field(default="", description="why the last try failed; empty: it did not")


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
