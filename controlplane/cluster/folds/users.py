"""The fold of what happens to users: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.believed_authorities import authority_digits, believed
from controlplane.cluster.folds import kept
from controlplane.cluster.folds.kept import frozen, without
from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.users import (
    SCRAM,
    DeclaredUser,
    DeliveryView,
    PasswordView,
    UserCertificateView,
    UserChangeView,
    UsersView,
)
from events import user_facts as facts
from events.spec.model import KafkaClusterDocument


def declared(view: ClusterView, e: facts.UsersDeclared, at: datetime) -> ClusterView:
    """A tombstoned user is declared anew only once it is gone. Trouble is judged anew. A SCRAM user is to have a
    password from its first declaration on."""
    users, by_name, pending = view.users, dict(view.users.by_name), set(view.users.pending)
    passwords = users.passwords
    for one in e.users:
        before = by_name.get(one.name)
        if before is not None and before.tombstone:
            raise ValueError(f"the user {one.name} is being deleted")
        password = replace(before.password, undelivered=None) if before is not None else PasswordView()
        if one.authentication == SCRAM and not password.wanted:
            passwords += 1
            password = PasswordView(wanted=passwords)
        certificate = before.certificate if before is not None else None
        by_name[one.name] = DeclaredUser(one, e.source, e.path, e.commit, at, password, certificate)
        if before is None or not _asks_the_same(before.declared, one) or one.name in users.troubles:
            pending.add(one.name)
    names = frozenset(one.name for one in e.users)
    return _with(
        view,
        replace(
            users,
            by_name=by_name,
            pending=frozenset(pending),
            troubles=without(users.troubles, names),
            passwords=passwords,
            deleted=users.deleted - names,
        ),
    )


def tiers_declared(view: ClusterView, document: KafkaClusterDocument) -> ClusterView:
    """Users of a tier whose quotas another spec changes are to have those: `view` is before it."""
    before = view.document.spec.quotas.tiers if view.document is not None else {}
    after = document.spec.quotas.tiers
    changed = {tier for tier in {*before, *after} if before.get(tier) != after.get(tier)}
    waiting = {user.name for user in view.users.by_name.values() if user.declared.tier in changed}
    return _with(view, replace(view.users, pending=view.users.pending | waiting)) if waiting else view


def undeclared(view: ClusterView, e: facts.UsersUndeclared, at: datetime) -> ClusterView:
    """They stay as they are."""
    gone = {name: replace(_known(view, name), undeclared=True) for name in e.names}
    return _with(view, replace(view.users, by_name={**view.users.by_name, **gone}))


def change_requested(view: ClusterView, e: facts.UsersChangeRequested, at: datetime) -> ClusterView:
    """One change at a time."""
    users = view.users
    if users.change is not None:
        raise ValueError(f"the change {users.change.id} of users is still in hand")
    change = UserChangeView(e.change, e.passwords, e.grant, e.revoke, e.quotas, e.delete, at)
    for name in change.names:
        _known(view, name)
    return _with(view, replace(users, change=change, changes=users.changes + 1))


def changed(view: ClusterView, e: facts.UsersChanged, at: datetime) -> ClusterView:
    """What was deleted is forgotten, and its name is free. A password that was there before is nobody's to give out."""
    users = view.users
    if e.change and (users.change is None or users.change.id != e.change):
        raise ValueError(f"the change {e.change} of users is not the one in hand")
    by_name = dict(users.by_name)
    for name, number in e.passwords.items():
        user = _known(view, name)
        by_name[name] = replace(user, password=replace(user.password, applied=number, is_foreign=False))
    for name in e.kept:
        user = _known(view, name)
        password = replace(user.password, applied=user.password.wanted, is_foreign=True)
        by_name[name] = replace(user, password=password)
    for name in e.settled:
        _known(view, name)
    over = frozenset((*e.settled, *e.deleted))
    return _with(
        view,
        replace(
            users,
            by_name=without(by_name, e.deleted),
            pending=users.pending - over,
            change=None if e.change else users.change,
            troubles=without(users.troubles, over),
            deleted=users.deleted | (users.signed.keys() & set(e.deleted)),
        ),
    )


def troubled(view: ClusterView, e: facts.UsersTroubled, at: datetime) -> ClusterView:
    """Trouble takes a user out of what is waited for; the end of it puts it back."""
    users = view.users
    troubles, pending = kept.troubled(users.troubles, users.pending, e.troubles)
    return _with(view, replace(users, troubles=troubles, pending=pending & users.by_name.keys()))


