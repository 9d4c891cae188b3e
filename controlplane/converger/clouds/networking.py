"""A cluster's VMs wait for the network they are to be made in; what stands goes on meanwhile."""

from controlplane.converger.verdict import Situation, Verdict, wait


def network_step(situation: Situation) -> Verdict | None:
    """Begins nothing that needs a VM while a network is missing; `kedge networks` says how far it is."""
    view, missing = situation.view, situation.seen.networks
    wants_vms = view.converged != view.generation or bool(view.to_replace) or any(i.lost for i in view.alive())
    if not missing or not wants_vms:
        return None
    return wait("NetworkMissing", "; ".join(missing), next_command="kedge networks", patience_s=60.0)
