"""Volumes the cloud does not list though VMs on record hold them: somebody deleted them, or the listing is not whole.

A missing name proves nothing, so nobody makes a volume anew for it. It is left out of Terraform's state and of what is
rendered once two say that it is no use: its node was given up with its disk (`kedge replace --new-disk`, by a cure of
the spec's, or under `lostDisk: reattach` since its VM is gone and the next one has another), and a fresh listing does
not have it. Nothing is destroyed by that; what was listed late stays there.
"""

from collections.abc import Iterable, Mapping

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.situation.observation import InventorySeen
from providers.catalog import EPHEMERAL


def unlisted_volumes(view: ClusterView, inventory: InventorySeen | None) -> Mapping[str, InstanceView]:
    """Key -> who holds it. Empty where the place of the VM did not answer, and for VMs that are not there yet."""
    if inventory is None:
        return {}
    serving = (i for i in view.alive() if i.phase is Phase.JOINED and not i.lost)
    return _unlisted(view, serving, inventory)


def _unlisted(
    view: ClusterView, holders: Iterable[InstanceView], inventory: InventorySeen
) -> Mapping[str, InstanceView]:
    return {
        v.key: i
        for i in holders
        if not inventory.silence(place_of(view, i))
        for v in i.planned.volumes
        if v.kind != EPHEMERAL and v.key not in inventory.volumes
    }


def given_up(view: ClusterView, inventory: InventorySeen | None) -> frozenset[str]:
    """Keys of those that no run has to find: the disk is given up, and no other VM of the node is to have it."""
    lost = tuple(i for i in view.brokers() if i.lost) if view.reattaches_lost else ()
    if inventory is None or not (view.requests.to_replace or lost):
        return frozenset()
    found: set[str] = set()
    for key, holder in {**unlisted_volumes(view, inventory), **_unlisted(view, lost, inventory)}.items():
        asked = view.requests.to_replace.get(holder.key)
        name = next(v.dir for v in holder.planned.volumes if v.key == key)
        successors = [i for i in view.of_node(holder.node) if i.planned.generation > holder.planned.generation]
        if any(v.key == key for i in successors for v in i.planned.volumes):
            continue
        if (holder.lost and successors) or (asked is not None and (asked.new_disk or name in asked.disks)):
            found.add(key)
    return frozenset(found)


def was_given_up_since(view: ClusterView, intent: IntentView) -> bool:
    """Whether a disk was given up after the last try of the intent, which may have been refused because of it."""
    asked = (a for a in view.requests.to_replace.values() if a.new_disk or a.disks)
    return intent.failed_at is None or any(a.requested_at > intent.failed_at for a in asked)
