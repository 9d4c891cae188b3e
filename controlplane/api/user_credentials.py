"""Passwords given away once, and certificates signed, for users of clusters. Each is an event before anybody has it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from pydantic import SecretStr

from controlplane.cluster.believed_authorities import believed
from controlplane.cluster.commands import Command, CommandHead, CommandRefused
from controlplane.cluster.user_commands import NotePasswordCollected, NoteUserCertificate
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.users import collectable, tls_user
from controlplane.commands.handler import CommandOutcome
from controlplane.storage.certificates.cluster_authorities import ClusterAuthorityStore
from controlplane.storage.certificates.cluster_authority import IssuedCertificate
from controlplane.storage.user_passwords import PasswordNotAtHand, PendingPasswords
from events.clock import Clock


class RecordedCommands(Protocol):
    """What is recorded, and of what: `Commands` is one."""

    def handle(self, command: Command) -> CommandOutcome: ...

    def current(self, name: str) -> ClusterView: ...


@dataclass(frozen=True, slots=True)
class SignedForUser:
    """A certificate of a user, and by which CA clients know brokers (PEM)."""

    issued: IssuedCertificate
    cluster_ca: str


@dataclass(frozen=True, slots=True)
class UserCredentials:
    """Thread-safe."""

    passwords: PendingPasswords
    authorities: ClusterAuthorityStore
    clock: Clock

    def collect(self, commands: RecordedCommands, head: CommandHead, user: str) -> SecretStr:
        """The password of a user, for the last time. Raises CommandRefused, Forbidden, StoreUnavailable."""
        view = commands.current(head["name"])
        number = collectable(view, user).password.applied
        lost = CommandRefused(
            "password-lost",
            f"the password of {user} is not in the database any more: it was given away, or a backup lacks it",
            f"Have another one made: kedge users rotate {view.name} {user}",
        )
        try:
            if not self.passwords.look(view.uid, number):
                raise lost
            commands.handle(NotePasswordCollected(**head, user=user, number=number))
            password = self.passwords.take(view.uid, number)
        except PasswordNotAtHand as sealed:
            raise CommandRefused(lost.code, str(sealed), lost.what_next) from None
        if password is None:
            raise lost
        users = commands.current(view.name).users
        self.passwords.keep_only(view.uid, users.passwords_on_their_way, up_to=users.passwords)
        return password

    def certify(
        self, commands: RecordedCommands, head: CommandHead, user: str, request: str, *, days: int
    ) -> SignedForUser:
        """A certificate of the key in that request, called as the user is whatever the request says. Raises
        CommandRefused, RequestRefused, AuthorityLost, Forbidden, StoreUnavailable."""
        view = commands.current(head["name"])
        tls_user(view, user)
        nodes, users = believed(view, "cluster"), believed(view, "clients")
        if nodes is None or users is None:
            raise _no_authority(view)
        # While one is replaced there are two of its kind, and users need one of that which signs.
        authorities = self.authorities.of(view.uid, cluster=nodes.signer, clients=users.signer)
        if authorities is None:
            raise _no_authority(view)
        issued = authorities.certify_user(request, user, life=timedelta(days=days), now=self.clock())
        commands.handle(
            NoteUserCertificate(**head, user=user, serial=issued.serial, since=issued.since, until=issued.until)
        )
        return SignedForUser(issued, nodes.bundle)


def _no_authority(view: ClusterView) -> CommandRefused:
    if not view.nodes_speak_tls:
        message = f"{view.name} has no clients CA: its nodes speak plaintext"
        return CommandRefused("no-authority", message, "Only clusters with `security: {internal: tls}` have one.")
    message = f"the clients CA of {view.name} is not there: it is made when the cluster is founded"
    return CommandRefused("no-authority", message, "Try again when its first node was started.")