def password_requested(view: ClusterView, e: facts.UserPasswordRequested, at: datetime) -> ClusterView:
    """It replaces the one in Kafka, once it is there."""
    if e.number <= view.users.passwords:
        raise ValueError(f"the password {e.number} of {e.name} is no new one")
    user = _known(view, e.name)
    users = _having(view.users, replace(user, password=replace(user.password, wanted=e.number)))
    return _with(view, replace(users, passwords=e.number, pending=users.pending | {e.name}))


def password_collected(view: ClusterView, e: facts.UserPasswordCollected, at: datetime) -> ClusterView:
    """Kedge has none of it any more."""
    user = _known(view, e.name)
    return _with(view, _having(view.users, replace(user, password=replace(user.password, collected=e.number))))


def password_delivered(view: ClusterView, e: facts.UserPasswordDelivered, at: datetime) -> ClusterView:
    """As collected."""
    user, delivery = _known(view, e.name), DeliveryView(e.sink, e.number, at)
    password = replace(user.password, collected=e.number, delivery=delivery, undelivered=None)
    return _with(view, _having(view.users, replace(user, password=password)))


def undelivered(view: ClusterView, e: facts.UsersUndelivered, at: datetime) -> ClusterView:
    """Kept with the password, beside what is wrong with the user in Kafka."""
    users = {t.name: _known(view, t.name) for t in e.troubles}
    told = {t.name: replace(users[t.name].password, undelivered=t) for t in e.troubles}
    by_name = {**view.users.by_name, **{name: replace(users[name], password=told[name]) for name in told}}
    return _with(view, replace(view.users, by_name=by_name))


def certificate_issued(view: ClusterView, e: facts.UserCertificateIssued, at: datetime) -> ClusterView:
    """The last one is shown. The end of all is remembered for as long as one counts, whatever becomes of the user."""
    certificate, users = UserCertificateView(e.serial, e.since, e.until), view.users
    clients = believed(view, "clients")
    authority = authority_digits(clients.signer) if clients is not None else ""
    signed = {name: {ca: end for ca, end in ends.items() if end > at} for name, ends in users.signed.items()}
    its = signed.setdefault(e.name, {})
    its[authority] = max(e.until, its.get(authority, e.until))
    still = {name: frozen(ends) for name, ends in signed.items() if ends}
    users = replace(users, signed=frozen(still), deleted=users.deleted & still.keys())
    return _with(view, _having(users, replace(_known(view, e.name), certificate=certificate)))


def deletion_requested(view: ClusterView, e: facts.UserDeletionRequested, at: datetime) -> ClusterView:
    """The tombstone."""
    users = _having(view.users, replace(_known(view, e.name), tombstone=e.reason or "asked for"))
    troubles = without(users.troubles, (e.name,))
    return _with(view, replace(users, pending=users.pending | {e.name}, troubles=troubles))


def released(view: ClusterView, e: facts.UserReleased, at: datetime) -> ClusterView:
    """Forgotten; it stays in Kafka. Of one that was being deleted nobody knows what does."""
    was_going, users = bool(_known(view, e.name).tombstone), kept.forgotten(view.users, e.name)
    gone = users.signed.keys() & {e.name} if was_going else frozenset()
    return _with(view, replace(users, deleted=users.deleted | gone))


def forgiven(view: ClusterView) -> ClusterView:
    """A person lets what was in trouble be tried again at once."""
    return _with(view, kept.tried_again(view.users))


def _asks_the_same(one: facts.UserDeclaration, other: facts.UserDeclaration) -> bool:
    """Of Kafka; the rest is not its concern."""
    return replace(one, owner=other.owner, labels=other.labels, deliver_to=other.deliver_to) == other


def _known(view: ClusterView, name: str) -> DeclaredUser:
    return kept.known("user", view.users.by_name, name)


def _having(users: UsersView, user: DeclaredUser) -> UsersView:
    return replace(users, by_name={**users.by_name, user.name: user})


def _with(view: ClusterView, users: UsersView) -> ClusterView:
    fixed = replace(users, by_name=frozen(users.by_name), troubles=frozen(users.troubles))
    return replace(view, users=fixed)


RULES: Rules = {
    facts.UsersDeclared: declared,
    facts.UsersUndeclared: undeclared,
    facts.UsersChangeRequested: change_requested,
    facts.UsersChanged: changed,
    facts.UsersTroubled: troubled,
    facts.UserPasswordRequested: password_requested,
    facts.UserPasswordCollected: password_collected,
    facts.UserPasswordDelivered: password_delivered,
    facts.UsersUndelivered: undelivered,
    facts.UserCertificateIssued: certificate_issued,
    facts.UserDeletionRequested: deletion_requested,
    facts.UserReleased: released,
}
