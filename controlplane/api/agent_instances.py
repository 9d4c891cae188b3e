"""Whether an instance is over for its agent."""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView


def is_over(view: ClusterView, instance: InstanceView) -> bool:
    """Its agent is to stop the services and stay down."""
    return instance.phase is Phase.RETIRED or (view.deleted and not is_let_go(view))


def is_revoked(view: ClusterView | None, key: str) -> bool:
    """Somebody else may have its VM: whoever speaks for it is not recognised, and nothing is signed for it. By the
    records alone, which each process follows: neither a credential's row nor one that is remembered has a say."""
    return view is not None and key in view.vms.revoked


def is_let_go(view: ClusterView) -> bool:
    """Deleted with the policy to retain: its VMs stay and go on with what they last heard."""
    return view.deleted and view.document is not None and view.document.spec.deletion_policy == "retain"
