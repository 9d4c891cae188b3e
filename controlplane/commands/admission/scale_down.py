"""Does a spec leave room for what brokers hold that leave, or move to smaller disks? Asked by plan, by apply, and again
before each step."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from controlplane.cluster.external_brokers import leaving_externals
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.chosen_receivers import removed_brokers
from controlplane.converger.questions.disk_room import DISK_LIMIT_FRACTION
from controlplane.converger.questions.evacuation_room import holdings, room_without, smaller_disks, successors_have_room
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.kafka.gates import Gate
from events.quantities import GIB, counted
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes
from planner.rollout.diff import Change


def room_after(view: ClusterView, document: KafkaClusterDocument, kafka: KafkaSnapshot) -> Gate:
    """Closed, with the numbers, when what the brokers hold has no place on the disks the document leaves and makes."""
    changes = pending_changes(replace(view, document=document))
    removed, smaller = removed_brokers(changes) | set(leaving_externals(view, document)), smaller_disks(changes)
    room = successors_have_room(kafka, changes)
    if not room.open:
        return room
    if not removed:
        return Gate(True, "no broker is taken away")
    staying = [i.service_id for i in view.receivers() if i.service_id not in removed]
    made = [
        c.desired.disks.room_gib * GIB
        for c in changes
        if c.change is Change.CREATE and c.service == "broker" and c.desired
    ]
    if made or smaller:
        gate = _room_on_new_disks(kafka, removed, staying, made, smaller)
    else:
        gate = room_without(kafka, removed, staying, racks_stay=False, kept_empty=kept_empty(view, removed))
    named = ", ".join(map(str, sorted(removed)))
    return Gate(gate.open, f"brokers {named} leave: {gate.reason}")


def kept_empty(view: ClusterView, leaving: Collection[int]) -> list[int]:
    """Ids of the brokers that stay and may receive nothing."""
    kept = (i.service_id for i in view.brokers() if i.key in view.requests.evacuations)
    return [broker for broker in kept if broker not in leaving]


def _room_on_new_disks(
    kafka: KafkaSnapshot,
    removed: Collection[int],
    staying: Sequence[int],
    made: Sequence[int],
    smaller: Mapping[int, int],
) -> Gate:
    """As `room_without`, where brokers are made before the others leave (`made`, bytes of their disks), or move to
    smaller disks. Racks come and go with the nodes: the spec says which there are."""
    hosted = [p for p in kafka.partitions if set(p.target) & set(removed)]
    brokers = len(staying) + len(made)
    for partition in hosted:
        if len(partition.target) > brokers:
            wanted = f"{partition.name} has {len(partition.target)} replicas"
            return Gate(False, f"{wanted}, and {brokers} brokers would be left to hold them")
    moved = sum(p.size_bytes * len(set(p.target) & set(removed)) for p in hosted)
    words = holdings(hosted, moved)
    sized = {b: seen for b in staying if (seen := kafka.log_dirs.get(b)) and seen.total_bytes > 0}
    if len(sized) < len(staying):
        return Gate(True, f"{words}; not every other broker has told how full its disk is")
    free = sum(int(size * DISK_LIMIT_FRACTION) for size in made)
    for broker, disk in sized.items():
        total, used = disk.total_bytes, disk.total_bytes - disk.usable_bytes
        if broker in smaller:
            total, used = smaller[broker], disk.used_bytes
        free += max(0, int(total * DISK_LIMIT_FRACTION) - used)
    receivers = counted(len(staying), "other broker") + (f" and {len(made)} new" if made else "")
    others = f"{receivers} can receive {human_bytes(free)} more"
    return Gate(moved <= free, f"{words}; {others} up to {DISK_LIMIT_FRACTION:.0%} of their disks")
