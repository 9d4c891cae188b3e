"""What of a cluster is encrypted, and who has to prove who they are."""

from typing import ClassVar, Literal

from events.spec import scalars
from events.spec.fields import FieldClass, Part, classed

InternalSecurity = Literal["plaintext", "tls"]
ListenerSecurity = Literal["plaintext", "tls"]
AuthenticationType = Literal["none", "tls", "scram-sha-512", "oauth"]
Anonymous = Literal["full", "refuse"]

DEFAULT_REAUTHENTICATION_S = 3600
DEFAULT_CLOCK_SKEW_S = 30
DEFAULT_CLAIM = "sub"


class OwnAuthority(Part):
    """Which certificate authority signs, of two that each cluster has."""

    own: scalars.DnsLabel | None = classed(
        FieldClass.BEHAVIOURAL,
        "Name of a CA of your own, or an intermediate of it: the server's settings say in which directory on its "
        "machine certificate and key are. Absent: Kedge makes one. A living cluster goes from one to the other by "
        "`kedge replace-ca` (docs/kafka-certificates.md).",
        default=None,
    )


class Security(Part):
    """What nodes speak to one another, and Kedge to them."""

    internal: InternalSecurity = classed(
        FieldClass.RESTART,
        "`tls`: brokers, controllers or ZooKeeper servers, and Kedge prove themselves to one another by certificates "
        "of the cluster's own CA, and nobody else reads along (docs/kafka-security.md). A living cluster goes there "
        "in six rolling restarts; there is no way back once they are over. Unsaid it is `tls` "
        "for a new cluster with `preset: production` in mode `kraft`; one that lives keeps what it has.",
        default="plaintext",
    )
    cluster_ca: OwnAuthority = classed(
        FieldClass.BEHAVIOURAL,
        "Who signs nodes, and Kedge's own connections.",
        default_factory=OwnAuthority,
        repr=False,
    )
    clients_ca: OwnAuthority = classed(
        FieldClass.BEHAVIOURAL, "Who signs users.", default_factory=OwnAuthority, repr=False
    )


class Authentication(Part):
    """How clients prove who they are."""

    type: AuthenticationType = classed(
        FieldClass.RESTART,
        "`none`: whoever reaches the listener is served. `tls`: by a certificate of the cluster's clients CA, whose "
        "common name is the user. `scram-sha-512`: by name and password. `oauth`: by a token (JWT) that an OpenID "
        "provider has signed, which says who they are (OAUTHBEARER).",
        default="none",
    )
    reauthenticate: scalars.Seconds = classed(
        FieldClass.RESTART,
        "With `scram-sha-512`: how long a connection goes on before the password is asked for again, so how long one "
        "with a changed password, or of a user that is gone, lasts at most. With `oauth` the same of tokens, and none "
        "lasts longer than its token. Seconds, or as in `1h`.",
        default=DEFAULT_REAUTHENTICATION_S,
        ge=30,
        le=86400,
    )
    issuer: scalars.WebUrl | None = classed(
        FieldClass.RESTART,
        "With `oauth`: who has to have issued a token, the very text of its claim `iss`.",
        default=None,
    )
    jwks: scalars.WebUrl | None = classed(
        FieldClass.RESTART,
        "With `oauth`: where the provider tells the keys it signs with (`jwks_uri` of its discovery). The agents fetch "
        "them each minute; brokers go on with the last ones while it is away.",
        default=None,
    )
    audience: scalars.Audience | None = classed(
        FieldClass.RESTART,
        "With `oauth`: whom a token has to be for, in its claim `aud`. Without it a token that was made for any other "
        "service of the provider would open this one.",
        default=None,
    )
    principal_claim: scalars.ClaimName = classed(
        FieldClass.RESTART,
        "With `oauth`: the claim that names the user, as in `azp` or `client_id`; it has to be one that nobody chooses "
        "for themselves.",
        default=DEFAULT_CLAIM,
    )
    ca: scalars.CaCertificates | None = classed(
        FieldClass.RESTART,
        "With `oauth`: certificates (PEM) by which the provider is recognised. Without it by the CAs of the system.",
        default=None,
    )
    clock_skew: scalars.Seconds = classed(
        FieldClass.RESTART,
        "With `oauth`: by how much the clocks of provider and brokers may differ. A token counts for so long after its "
        "end.",
        default=DEFAULT_CLOCK_SKEW_S,
        le=300,
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
    clients: tuple[scalars.NetworkText, ...] | None = classed(
        FieldClass.BEHAVIOURAL,
        "Networks its clients come from, by CIDR, instead of those of `access`: who is let in at its port. Empty: only "
        "who is inside the cluster's network. Firewalls change for it, and nothing is restarted.",
        default=None,
        max_length=50,
        repr=False,  # no process is started with it
    )

    @property
    def asks(self) -> bool:
        """Whether clients have to prove who they are."""
        return self.authentication.type != "none"

    @property
    def as_started(self) -> "Listener":
        """What a broker knows of it. Whom firewalls let in at its port is no matter of a process."""
        return self if self.clients is None else self.model_copy(update={"clients": None})


class Authorization(Part):
    """Who may do what, where nodes speak TLS: whom no rule (ACL) lets in is refused."""

    type: Literal["simple"] = classed(
        FieldClass.RESTART, "`simple`: Kafka's own rules (ACLs), deny by default.", default="simple"
    )
    super_users: tuple[scalars.OneLine, ...] = classed(
        FieldClass.RESTART,
        "Names of users who may do everything, whatever the rules say. Nodes and Kedge's server are beside them.",
        default=(),
        max_length=20,
    )
    anonymous: Anonymous | None = classed(
        FieldClass.RESTART,
        "What clients may do at listeners that ask nobody who they are: `full` is everything, `refuse` what rules for "
        "`User:ANONYMOUS` let them. To be said where there is such a listener; without `authorization` it is `full`.",
        default=None,
    )
