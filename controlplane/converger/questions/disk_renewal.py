"""When one disk of a broker with several may begin anew while the others pass to its next VM. Pure."""

from controlplane.cluster.commands import CommandRefused, ReplaceNode
from controlplane.cluster.observed.disks import directory_in
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from planner.observed import KafkaSnapshot

WITH_NAMED_DISKS = frozenset({"local"})
"""Clouds where it is known which of a VM's disks carries which directory. Elsewhere an agent that finds several blank
disks of one size takes any of them for any directory (`agent.disks.choice`): the volumes pass on together, and none of
them may be left behind alone."""


def refuse_disks(view: ClusterView, instance: InstanceView, command: ReplaceNode) -> None:
    """Raises CommandRefused where these disks of an instance cannot begin anew by themselves."""
    other_way = f"kedge replace {view.name} --node {instance.node} --new-disk"
    if command.new_disk:
        raise CommandRefused("name-one", "--disk names single disks, --new-disk means all of them: choose one", "")
    if not instance.is_broker:
        raise CommandRefused("one-disk", f"{instance.node} is not a broker: it has one disk", other_way)
    there = [v.dir for v in instance.planned.volumes]
    unknown = sorted(set(command.disks) - set(there))
    if unknown:
        message = f"broker {instance.service_id} has no disk {unknown[0]}"
        raise CommandRefused("unknown-disk", message, f"Disks: {', '.join(there)}.")
    why = why_not_alone(view, instance)
    if not why and set(command.disks) == set(there):
        why = f"these are all the disks broker {instance.service_id} has"
    if why:
        raise CommandRefused("disk-not-alone", f"{', '.join(command.disks)} cannot begin anew alone: {why}", other_way)


def why_not_alone(view: ClusterView, instance: InstanceView) -> str:
    """Why none of its disks can begin anew while the others stay, "" where one can."""
    cloud, volumes = place_of(view, instance).cloud, instance.planned.volumes
    if len(volumes) < 2:
        return "its broker has no other"
    if any(v.kind != "persistent" for v in volumes):
        return "the others are gone with its VM"
    if cloud not in WITH_NAMED_DISKS:
        return f"on {cloud} nobody knows for certain which disk of a VM carries which directory"
    pools = view.document.spec.pools if view.document else ()
    pool = next((p for p in pools if p.name == instance.planned.pool), None)
    if pool is not None and pool.disk.count != len(volumes):
        return f"the spec says {pool.disk.count} disks, so its broker moves to new ones anyway"
    if pool is not None and pool.place.name != str(place_of(view, instance)):
        return "its broker moves to another place, with new disks"
    return ""


def failed_disks(kafka: KafkaSnapshot | None, instance: InstanceView) -> tuple[str, ...]:
    """Directories of a live broker that Kafka says are offline, in their order. Empty where it does not say, where it
    is not clear whose disk they are on, or where all are."""
    seen = kafka.failed_dirs.get(instance.service_id) if kafka is not None else None
    if seen is None:
        return ()
    names = [v.dir for v in instance.planned.volumes]
    found = [directory_in(path, names) for path in seen.paths]
    if "" in found or set(found) == set(names):
        return ()
    return tuple(name for name in names if name in found)
