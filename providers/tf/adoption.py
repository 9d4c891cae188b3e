"""Taking into a state what the cloud has and the state does not know: after the state, or the whole history, was lost.

Where creates are repeatable (`RepeatsCreates`) a create of what its intent made before adopts it, so a run that creates
exactly what exists completely changes nothing but the state. What is not complete by the cloud's own word is left
alone: to create that would be to make it.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from providers.base import CloudProvider, InstanceState, Resources, RunKind, TerraformRun
from providers.errors import StateUnreadable
from providers.tf.abilities import RepeatsCreates
from providers.tf.unfinished import whole_in


def adopting_run(run: TerraformRun, held: frozenset[str], provider: CloudProvider) -> TerraformRun | None:
    """The run that goes before `run`, None when the state knows all there is. `held` are the state's targets.

    Raises StateUnreadable where the cloud cannot adopt by creating: its state has to be put back or imported.
    """
    if run.adopts is None:
        return None
    listing = provider.list_place(run.adopts.place)
    alive = {i.key for i in listing.instances if i.state is InstanceState.RUNNING}
    whole = whole_in(run.adopts, listing) - _ties_of_others(run.adopts, alive)
    missing = (whole & _targets(run.adopts)) - held - run.creates
    if not missing:
        return None
    if not (isinstance(provider, RepeatsCreates) and provider.creates_are_repeatable()):
        raise StateUnreadable(
            f"the state of {run.adopts.cluster_name} in {run.adopts.place} does not know {len(missing)} things that "
            f"exist, {min(missing)} among them: put the state back, or import them"
        )
    # What the state holds stays rendered, whatever the cloud says of it: this run deletes nothing.
    return TerraformRun(run.intent_id, RunKind.SURGE, _only(run.adopts, missing | held), creates=missing)


def _ties_of_others(resources: Resources, alive: Collection[str]) -> frozenset[str]:
    """What hangs on VMs that do not run: nothing can be tied to those any more."""
    attachments = (a.key for a in resources.attachments if a.instance not in alive)
    bindings = (b.key for b in resources.bindings if b.instance not in alive)
    return frozenset({*_named("attachment", attachments), *_named("binding", bindings)})


def _only(resources: Resources, targets: frozenset[str]) -> Resources:
    return replace(
        resources,
        instances=tuple(r for r in resources.instances if f"instance/{r.key}" in targets),
        volumes=tuple(r for r in resources.volumes if f"volume/{r.key}" in targets),
        attachments=tuple(r for r in resources.attachments if f"attachment/{r.key}" in targets),
        addresses=tuple(r for r in resources.addresses if f"address/{r.key}" in targets),
        bindings=tuple(r for r in resources.bindings if f"binding/{r.key}" in targets),
    )


def _targets(resources: Resources) -> frozenset[str]:
    return frozenset(
        {
            *_named("instance", (r.key for r in resources.instances)),
            *_named("volume", (r.key for r in resources.volumes)),
            *_named("attachment", (r.key for r in resources.attachments)),
            *_named("address", (r.key for r in resources.addresses)),
            *_named("binding", (r.key for r in resources.bindings)),
        }
    )


def _named(word: str, keys: Iterable[str]) -> Iterable[str]:
    return (f"{word}/{key}" for key in keys)
