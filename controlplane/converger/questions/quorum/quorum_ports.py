"""Where members of the quorum are spoken to."""

from controlplane.cluster.view import ClusterView

CLIENT_PORT = 2181


CONTROLLER_PORT = 9093


def quorum_port(view: ClusterView) -> int:
    """Where the members of the quorum are spoken to: KRaft controllers, or servers of the ensemble."""
    return CLIENT_PORT if view.in_zookeeper_mode else CONTROLLER_PORT
