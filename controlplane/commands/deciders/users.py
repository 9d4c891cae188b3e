"""What people and git may ask for users, and what is refused of it. Pure."""

from controlplane.cluster import commands, user_commands
from controlplane.cluster.spec_source import SourceRefusal
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.users import DeclaredUser
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.kept import (
    being_deleted,
    is_news,
    refuse_source,
    refuse_still_declared,
    refuse_unconfirmed,
)
from controlplane.commands.deciders.lookups import NOTHING, Lookups, refuse_errors, refuse_unagreed
from controlplane.commands.previews.users import refuse_moved_users
from controlplane.commands.user_declaration import user_declaration_of
from controlplane.runtime.quantities import moment
from events import user_facts as facts
from events.quantities import counted, named


def users_declared(view: ClusterView, command: commands.DeclareUsers, known: Lookups) -> CommandDecision:
    """Raises SpecRefused, CommandRefused, NeedsApproval, StoreUnavailable."""
    judged = known.judge.users(view, view.document, command.users)
    refuse_errors(judged)
    decision = user_news(view, command)
    refuse_moved_users(view, command)
    refuse_unagreed(command, judged.reasons)
    return decision


def user_news(view: ClusterView, command: commands.DeclareUsers) -> CommandDecision:
    """One fact for all of a file that say something new, admission and policies aside. Raises CommandRefused."""
    if view.document is None:
        raise commands.CommandRefused("not-declared", f"{view.name} is not declared yet", "Declare the cluster first.")
    for one in command.users:
        refusal = refuse_user(view, one.document.user, command.source)
        if refusal is not None:
            raise commands.CommandRefused(refusal.code, refusal.message, refusal.what_next)
    known = view.users.by_name.get
    wanted = [user_declaration_of(one.document) for one in command.users]
    fresh = [one for one in wanted if is_news(there := known(one.name), there and there.declared, one, command)]
    if not fresh:
        return CommandDecision(None, f"{counted(len(wanted), 'user')} of {view.name} declared like this already")
    fact = facts.UsersDeclared(tuple(fresh), command.source, command.path, command.commit)
    names = named([user.name for user in fresh])
    return CommandDecision(fact, f"{counted(len(fresh), 'user')} of {view.name} declared: {names}")


def user_deleted(view: ClusterView, command: user_commands.DeleteUser, _: Lookups = NOTHING) -> CommandDecision:
    """The tombstone, or with `retain` the end of Kedge's part in it. Raises CommandRefused."""
    user = _known(view, command.user)
    refuse_unconfirmed(user.name, command.confirm, f"kedge users delete {view.name} {user.name} --confirm {user.name}")
    if user.tombstone and not command.retain:
        return CommandDecision(None, f"{user.name} is being deleted already")
    refuse_still_declared(user)
    why = asked_by(command, command.reason)
    if command.retain:
        change = view.users.change
        if change is not None and user.name in change.names:
            message = f"a change of {user.name} in Kafka is in hand"
            raise commands.CommandRefused("change-in-hand", message, "Try again when it has ended, in some seconds.")
        return CommandDecision(
            facts.UserReleased(user.name, why), f"{user.name} stays in Kafka as it is; Kedge does not keep it any more"
        )
    fact = facts.UserDeletionRequested(user.name, why)
    what = f"{user.name} is deleted: its credential, rights and quotas are taken out of Kafka"
    if ends := view.users.signed.get(user.name):
        what += f". Its certificates count until {max(ends.values()).date()}: until then nobody else gets its name"
    return CommandDecision(fact, what)


def users_gone(view: ClusterView, command: user_commands.ReportUsersGone, _: Lookups = NOTHING) -> CommandDecision:
    """A git source does not declare these any more: told, and nothing else."""
    known = view.users.by_name
    ours = [known[n] for n in command.users if n in known and known[n].source == command.source]
    news = sorted(user.name for user in ours if not user.undeclared)
    if not news:
        return CommandDecision(None, "nothing new")
    fact = facts.UsersUndeclared(tuple(news), command.source, command.commit)
    return CommandDecision(fact, f"no file declares {', '.join(news[:3])} any more; they stay as they are")


def password_rotated(view: ClusterView, command: user_commands.RotatePassword, _: Lookups = NOTHING) -> CommandDecision:
    """Another one, which replaces the one in Kafka. Raises CommandRefused."""
    user = scram_user(view, command.user)
    if user.needs_password:
        return CommandDecision(None, f"a new password of {user.name} is on its way to Kafka already")
    fact = facts.UserPasswordRequested(user.name, view.users.passwords + 1, asked_by(command, command.reason))
    return CommandDecision(fact, f"{user.name} gets another password; the one it has ends when Kafka has the new one")


