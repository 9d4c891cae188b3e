"""Disks that outlive their VM: whether a lost broker's are there for the next VM of its node, and whether one that took
them over has failed. Pure.

All of it applies where `healing.lostDisk` is `reattach`. A disk is taken over only where a fresh listing shows it
whole, on no VM that runs, in the zone of the next one. Where that is not known it is waited for; what was on one that
is not there is copied from the replicas in sync.
"""

from enum import StrEnum

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.situation import Situation
from events import facts

MAX_BIND_FAILURES = 5
"""Runs that may fail to attach the disk of a lost VM before what was on it is copied instead."""


class DiskOfLost(StrEnum):
    """What the cloud says of the disks of a VM that is gone."""

    FREE = "free"
    NOT_FREE = "not free"
    UNKNOWN = "unknown"


def disks_of_lost(situation: Situation, lost: InstanceView, zone: str) -> DiskOfLost:
    """Of all disks that would pass on to a VM in `zone`; those that are to begin anew do not count."""
    inventory = situation.seen.fresh_inventory(situation.now)
    if inventory is None or inventory.silence(place_of(situation.view, lost)):
        return DiskOfLost.UNKNOWN
    asked = situation.view.requests.to_replace.get(lost.key)
    anew = asked.disks if asked is not None else ()
    passing = [v for v in lost.planned.volumes if v.dir not in anew]
    return DiskOfLost.FREE if all(_is_free(inventory, lost, v, zone) for v in passing) else DiskOfLost.NOT_FREE


def _is_free(inventory: InventorySeen, lost: InstanceView, volume: facts.PlannedVolume, zone: str) -> bool:
    """A record of what it was attached to may outlive the VM; on anybody else's it is not ours to take."""
    listed = inventory.volumes.get(volume.key)
    return listed is not None and listed.zone == zone and listed.attached_to in (None, "", lost.key)


def has_disks_of_lost(view: ClusterView, instance: InstanceView) -> bool:
    """Whether it is a broker that has the id and the disks of one whose VM was lost, by the spec's wish, and has not
    served from them."""
    arrives = instance.phase in (Phase.REQUESTED, Phase.LAUNCHED) and view.reattaches_lost
    if not (arrives and instance.is_broker and instance.planned.handover):
        return False
    before = (i for i in view.of_node(instance.node) if i.planned.generation < instance.planned.generation)
    return any(i.lost and i.service_id == instance.service_id for i in before)


def who_takes_over(view: ClusterView, lost: InstanceView) -> InstanceView | None:
    """Who was made to have the id and the disks of this broker, by the spec's wish. What is on them is copied nowhere
    meanwhile, and its id stays. None where there is nobody."""
    if not (view.reattaches_lost and lost.lost and lost.is_broker):
        return None
    on_its_way = (Phase.REQUESTED, Phase.LAUNCHED, Phase.JOINED)
    after = (i for i in view.of_node(lost.node) if i.planned.generation > lost.planned.generation)
    successors = (i for i in after if i.planned.handover and i.service_id == lost.service_id)
    return next((i for i in successors if i.phase in on_its_way), None)


def is_given_up(view: ClusterView, broker: InstanceView) -> bool:
    """Whether it took over the disks of a lost one and does not serve from them: the next one gets others."""
    asked = view.requests.to_replace.get(broker.key)
    return asked is not None and asked.mends


def is_bound_in_vain(situation: Situation, intent: IntentView) -> bool:
    """Whether the disks of a lost VM do not come to its successor: too many runs failed, or it takes too long. Told
    while no run of it is under way, and by a fresh listing alone: while a cloud is silent nothing is given up."""
    view = situation.view
    successor = view.instances[intent.keys[0]] if intent.kind == "bind" else None
    if successor is None or not has_disks_of_lost(view, successor):
        return False
    inventory = situation.seen.fresh_inventory(situation.now)
    if inventory is None or inventory.silence(place_of(view, successor)):
        return False
    refused = intent.failures > 0 and not intent.retryable
    overdue = situation.seconds_since(intent.requested_at) > 2 * situation.join_deadline_s
    return refused or overdue or intent.failures >= MAX_BIND_FAILURES
