"""Where members of the quorum are spoken to."""

from controlplane.cluster.view import CONTROLLER_PORT as CONTROLLER_PORT, TLS_CONTROLLER_PORT, ClusterView
from controlplane.kafka.zookeeper.members import PLAIN_PORT, SECURE_PORT
from planner.rollout.security_steps import PLAIN


def quorum_port(view: ClusterView) -> int:
    """Where the members of the quorum are spoken to: KRaft controllers, or servers of the ensemble."""
    return member_port(view, view.quorum_service)


def member_port(view: ClusterView, service: str) -> int:
    """Where a controller, or a server of an ensemble, listens."""
    if service == "zookeeper":
        return SECURE_PORT if view.nodes_speak_tls else PLAIN_PORT
    return controller_port(view.security.config_of("controller"))


def controller_port(config: str) -> int:
    """Where controllers are spoken to by a service with that configuration (`planner.rollout.security_steps`)."""
    return CONTROLLER_PORT if config in (PLAIN, "C1") else TLS_CONTROLLER_PORT
