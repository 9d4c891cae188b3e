"""A cluster's VMs wait for the network they are to be made in; what stands goes on meanwhile."""

from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.situation import Situation
from providers.errors import NotPermitted


def network_step(situation: Situation) -> Decision | None:
    """Begins nothing that needs a VM while a network is missing; `kedge networks` says how far it is."""
    view, missing = situation.view, situation.seen.networks
    wants_vms = (
        view.roll.converged != view.generation or bool(view.requests.to_replace) or any(i.lost for i in view.alive())
    )
    if not missing or not wants_vms:
        return None
    sentence = "; ".join(network.sentence for network in missing)
    lacking = next((network for network in missing if network.lacks_permission), None)
    if lacking is None:
        return wait(WaitReason.NETWORK_MISSING, sentence, next_command=missing[0].next_command, patience_s=60.0)
    message = f"{sentence}. {NotPermitted.what_next}{_next_try(situation, lacking)}"
    return wait(WaitReason.PERMISSION_MISSING, message, next_command=lacking.next_command, patience_s=0)


def _next_try(situation: Situation, network: NetworkAwaited) -> str:
    left_s = (network.next_try_at - situation.now).total_seconds() if network.next_try_at is not None else 0.0
    return f" Next try in {max(1.0, left_s / 60):.0f} min" if left_s > 0 else ""
