"""What people ask for about users of a cluster's Kafka, beside their documents (`DeclareUsers`)."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.cluster.commands import Command, ReasonedCommand
from events.user_facts import UserTrouble


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteUser(ReasonedCommand):
    """The tombstone of a user. `confirm` must be its name; with `retain` it stays in Kafka, and Kedge lets go of it."""

    user: str
    confirm: str
    retain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportUsersGone(Command):
    """These users of the cluster are declared by no file of their git source any more."""

    users: tuple[str, ...]
    source: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RotatePassword(ReasonedCommand):
    """Another password for a SCRAM user: Kedge makes it, and it replaces the one in Kafka."""

    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePasswordCollected(Command):
    """The caller is given this password of a user, and Kedge keeps none of it."""

    user: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePasswordDelivered(Command):
    """This password of a user was written to a sink."""

    user: str
    number: int
    sink: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePasswordsUndelivered(Command):
    """Why passwords of users did not get to their sinks."""

    troubles: tuple[UserTrouble, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteUserCertificate(Command):
    """A certificate of a user was signed, for the caller. `serial` is hex."""

    user: str
    serial: str
    since: datetime
    until: datetime
