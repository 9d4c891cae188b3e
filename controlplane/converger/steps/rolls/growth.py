"""Disks that grow where they are: one node at a time, while its service runs on.

    growth.requested -> a grow run changes exactly these sizes -> the agent grows the file system -> growth.completed

Nothing is stopped and nothing is moved, so no gate is asked: a disk that is full is the best reason to make it larger.
Where the spec lets disks grow by themselves (`disk.grow`) a larger size is decided first, for the whole pool; from then
on it is as if the spec said it. Where a cloud cannot do it, the node's broker goes to a new VM with a new disk
(`events.spec.storage_rules`).
"""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.disk_growth import PoolGrowth, pool_growths
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.services.service_reports import service_report
from controlplane.converger.questions.windows import frozen_words
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once
from events import facts
from events.ids import intent_id
from events.quantities import GIB
from planner.rollout.diff import Change, NodeChange

SMALLEST_FILESYSTEM = 0.9
"""Of its disk: clouds that count in GB give 7 % less than GiB, and a file system needs some for itself."""


def growth_step(situation: Situation) -> Decision | None:
    """Asks for the next node's disks to grow. None when none is to, or the only ones are of VMs on their way."""
    view = situation.view
    growths = pool_growths(situation) or ()
    for growth in growths:
        if growth.is_due:
            return _decided(situation, growth)
    fullest = {broker: share for growth in growths for broker, share in growth.full}
    for change in sorted(_to_grow(view), key=lambda c: -fullest.get(c.service_id, 0.0)):
        if change.desired is None or change.incumbent is None:
            continue
        instance = view.instances[change.incumbent.key]
        if instance.phase is not Phase.JOINED or not instance.bound or instance.lost:
            continue
        if view.roll.recycling != view.generation:
            started = facts.RecycleStarted(view.generation, create=(), replace=(), remove=(), reason=change.reason)
            return record(f"working towards generation {view.generation}: {change.reason}", started)
        sizes = {v.key: change.desired.disks.gib for v in instance.planned.volumes}
        said = ",".join(f"{key}={gib}" for key, gib in sorted(sizes.items()))
        asked = facts.GrowthRequested(intent_id(view.uid, "grow", said, 1), instance.key, sizes, change.reason)
        return record(f"growing the disk of {instance.key}: {change.reason}", asked)
    return None


def _decided(situation: Situation, growth: PoolGrowth) -> Decision:
    limit = f"disk.grow.above is {growth.policy.above:.0%}, at most {growth.policy.to_gib} GiB"
    reason = f"{growth.who}; {limit}"
    frozen = frozen_words(situation.view, situation.freezes, situation.now)
    if frozen:
        reason += f". A disk that is filling waits for no freeze: {frozen}"
    decided = facts.GrowthDecided(growth.pool, growth.gib, growth.wanted_gib, reason)
    return record(f"pool {growth.pool}: disks {growth.gib} -> {growth.wanted_gib} GiB: {reason}", decided)


@once
def _to_grow(view: ClusterView) -> tuple[NodeChange, ...]:
    return tuple(change for change in pending_changes(view) if change.change is Change.GROW)


def grown_step(situation: Situation, intent: IntentView, inventory: InventorySeen, what: str) -> Decision:
    """The run has ended well: is it so by the cloud's word and by the agent's?"""
    instance, sizes = situation.view.instances[intent.keys[0]], situation.view.vms.volume_sizes
    for volume in intent.volumes:
        seen = inventory.volumes.get(volume)
        # A volume nobody lists any more has gone with its VM: whoever comes next has a disk of its own.
        if seen is not None and seen.size_gib < sizes[volume] and not _is_over(instance):
            sentence = f"{what} ran, but the cloud still shows {volume} with {seen.size_gib} of {sizes[volume]} GiB"
            return wait(WaitReason.VOLUME_GROWS, sentence)
    small = None if _is_over(instance) else _small_filesystem(situation, instance, intent)
    if small is not None and not _is_waited_for(situation.view, instance):
        return wait(WaitReason.FILESYSTEM_GROWS, f"{what} ran; {small}", patience_s=600)
    grown = ", ".join(f"{v} to {sizes[v]} GiB" for v in intent.volumes)
    return record(f"{instance.key}: grown {grown}", facts.GrowthCompleted(intent.id))


def _is_over(instance: InstanceView) -> bool:
    """Nobody is there any more who would grow a file system, or tell of it."""
    return instance.lost or instance.phase is not Phase.JOINED


def _is_waited_for(view: ClusterView, instance: InstanceView) -> bool:
    """Whether something is to be mended, or this VM to go: neither may hang on an agent that does not answer. It grows
    the file system whenever it comes: its document names the size."""
    return any(i.lost for i in view.alive()) or instance.key in view.requests.to_replace


def _small_filesystem(situation: Situation, instance: InstanceView, intent: IntentView) -> str | None:
    report = service_report(situation, instance)
    sizes = {d.name: d.total_bytes for d in report.log_dirs} if report else {}
    for volume in instance.planned.volumes:
        if volume.key not in intent.volumes:
            continue
        wanted = situation.view.vms.volume_sizes[volume.key]
        if volume.dir not in sizes:
            return f"the agent of {instance.key} has not told how large {volume.dir} is"
        if sizes[volume.dir] < SMALLEST_FILESYSTEM * wanted * GIB:
            has = sizes[volume.dir] / GIB
            return f"{volume.dir} of {instance.key} has {has:.1f} of {wanted} GiB until its agent has grown it"
    return None
