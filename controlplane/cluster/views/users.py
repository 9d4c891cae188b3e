"""The folded state of a cluster's users, as values. Made by `controlplane.cluster.folds.users`, changed by nothing
else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from events.user_facts import AclBinding, UserDeclaration, UserTrouble

SCRAM = "scram-sha-512"


@dataclass(frozen=True, slots=True)
class UserCertificateView:
    """The last certificate that was signed for a user."""

    serial: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A password that was written to a sink, and when that was recorded."""

    sink: str
    number: int
    at: datetime


@dataclass(frozen=True, slots=True)
class PasswordView:
    """Of a user's passwords the numbers, which no other password of the cluster ever has; 0 for none."""

    wanted: int = 0
    """The one it is to have: Kedge makes it."""
    applied: int = 0
    """The one Kafka has."""
    collected: int = 0
    """The last one that was given away: to a person, or to a sink."""
    is_foreign: bool = False
    """Kafka has one that was there before Kedge knew of the user."""
    delivery: DeliveryView | None = None
    """The last one that went to a sink."""
    undelivered: UserTrouble | None = None
    """Why its sink did not take the one that Kafka has."""

    @property
    def is_collectable(self) -> bool:
        """Whether Kafka has one that Kedge made and nobody has taken yet."""
        return self.applied > self.collected and not self.is_foreign


@dataclass(frozen=True, slots=True)
class DeclaredUser:
    """One declared user."""

    declared: UserDeclaration
    source: str
    path: str
    commit: str
    declared_at: datetime
    password: PasswordView = field(default_factory=PasswordView)
    certificate: UserCertificateView | None = None
    undeclared: bool = False
    """No file of its git source declares it any more."""
    tombstone: str = ""
    """Why its credential, rights and quotas are being deleted, "" when they are not."""

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def principal(self) -> str:
        """As Kafka knows it: of SCRAM users and of certificates alike."""
        return f"User:{self.name}"

    @property
    def is_scram(self) -> bool:
        return self.declared.authentication == SCRAM

    @property
    def needs_password(self) -> bool:
        """Whether Kafka is to be given one that it does not have yet."""
        return self.is_scram and not self.tombstone and self.password.wanted > self.password.applied

    @property
    def waits_for_sink(self) -> bool:
        """Whether Kafka has a password that is to be written to its sink."""
        wanted = self.is_scram and not self.tombstone and bool(self.declared.deliver_to)
        return wanted and self.password.is_collectable

    @property
    def undelivered(self) -> UserTrouble | None:
        """Why its sink did not take its password; None where nothing is known, and where none waits."""
        return self.password.undelivered if self.waits_for_sink else None

    @property
    def is_git(self) -> bool:
        return self.source.startswith("git:")


@dataclass(frozen=True, slots=True)
class UserChangeView:
    """The change of users in hand, as `UsersChangeRequested` says."""

    id: str
    passwords: Mapping[str, int]
    grant: Mapping[str, tuple[AclBinding, ...]]
    revoke: Mapping[str, tuple[AclBinding, ...]]
    quotas: Mapping[str, Mapping[str, int | None]]
    delete: tuple[str, ...]
    requested_at: datetime

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.passwords, *self.grant, *self.revoke, *self.quotas, *self.delete))


@dataclass(frozen=True, slots=True)
class UsersView:
    """The users that were declared for a cluster, by name."""

    by_name: Mapping[str, DeclaredUser] = field(default_factory=lambda: MappingProxyType({}))
    pending: frozenset[str] = frozenset()
    """Declared, and not yet seen to be so. What is in trouble is not: it is looked at again from time to time."""
    change: UserChangeView | None = None
    changes: int = 0
    """Changes begun, ever."""
    passwords: int = 0
    """The highest number a password was given, ever."""
    troubles: Mapping[str, UserTrouble] = field(default_factory=lambda: MappingProxyType({}))
    signed: Mapping[str, Mapping[str, datetime]] = field(default_factory=lambda: MappingProxyType({}))
    """By name of a user, past ones too, and by the CA (`authority_digits`): when the last of its certificates ends."""
    deleted: frozenset[str] = frozenset()
    """Names of deleted users that certificates were signed for: none of these is declared since."""

    @property
    def has_work(self) -> bool:
        return bool(self.pending or self.change)

    @property
    def all_troubles(self) -> Mapping[str, UserTrouble]:
        """What is not as declared in Kafka, and passwords that no sink took, by user: of two the first."""
        undelivered = {name: why for name, user in self.by_name.items() if (why := user.undelivered) is not None}
        return {**undelivered, **self.troubles}

    @property
    def passwords_on_their_way(self) -> frozenset[int]:
        """Numbers of those that Kafka does not have yet, or nobody has taken away."""
        known = [user.password for user in self.by_name.values() if user.is_scram and not user.tombstone]
        wanted = {p.wanted for p in known if p.wanted > p.applied}
        return frozenset(wanted | {p.applied for p in known if p.is_collectable})
