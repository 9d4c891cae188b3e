"""What was asked and what happened to the users of a cluster: part of its stream, see `facts`.

As topics (`topic_facts`) they live in the stream of their cluster, many to an event. No event holds a password, a salt,
a hash or a key: of a password its number is told, which no other password of the cluster ever has. That of a SCRAM user
follows from its first declaration: one more than the highest one before, in the order of the users.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from events.registry import fact


@dataclass(frozen=True, slots=True, order=True)
class AclBinding:
    """One right as Kafka keeps it: of one principal, to one resource, for one operation.

    Words are those of a document: `type` as `transactional-id`, `pattern` as `prefix`, `operation` as `Read`; `host` is
    `*`, or an address as Java prints it.
    """

    type: str
    name: str
    pattern: str
    operation: str
    host: str = "*"
    is_deny: bool = False
    """It forbids. No document says so; Kafka may have some of before."""


@dataclass(frozen=True, slots=True)
class UserDeclaration:
    """One user as it is to be. `acls` are all of its rights, sorted, one for each operation. `quotas` are by Kafka's
    names (`producer_byte_rate`); what is not there is to have no value of its own, or that of its `tier`, if it has
    one. `client_quotas`: the same by client id, "" of each that is not named."""

    name: str
    authentication: str
    acls: tuple[AclBinding, ...]
    quotas: Mapping[str, int]
    owner: str
    labels: Mapping[str, str]
    client_quotas: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    tier: str = ""
    deliver_to: str = ""
    """Sink its password is written to, "" where a person collects it."""


@fact("users.declared", schema=1)
@dataclass(frozen=True, slots=True)
class UsersDeclared:
    """These users are to be so. `source` is `api` or `git:BINDING`, `path` the file, `commit` "" outside git."""

    users: tuple[UserDeclaration, ...]
    source: str
    path: str
    commit: str


@fact("users.undeclared", schema=1)
@dataclass(frozen=True, slots=True)
class UsersUndeclared:
    """No file of their git source declares these any more. They stay as they are until a person deletes them."""

    names: tuple[str, ...]
    source: str
    commit: str


@fact("users.change_requested", schema=1)
@dataclass(frozen=True, slots=True)
class UsersChangeRequested:
    """These changes are to be made in Kafka.

    `passwords`: name -> number of the password it is to have. `grant` and `revoke`: name -> rights. `quotas`: name ->
    Kafka's name -> value, None takes it away. `delete`: credential, rights and quotas of these go.
    """

    change: str
    passwords: Mapping[str, int]
    grant: Mapping[str, tuple[AclBinding, ...]]
    revoke: Mapping[str, tuple[AclBinding, ...]]
    quotas: Mapping[str, Mapping[str, int | None]]
    delete: tuple[str, ...]
    reason: str


@fact("users.changed", schema=1)
@dataclass(frozen=True, slots=True)
class UsersChanged:
    """A change has ended: Kafka shows what was asked for, but for `left`. "" where nothing had to be changed.

    `passwords`: name -> number of the password it has in Kafka from here on. `kept`: SCRAM users that had a password
    before Kedge knew of them, which goes on. `settled` are as declared; `deleted` are gone.
    """

    change: str
    passwords: Mapping[str, int]
    kept: tuple[str, ...]
    settled: tuple[str, ...]
    deleted: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UserTrouble:
    """Why a user is not as declared. `reason` is a CamelCase word, "" when the trouble is over."""

    name: str
    reason: str
    message: str


@fact("users.troubled", schema=1)
@dataclass(frozen=True, slots=True)
class UsersTroubled:
    """Users that cannot be as declared, and those that can again. The others go on."""

    troubles: tuple[UserTrouble, ...]


@fact("user.password_requested", schema=1)
@dataclass(frozen=True, slots=True)
class UserPasswordRequested:
    """This SCRAM user is to have another password, as a person asks: it replaces the one in Kafka."""

    name: str
    number: int
    reason: str


@fact("user.password_collected", schema=1)
@dataclass(frozen=True, slots=True)
class UserPasswordCollected:
    """A person has taken this password away. Kedge has none of it any more."""

    name: str
    number: int


@fact("user.password_delivered", schema=1)
@dataclass(frozen=True, slots=True)
class UserPasswordDelivered:
    """This password was written to a sink of the settings. Kedge has none of it any more."""

    name: str
    number: int
    sink: str


@fact("users.undelivered", schema=1)
@dataclass(frozen=True, slots=True)
class UsersUndelivered:
    """Passwords that Kafka has, and their sink did not take. They are kept, and it is tried again."""

    troubles: tuple[UserTrouble, ...]


@fact("user.certificate_issued", schema=1)
@dataclass(frozen=True, slots=True)
class UserCertificateIssued:
    """The clients CA signed a key of this user. `serial` is hex; it is believed from `since` to `until`."""

    name: str
    serial: str
    since: datetime
    until: datetime


@fact("user.deletion_requested", schema=1)
@dataclass(frozen=True, slots=True)
class UserDeletionRequested:
    """The tombstone of a user, with its name typed out: its credential, rights and quotas are to go from Kafka."""

    name: str
    reason: str


@fact("user.released", schema=1)
@dataclass(frozen=True, slots=True)
class UserReleased:
    """The user stays in Kafka as it is; Kedge does not keep it any more."""

    name: str
    reason: str
