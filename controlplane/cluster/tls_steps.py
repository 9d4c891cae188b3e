"""What the last start of an instance was told of TLS between nodes, and what of it is being changed."""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView


def tls_step_of(view: ClusterView, instance: InstanceView) -> str:
    """The step, as `planner.rollout.security_steps` names it: that of the cluster, unless its start has another."""
    own = instance.start.tls_step
    return view.security.config_of(instance.planned.service) if own is None else own


def security_in_change(view: ClusterView) -> str:
    """What else a cluster is doing that starts services anew with another security; "" where nothing."""
    if not view.security.is_over:
        return "it is on its way between plaintext and TLS"
    return "a CA is being replaced" if view.vms.authority_change is not None else ""
