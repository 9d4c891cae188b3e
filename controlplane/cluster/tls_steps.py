"""What the last start of an instance was told of TLS between nodes."""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView


def tls_step_of(view: ClusterView, instance: InstanceView) -> str:
    """The step, as `planner.rollout.security_steps` names it: that of the cluster, unless its start has another."""
    own = instance.start.tls_step
    return view.security.config_of(instance.planned.service) if own is None else own
