"""Taking into a state what the cloud has and the state does not know: after the state, or the whole history, was lost.

Where creates are repeatable (`RepeatsCreates`) a create of what its intent made before adopts it, so a run that creates
exactly what exists completely changes nothing but the state. What is not complete by the cloud's own word is left
alone: to create that would be to make it. Other clouds import instead (`providers.tf.imports`).
"""

from collections.abc import Collection

from providers.base import CloudProvider, InstanceState, Resources, RunKind, TerraformRun
from providers.tf.rendered_set import only, targets_of
from providers.tf.unfinished import whole_in


def adopting_run(run: TerraformRun, held: frozenset[str], provider: CloudProvider) -> TerraformRun | None:
    """The run that goes before `run`, None when the state knows all there is. `held` are the state's targets."""
    if run.adopts is None or not targets_of(run.adopts) - held - run.creates - run.forget:
        return None
    listing = provider.list_place(run.adopts.place)
    alive = {i.key for i in listing.instances if i.state is InstanceState.RUNNING}
    whole = whole_in(run.adopts, listing) - _ties_of_others(run.adopts, alive)
    missing = (whole & targets_of(run.adopts)) - held - run.creates
    if not missing:
        return None
    # What the state holds stays rendered, whatever the cloud says of it: this run deletes nothing.
    return TerraformRun(run.intent_id, RunKind.SURGE, only(run.adopts, missing | held), creates=missing)


def _ties_of_others(resources: Resources, alive: Collection[str]) -> frozenset[str]:
    """What hangs on VMs that do not run: nothing can be tied to those any more."""
    attachments = {f"attachment/{a.key}" for a in resources.attachments if a.instance not in alive}
    return frozenset(attachments | {f"binding/{b.key}" for b in resources.bindings if b.instance not in alive})
