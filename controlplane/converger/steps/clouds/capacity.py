"""No capacity in a zone: VMs that do not exist yet become the next machine of their pool's list, never of another zone.

The list is `machine`, then `alternatives`, then from the start again; each try of the intent has one of them. A VM that
was made stays what it is. Its digest is that of the spec, so nothing is rolled back when capacity returns.
"""

from datetime import timedelta

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.clouds.machine_choices import machine_choices
from controlplane.converger.questions.clouds.rendering import place_of_intent
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from events import facts
from providers.errors import NoCapacity


def substitution_step(situation: Situation, intent: IntentView) -> Decision | None:
    """After a try of an intent that found no capacity: who is made as what next. None where there is no alternative."""
    if intent.error.partition(":")[0] != NoCapacity.__name__ or intent.substituted:
        return None
    waiting = [i for key in intent.keys if (i := situation.view.instances[key]).cloud_id == ""]
    if not any(machine_choices(situation.view, i) for i in waiting):
        return None
    inventory = situation.seen.fresh_inventory(situation.now)
    late = timedelta(seconds=may_be_unlisted_s(situation, intent))
    is_old = inventory is None or (intent.failed_at is not None and inventory.at <= intent.failed_at + late)
    if inventory is None or is_old or inventory.silence(place_of_intent(situation.view, intent)):
        return wait(
            WaitReason.INVENTORY_UNKNOWN, f"no capacity; waiting for an inventory that shows what {intent.kind} made"
        )
    machines = {
        i.key: machine
        for i in waiting
        if not inventory.carrying(i.key) and (machine := _next_of(situation.view, i)) is not None
    }
    if not machines:
        return None
    named = ", ".join(f"{key} as {machine}" for key, machine in machines.items())
    return record(f"no capacity: making {named}", facts.MachineSubstituted(intent.id, machines, intent.error))


def may_be_unlisted_s(situation: Situation, intent: IntentView) -> float:
    """How long after a try of it a listing may lack what was made. A run that only deletes makes nothing."""
    makes = intent.kind in ("surge", "bind")
    return situation.seen.clouds.unlisted_s.get(place_of_intent(situation.view, intent).cloud, 0.0) if makes else 0.0


def _next_of(view: ClusterView, instance: InstanceView) -> str | None:
    tried = machine_choices(view, instance)
    if not tried:
        return None
    at = tried.index(instance.planned.shape) if instance.planned.shape in tried else -1
    return tried[(at + 1) % len(tried)]
