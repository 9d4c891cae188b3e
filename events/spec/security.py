"""What of a cluster is encrypted, and who has to prove who they are."""

from typing import ClassVar, Literal

from events.spec import scalars
from events.spec.fields import FieldClass, Part, classed

InternalSecurity = Literal["plaintext", "tls"]
ListenerSecurity = Literal["plaintext", "tls"]
AuthenticationType = Literal["none", "tls", "scram-sha-512"]


class Security(Part):
    """What nodes speak to one another, and Kedge to them."""

    internal: InternalSecurity = classed(
        FieldClass.IDENTITY,
        "`tls`: brokers, controllers and Kedge prove themselves to one another by certificates of the cluster's own "
        "CA, and nobody else reads along (docs/kafka-security.md). A cluster keeps what it was born with.",
        default="plaintext",
    )


class Authentication(Part):
    """How clients prove who they are."""

    type: AuthenticationType = classed(
        FieldClass.RESTART,
        "`none`: whoever reaches the listener is served. `tls` and `scram-sha-512` are not offered yet.",
        default="none",
    )


class Listener(Part):
    """A listener of the brokers."""

    key_field: ClassVar[str | None] = "name"

    name: scalars.ListenerName = classed(FieldClass.RESTART, "Name of the listener.", default="PLAINTEXT")
    port: scalars.Whole = classed(FieldClass.RESTART, "TCP port.", default=9092, ge=1, le=65535)
    security: ListenerSecurity = classed(
        FieldClass.RESTART,
        "`tls`: brokers show a certificate of the cluster's CA for their address, and nobody reads along. Only beside "
        "`security.internal: tls`.",
        default="plaintext",
    )
    authentication: Authentication = classed(
        FieldClass.RESTART,
        "How clients prove who they are.",
        default_factory=Authentication,
        repr=False,  # digests of instances hold the text of their listeners: those of before say nothing of it
    )
