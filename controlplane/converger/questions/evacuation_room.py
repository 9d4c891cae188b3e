"""Would the other brokers have room for what these hold? What has to hold for any plan, with the numbers. Pure.

Necessary, not sufficient: whether the partitions can really be placed is the planner's to say (`DrainInfeasible`).
"""

from collections.abc import Collection, Iterable, Mapping

from controlplane.converger.questions.disk_room import DISK_LIMIT_FRACTION
from controlplane.kafka.gates import Gate
from events.quantities import counted
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.quantities import human_bytes
from planner.rollout.diff import Change, NodeChange


def room_without(
    kafka: KafkaSnapshot,
    leaving: Collection[int],
    staying: Collection[int],
    *,
    racks_stay: bool = True,
    kept_empty: Collection[int] = (),
) -> Gate:
    """Open when every partition of `leaving` finds enough brokers and racks among `staying`, and its bytes a disk.

    Without `racks_stay` a rack may be given up: a spec that takes it away says so. A rack whose only brokers that stay
    are `kept_empty` was taken away by nobody: no plan gives it up either.
    """
    hosted = [p for p in kafka.partitions if set(p.target) & set(leaving)]
    racks = {b: seen.rack for b, seen in kafka.brokers.items()}
    left = {racks[b] for b in staying if b in racks}
    wanted = None if racks_stay else left | {racks[b] for b in kept_empty if b in racks}
    for partition in hosted:
        gate = _places(partition, len(staying), left, wanted, racks)
        if gate is not None:
            return gate
    return _disks_take(kafka, hosted, leaving, staying)


def room_onto(kafka: KafkaSnapshot, leaving: Collection[int], targets: Collection[int]) -> Gate:
    """The same where only `targets` may take anything: what is on others stays there.

    Each partition needs as many of them that do not hold it as copies of it leave, and no rack is given up.
    """
    racks = {b: seen.rack for b, seen in kafka.brokers.items()}
    hosted = [p for p in kafka.partitions if set(p.target) & set(leaving)]
    for partition in hosted:
        held, gone = set(partition.target), set(partition.target) & set(leaving)
        free = set(targets) - held
        if len(free) < len(gone):
            reason = f"{partition.name} needs {len(gone)} of the chosen brokers, and {len(free)} do not hold it yet"
            return Gate(False, reason)
        spread = {racks[b] for b in held if b in racks}
        kept = {racks[b] for b in held - gone if b in racks}
        if min(len(spread), len(kept) + len(gone)) > len(kept | {racks[b] for b in free if b in racks}):
            named = ", ".join(sorted(racks[b] for b in targets if b in racks))
            return Gate(False, f"{partition.name} is spread over {len(spread)} racks; the chosen ones are in {named}")
    return _disks_take(kafka, hosted, leaving, targets)


def _disks_take(
    kafka: KafkaSnapshot, hosted: Collection[PartitionSeen], leaving: Collection[int], staying: Collection[int]
) -> Gate:
    moved = sum(p.size_bytes * len(set(p.target) & set(leaving)) for p in hosted)
    sized = {b: seen for b in staying if (seen := kafka.log_dirs.get(b)) and seen.total_bytes > 0}
    # Who has not told is left out of both sides: without all the figures no number refuses anybody.
    if len(sized) < len(set(staying)):
        return Gate(True, f"{holdings(hosted, moved)}; not every other broker has told how full its disk is")
    free = sum(
        max(0, int(d.total_bytes * DISK_LIMIT_FRACTION) - (d.total_bytes - d.usable_bytes)) for d in sized.values()
    )
    receivers = counted(len(sized), "other broker")
    room = f"{receivers} can receive {human_bytes(free)} more up to {DISK_LIMIT_FRACTION:.0%} of their disks"
    return Gate(moved <= free, f"{holdings(hosted, moved)}; {room}")


def holdings(hosted: Collection[PartitionSeen], moved: int) -> str:
    """What brokers hold that are to be emptied, in words; `moved` in bytes."""
    return f"they hold {counted(len(hosted), 'partition')}, {human_bytes(moved)}"


def successors_have_room(kafka: KafkaSnapshot, changes: Collection[NodeChange]) -> Gate:
    """Closed, with the numbers, where a broker is to be copied to a smaller disk that cannot take what it holds, or one
    of its partitions to disks none of which can take that."""
    for broker, size_bytes in smaller_disks(changes).items():
        held = sum(p.size_bytes for p in kafka.partitions if broker in p.target)
        limit = int(size_bytes * DISK_LIMIT_FRACTION)
        if held > limit:
            takes = f"its new disk takes {human_bytes(limit)} up to {DISK_LIMIT_FRACTION:.0%}"
            return Gate(False, f"broker {broker} holds {human_bytes(held)}, and {takes}")
    return _each_log_fits(kafka, changes)


def _each_log_fits(kafka: KafkaSnapshot, changes: Collection[NodeChange]) -> Gate:
    """A partition lies on one disk, however many there are: the largest of a broker has to fit on one of its
    successor's."""
    for change in changes:
        if change.change is not Change.REPLACE or change.service != "broker":
            continue
        old, new = change.incumbent, change.desired
        if old is None or new is None or new.disks.gib >= old.disks.gib:
            continue
        hosted = [p for p in kafka.partitions if old.service_id in p.target]
        largest = max(hosted, key=lambda p: p.size_bytes, default=None)
        limit = int(new.disks.gib * 1024**3 * DISK_LIMIT_FRACTION)
        if largest is not None and largest.size_bytes > limit:
            has = f"broker {old.service_id} holds {largest.name} with {human_bytes(largest.size_bytes)}"
            return Gate(False, f"{has}, and each new disk takes {human_bytes(limit)} up to {DISK_LIMIT_FRACTION:.0%}")
    return Gate(True, "")


def smaller_disks(changes: Iterable[NodeChange]) -> Mapping[int, int]:
    """Bytes of the new disks of each broker that is to be copied to smaller ones."""
    return {
        c.incumbent.service_id: c.desired.disks.room_gib * 1024**3
        for c in changes
        if c.change is Change.REPLACE and c.service == "broker" and c.incumbent and c.desired
        if c.desired.disks.room_gib < c.incumbent.disks.room_gib
    }


def _places(
    partition: PartitionSeen, brokers: int, left: set[str], wanted: set[str] | None, racks: dict[int, str]
) -> Gate | None:
    """Closed when replicas would share a broker, or more of them a rack than have to; None when there are places.

    `left` are racks that may receive, `wanted` those a partition is to be spread over if it can; None for as many as
    now.
    """
    replicas = len(partition.target)
    if replicas > brokers:
        reason = f"{partition.name} has {replicas} replicas, and {brokers} brokers would be left to hold them"
        return Gate(False, reason)
    spread = len({racks[b] for b in partition.target if b in racks})
    if (spread if wanted is None else min(spread, len(wanted))) > len(left):
        named = ", ".join(sorted(left)) or "none"
        empty = ", ".join(sorted((wanted or set()) - left))
        why = f"; rack {empty} has only brokers that are kept empty" if empty else ""
        spread_over = f"{partition.name} is spread over {spread} racks"
        return Gate(False, f"{spread_over}, and {len(left)} would be left to hold it ({named}){why}")
    return None
