"""Users of clusters as the API and the pages tell them. Pure."""

from typing import Literal, NamedTuple

from controlplane.api.schemas import kafka_users as user_api
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.users import DeclaredUser

DECLARED, CHANGING, IN_SYNC, DEGRADED, DELETING = "Declared", "Changing", "InSync", "Degraded", "Deleting"
PasswordWord = Literal["", "pending", "collectable", "collected", "delivered", "foreign"]


class UserState(NamedTuple):
    """The word for one user, and why, "" where there is nothing to say."""

    state: str
    reason: str
    message: str


def users_out(view: ClusterView, *, part: str = "", after: str = "", most: int | None = None) -> user_api.KafkaUsersOut:
    """The users with `part` in their name, by name. Of these a page: at most so many, after that name."""
    names = sorted(name for name in view.users.by_name if part in name)
    page = [name for name in names if name > after][:most]
    users = [user_out(view, view.users.by_name[name]) for name in page]
    return user_api.KafkaUsersOut(cluster=view.name, users=users, total=len(names))


def user_out(view: ClusterView, user: DeclaredUser) -> user_api.KafkaUserOut:
    state, reason, message = state_of(view, user)
    declared, certificate, delivery = user.declared, user.certificate, user.password.delivery
    return user_api.KafkaUserOut(
        cluster=view.name,
        name=user.name,
        principal=user.principal,
        state=state,
        reason=reason,
        message=message,
        authentication=declared.authentication,
        password=password_word(user),
        deliver_to=declared.deliver_to,
        delivered=None if delivery is None else user_api.PasswordDeliveryOut.like(delivery),
        certificate=None if certificate is None else user_api.UserCertificateOut.like(certificate),
        acls=[user_api.UserAclOut.like(acl) for acl in declared.acls],
        quotas=dict(declared.quotas),
        client_quotas={client: dict(values) for client, values in declared.client_quotas.items()},
        tier=declared.tier,
        owner=declared.owner,
        labels=dict(declared.labels),
        source=user.source,
        path=user.path,
        commit=user.commit,
        declared_at=user.declared_at,
        undeclared=user.undeclared,
    )


def state_of(view: ClusterView, user: DeclaredUser) -> UserState:
    """What is to be said of it: its end before its trouble, trouble before work."""
    users, name = view.users, user.name
    trouble = users.troubles.get(name) or user.undelivered
    if user.tombstone:
        return UserState(DELETING, trouble.reason if trouble else "", trouble.message if trouble else user.tombstone)
    if trouble is not None:
        return UserState(DEGRADED, trouble.reason, trouble.message)
    if users.change is not None and name in users.change.names:
        return UserState(CHANGING, "", "what differs is being changed in Kafka")
    if name in users.pending:
        return UserState(DECLARED, "", "not yet seen to be so in Kafka")
    if user.undeclared:
        return UserState(IN_SYNC, "Undeclared", f"no file of `{user.source}` declares it any more; it stays as it is")
    return UserState(IN_SYNC, "", "")


def password_word(user: DeclaredUser) -> PasswordWord:
    if not user.is_scram:
        return ""
    if user.needs_password:
        return "pending"
    if user.password.is_foreign:
        return "foreign"
    if user.password.is_collectable:
        return "collectable"
    gone = user.password.delivery
    return "delivered" if gone is not None and gone.number == user.password.applied else "collected"
