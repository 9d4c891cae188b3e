"""Who may do everything in a cluster, as its nodes were told with their last start."""

from controlplane.cluster.node_names import security_to_have
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.storage.certificates.principals import principals_of
from events.spec.client_security import ClientSecurity


def client_security_of(view: ClusterView, instance: InstanceView) -> ClientSecurity | None:
    """What an instance was told of clients with its last start; None where the spec has nodes speak plaintext. What was
    declared since is another start."""
    if view.document is None:
        return None
    return instance.start.security or security_to_have(view, view.document, instance.planned.service)


def super_users_of(view: ClusterView, instance: InstanceView, security: ClientSecurity) -> tuple[str, ...]:
    """Their principals: nodes, users of the spec, who does not sign in where that is so; and Kedge's server, until a
    start after it got rights of its own."""
    users = tuple(f"User:{name}" for name in security.super_users)
    anonymous = ("User:ANONYMOUS",) if security.anonymous else ()
    nodes = principals_of(view.uid).super_users(least_rights=instance.start.least_rights, names=security.names)
    return (*nodes, *users, *anonymous)


def super_users_anywhere(view: ClusterView) -> frozenset[str]:
    """Those of any broker: while some wait for their restart they do not all say the same."""
    told = ((broker, client_security_of(view, broker)) for broker in view.brokers())
    return frozenset(user for broker, one in told if one is not None for user in super_users_of(view, broker, one))