def password_collected(
    view: ClusterView, command: user_commands.NotePasswordCollected, _: Lookups = NOTHING
) -> CommandDecision:
    """It is given away once. Raises CommandRefused."""
    user = collectable(view, command.user)
    if command.number != user.password.applied:
        message = f"{user.name} has got another password meanwhile"
        raise commands.CommandRefused("password-replaced", message, "Ask again: that one can be collected.")
    return CommandDecision(facts.UserPasswordCollected(user.name, command.number), f"the password of {user.name}")


def password_delivered(
    view: ClusterView, command: user_commands.NotePasswordDelivered, _: Lookups = NOTHING
) -> CommandDecision:
    """As it is collected. Raises CommandRefused."""
    user = collectable(view, command.user)
    if command.number != user.password.applied:
        message = f"{user.name} has got another password meanwhile"
        raise commands.CommandRefused("password-replaced", message, "That one is delivered next.")
    fact = facts.UserPasswordDelivered(user.name, command.number, command.sink)
    return CommandDecision(fact, f"the password of {user.name} is in sink {command.sink}")


def passwords_undelivered(
    view: ClusterView, command: user_commands.NotePasswordsUndelivered, _: Lookups = NOTHING
) -> CommandDecision:
    """Of users whose password waits still, what is new of each."""
    known = view.users.by_name
    still = [t for t in command.troubles if t.name in known and known[t.name].waits_for_sink]
    news = tuple(t for t in still if known[t.name].undelivered != t)
    return CommandDecision(facts.UsersUndelivered(news) if news else None, f"{counted(len(news), 'password')} waits")


def certificate_noted(
    view: ClusterView, command: user_commands.NoteUserCertificate, _: Lookups = NOTHING
) -> CommandDecision:
    """It is recorded before anybody has it. Raises CommandRefused."""
    user = tls_user(view, command.user)
    fact = facts.UserCertificateIssued(user.name, command.serial, command.since, command.until)
    return CommandDecision(fact, f"a certificate of {user.name} was signed")


def collectable(view: ClusterView, name: str) -> DeclaredUser:
    """The user, whose password Kafka has and nobody took away yet. Raises CommandRefused."""
    user = scram_user(view, name)
    password, rotate = user.password, f"For another one: kedge users rotate {view.name} {name}"
    if password.is_collectable:
        return user
    if user.needs_password:
        trouble = view.users.troubles.get(name)
        why = f": {trouble.reason}: {trouble.message}" if trouble is not None else ""
        message = f"Kafka of {view.name} does not have the password of {name} yet{why}"
        raise commands.CommandRefused("password-not-applied", message, "Try again once it has, in some seconds.")
    if password.is_foreign:
        message = f"{name} had a password before Kedge knew of it, and Kafka tells none"
        raise commands.CommandRefused("password-unknown", message, rotate)
    gone = password.delivery
    if gone is not None and gone.number == password.applied:
        message = f"the password of {name} is in sink `{gone.sink}` since {moment(gone.at)}; Kedge keeps none of it"
        raise commands.CommandRefused("password-delivered", message, rotate)
    message = f"the password of {name} was collected before; Kedge keeps none of it"
    raise commands.CommandRefused("password-collected", message, rotate)


def scram_user(view: ClusterView, name: str) -> DeclaredUser:
    """Raises CommandRefused for one that proves itself another way, or is going."""
    user = _living(view, name)
    if not user.is_scram:
        message = f"{name} proves itself by `{user.declared.authentication}`: it has no password of Kedge's"
        raise commands.CommandRefused("no-password", message, f"kedge users get {view.name} {name}")
    return user


def tls_user(view: ClusterView, name: str) -> DeclaredUser:
    """Raises CommandRefused for one that proves itself another way, or is going."""
    user = _living(view, name)
    if user.declared.authentication != "tls":
        message = f"{name} proves itself by `{user.declared.authentication}`: it has no certificate of Kedge's"
        raise commands.CommandRefused("no-certificate", message, f"kedge users get {view.name} {name}")
    return user


def refuse_user(view: ClusterView, name: str, source: str) -> SourceRefusal | None:
    """Why `source` may not declare this user: it is going, or comes from elsewhere. None where it may."""
    let_go = f"kedge users delete {view.name} {name} --confirm {name} --retain"
    return refuse_source("user", view.users.by_name.get(name), source, let_go=let_go)


def _living(view: ClusterView, name: str) -> DeclaredUser:
    user = _known(view, name)
    if user.tombstone:
        raise being_deleted("user", name)
    return user


def _known(view: ClusterView, name: str) -> DeclaredUser:
    user = view.users.by_name.get(name)
    if user is None:
        message = f"{view.name} has no user {name!r} that Kedge keeps"
        raise commands.CommandRefused("user-not-kept", message, f"kedge users list {view.name}")
    return user
