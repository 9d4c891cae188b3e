"""Where members of the quorum are spoken to."""

from controlplane.cluster.view import TLS_CONTROLLER_PORT, ClusterView

CLIENT_PORT = 2181


CONTROLLER_PORT = 9093


def quorum_port(view: ClusterView) -> int:
    """Where the members of the quorum are spoken to: KRaft controllers, or servers of the ensemble."""
    return member_port(view, view.quorum_service)


def member_port(view: ClusterView, service: str) -> int:
    """Where a controller, or a server of an ensemble, listens."""
    if service == "zookeeper":
        return CLIENT_PORT
    return TLS_CONTROLLER_PORT if view.nodes_speak_tls else CONTROLLER_PORT
