"""A cluster's VMs wait for the network they are to be made in; what stands goes on meanwhile."""

from controlplane.converger.verdict import Situation, Verdict, wait
from providers.errors import NotPermitted


def network_step(situation: Situation) -> Verdict | None:
    """Begins nothing that needs a VM while a network is missing; `kedge networks` says how far it is."""
    view, missing = situation.view, situation.seen.networks
    wants_vms = view.converged != view.generation or bool(view.to_replace) or any(i.lost for i in view.alive())
    if not missing or not wants_vms:
        return None
    sentence = "; ".join(missing)
    if f": {NotPermitted.__name__}: " in sentence:
        told = f"{sentence}. {NotPermitted.what_next}"
        return wait("PermissionMissing", told, next_command="kedge networks", patience_s=0)
    return wait("NetworkMissing", sentence, next_command="kedge networks", patience_s=60.0)
