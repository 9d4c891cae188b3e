"""Before a run takes disks from VMs: their agents unmount them, or, where the cloud insists, the VM is ended first.

A mounted disk that is taken away loses what its filesystem had not written yet, and on some clouds (`HoldsMounted`) it
is not given at all: the run that detaches it waits until it fails, and nothing else of it is done.
"""

from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.views.controller_moves import has_ties
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.clouds.rendering import place_of_intent
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.effects import TerminateInstance
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.situation import Situation
from providers.base import InstanceState

UNMOUNT_WITHIN_S = 60.0
"""How long agents get from the intent on to say that nothing is mounted any more. A service that was stopped has
closed its files: what is left is to write out the page cache."""

_TAKES_DISKS = frozenset({"release", "retire", "destroy"})


def unmounting_step(situation: Situation, intent: IntentView, what: str) -> Decision | None:
    """What is waited for before the run of this intent may take disks away, None where nothing is."""
    if intent.kind not in _TAKES_DISKS:
        return None
    inventory = situation.seen.fresh_inventory(situation.now)
    left_s = UNMOUNT_WITHIN_S - situation.seconds_since(intent.requested_at)
    holders = [i for k in intent.keys if _holds_disks(i := situation.view.instances[k], inventory)]
    mounted = {i.key: held for i in holders if (held := _mounted(situation, i))}
    if mounted and left_s > 0:
        named = "; ".join(f"{', '.join(held)} on {key}" for key, held in mounted.items())
        return wait(
            WaitReason.UNMOUNTING, f"{what}: waiting {left_s:.0f} s at most until agents have unmounted {named}"
        )
    ends_vms = intent.kind != "release" or intent.with_vm
    if not ends_vms or place_of_intent(situation.view, intent).cloud not in situation.seen.clouds.holds_mounted:
        return None
    unproved = [i for i in holders if not _is_unmounted(situation, i)]
    if not unproved:
        return None
    if inventory is None:
        return wait(
            WaitReason.INVENTORY_UNKNOWN, f"{what}: {unproved[0].key} may hold its disks; waiting for a fresh inventory"
        )
    return _end(situation, unproved, inventory, what)


def unmounted_by_hand(situation: Situation, intent: IntentView) -> str:
    """What a person may do about a release that leaves its VM standing and whose disks nobody says are unmounted; ""
    for any other intent. Kedge ends no VM that no intent deletes: an agent that is silent is not a VM that is dead.
    """
    if intent.kind != "release" or intent.with_vm:
        return ""
    inventory = situation.seen.fresh_inventory(situation.now)
    holders = [i for k in intent.keys if _holds_disks(i := situation.view.instances[k], inventory)]
    unproved = [i for i in holders if not _is_unmounted(situation, i)]
    if not unproved:
        return ""
    named = "; ".join(f"{', '.join(_disks(i))} on {i.key}{f' ({i.cloud_id})' if i.cloud_id else ''}" for i in unproved)
    return (
        f". Its agent does not say that {named} are unmounted. The service there is proved stopped: start the agent, "
        "or unmount them by hand, or terminate that VM at the cloud, which keeps the disks; then resume"
    )


def _holds_disks(instance: InstanceView, inventory: InventorySeen | None) -> bool:
    """Whether a disk of its own is on a VM that may stand."""
    is_gone = instance.lost or (inventory is not None and instance.key in inventory.gone)
    return not is_gone and has_ties(instance) and bool(_disks(instance))


def _disks(instance: InstanceView) -> list[str]:
    """Those that are not gone with their VM."""
    return [v.key for v in instance.planned.volumes if v.kind != "ephemeral"]


def _mounted(situation: Situation, instance: InstanceView) -> list[str]:
    """By the last word of its agent. Of one that never spoke, nothing is known that it would be worth waiting for."""
    seen = situation.seen.reports.get(instance.key)
    return [key for key in _disks(instance) if seen is not None and key in seen.report.attachments]


def _is_unmounted(situation: Situation, instance: InstanceView) -> bool:
    """Proved, by an agent that speaks now."""
    seen: ReportSeen | None = situation.seen.reports.get(instance.key)
    return seen is not None and seen.is_young(situation.now) and not _mounted(situation, instance)


def _end(situation: Situation, unproved: list[InstanceView], inventory: InventorySeen, what: str) -> Decision | None:
    """Has the cloud end those VMs: each is named by an intent that deletes it, so nothing goes that would have stayed.
    Not stopped: EC2 stops no pre-emptible VM, and a VM that hangs is asked in vain to stop in order."""
    listed = [c for i in unproved if (c := inventory.instances.get(i.key)) is not None]
    going = [c for c in listed if c.state is not InstanceState.GONE]
    if not going:
        return None
    # Again at each look, as one that is stopped by hand and one that shuts down are told alike.
    kills = tuple(TerminateInstance(c.key, c.id) for c in going)
    sentence = (
        f"{what}: nobody says that the disks of {', '.join(c.key for c in going)} are unmounted, and this cloud takes "
        "no mounted disk from a VM that runs: asking it to terminate the VM first"
    )
    return wait(WaitReason.VM_HOLDS_DISKS, sentence, *kills, patience_s=_END_WITHIN_S)


_END_WITHIN_S = 600.0
