"""Where members of the quorum are spoken to."""

from controlplane.cluster.view import CONTROLLER_PORT as CONTROLLER_PORT, TLS_CONTROLLER_PORT, ClusterView
from controlplane.kafka.zookeeper.members import PLAIN_PORT, SECURE_PORT
from planner.rollout.security_steps import PLAIN


def quorum_port(view: ClusterView) -> int:
    """Where the members of the quorum are spoken to: KRaft controllers, or servers of the ensemble."""
    return member_port(view, view.quorum_service)


def member_port(view: ClusterView, service: str) -> int:
    """Where a controller is spoken to, or what the membership of an ensemble has of a server: the port in plaintext,
    until it leaves with Z2."""
    if service == "zookeeper":
        return PLAIN_PORT if view.security.config_of("zookeeper") in (PLAIN, "Z1") else SECURE_PORT
    return controller_port(view.security.config_of("controller"))


def ensemble_port(step: str) -> int:
    """Where servers of an ensemble are spoken to by a service with that configuration: each listens with TLS before the
    first one does that speaks it."""
    return PLAIN_PORT if step == PLAIN else SECURE_PORT


def controller_port(config: str) -> int:
    """Where controllers are spoken to by a service with that configuration (`planner.rollout.security_steps`)."""
    return CONTROLLER_PORT if config in (PLAIN, "C1") else TLS_CONTROLLER_PORT
