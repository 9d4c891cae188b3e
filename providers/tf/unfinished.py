"""What an interrupted run left in the state: entries that say more, or less, than what the cloud has.

Two things were seen with Terraform 1.11. A create that *failed* or was interrupted leaves a tainted resource, which
the next plan would replace; a replacement of a `terraform_data` runs no destroy provisioner, so its VM would leak. And
a Terraform that is *killed* while a create provisioner runs may have written that resource down as finished, because
it saves its whole memory whenever any other resource is done. So neither the taint nor its absence proves anything:
what counts is what the cloud has.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from providers.base import InstanceState, Listing, Resources, TerraformRun
from providers.tf.plan import StateResource


@dataclass(frozen=True, slots=True)
class Settlement:
    """Terraform addresses to untaint, and to take out of the state so that the run creates them again."""

    untaint: tuple[str, ...] = ()
    recreate: tuple[str, ...] = ()


def in_question(state: Iterable[StateResource], run: TerraformRun) -> tuple[StateResource, ...]:
    """Entries only the inventory can judge: the tainted, and what this run is to create but is there already."""
    return tuple(r for r in state if r.target not in run.forget and (r.tainted or r.target in run.creates))


def settle(questioned: Iterable[StateResource], run: TerraformRun, listing: Listing, *, repeatable: bool) -> Settlement:
    """Pure. `listing` is the place as the cloud reports it now; `repeatable`: its creates adopt what their intent made.

    - what exists completely is kept, untainted;
    - what this run is to create and is not complete is created again where that is harmless. Where it is not, a taint
      stays: the plan then shows a replacement, which the guard refuses, and a person looks;
    - everything else is untainted: its deletion must be a real one, and nothing else may happen to it.
    """
    whole = whole_in(run.resources, listing)
    untaint, recreate = [], []
    for resource in questioned:
        half_made = resource.target in run.creates and resource.target not in whole
        if half_made and repeatable:
            recreate.append(resource.address)
        elif resource.tainted and not half_made:
            untaint.append(resource.address)
    return Settlement(untaint=tuple(untaint), recreate=tuple(recreate))


def whole_in(resources: Resources, listing: Listing) -> frozenset[str]:
    """Targets of this cluster that exist completely, by the cloud's word."""
    uid = resources.cluster_uid
    intents = {i.key: i.intent_id for i in resources.instances}
    machines = [i for i in listing.instances if i.cluster_uid == uid]
    volumes = [v for v in listing.volumes if v.cluster_uid == uid]
    addresses = {node: address for (owner, node), address in listing.node_addresses.items() if owner == uid}
    return frozenset(
        {
            f"instance/{i.key}"
            for i in machines
            if i.state is InstanceState.RUNNING and i.intent_id == intents.get(i.key)
        }
        | {f"volume/{v.key}" for v in volumes}
        | {f"address/{node}" for node in addresses}
        | {
            f"attachment/{a.key}"
            for a in resources.attachments
            if any(i.key == a.instance and a.volume in i.volumes for i in machines)
        }
        | {
            f"binding/{b.key}"
            for b in resources.bindings
            if any(i.key == b.instance and addresses.get(b.node, "") in i.addresses for i in machines)
        }
    )
