"""Users of clusters: who they are, what they may do, and the credentials that are given away once."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from controlplane.api.schemas.messages import Message


class UserAclOut(Message):
    """One right. `host` is `*`, or an address as Kafka compares it."""

    type: str
    name: str
    pattern: str
    operation: str
    host: str


class UserCertificateOut(Message):
    """The last certificate that was signed for the user. `serial` is hex."""

    serial: str
    since: datetime
    until: datetime


class PasswordDeliveryOut(Message):
    """A password that was written to a sink of the settings, and when."""

    sink: str
    number: int
    at: datetime


class KafkaUserOut(Message):
    """A declared user. `state` is Declared (not yet seen to be so in Kafka), Changing, InSync, Degraded or Deleting;
    `reason` and `message` say why, "" where there is nothing to say.

    `password`: `pending` on its way to Kafka, `collectable` there and taken by nobody, `collected` taken, `delivered`
    written to a sink, `foreign` from before Kedge knew of the user, "" for a user without one.
    """

    cluster: str
    name: str
    principal: str
    state: str
    reason: str
    message: str
    authentication: str
    password: Literal["", "pending", "collectable", "collected", "delivered", "foreign"]
    deliver_to: str = Field(default="", description="sink its password is written to")
    delivered: PasswordDeliveryOut | None = Field(default=None, description="the last one that went to a sink")
    certificate: UserCertificateOut | None
    acls: list[UserAclOut]
    quotas: dict[str, int]
    client_quotas: dict[str, dict[str, int]] = Field(
        default_factory=dict, description='by client id; "": of each client id of it that has none of its own'
    )
    tier: str = Field(default="", description="whose quotas it has where it says none itself")
    owner: str
    labels: dict[str, str]
    source: str
    path: str
    commit: str
    declared_at: datetime
    undeclared: bool = Field(description="no file of its git source declares it any more")


class KafkaUsersOut(Message):
    """The declared users of a cluster by name. `total` counts all that match, of which `users` may be a page."""

    cluster: str
    users: list[KafkaUserOut]
    total: int


class DeleteKafkaUserIn(Message):
    """`confirm` is the name, typed out. With `retain` it stays in Kafka as it is, and Kedge lets go of it."""

    confirm: str
    retain: bool = False
    reason: str = ""


class RotatePasswordIn(Message):
    reason: str = ""


class CollectPasswordIn(Message):
    """Nothing is to be said of it."""


class KafkaPasswordOut(Message):
    """The password, in this answer alone: Kedge keeps none of it."""

    cluster: str
    user: str
    mechanism: Literal["SCRAM-SHA-512"]
    password: str = Field(repr=False)


class CertificateIn(Message):
    """`request` is a certificate signing request (PEM); of it the key alone counts. `days`: how long it is believed."""

    request: str = Field(max_length=10_000)
    days: int = Field(default=365, ge=1, le=730)


class CertificateOut(Message):
    """What was signed (PEM), and the CA of brokers, by which clients know them. `serial` is hex."""

    cluster: str
    user: str
    certificate: str
    cluster_ca: str
    serial: str
    since: datetime
    until: datetime
