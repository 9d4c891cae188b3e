"""Would the other brokers have room for what these hold? What has to hold for any plan, with the numbers. Pure.

Necessary, not sufficient: whether the partitions can really be placed is the planner's to say (`DrainInfeasible`).
"""

from collections.abc import Collection

from controlplane.converger.diskroom import DISK_LIMIT_FRACTION
from controlplane.kafka.gates import Gate
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.quantities import human_bytes


def room_without(
    kafka: KafkaSnapshot, leaving: Collection[int], staying: Collection[int], *, racks_stay: bool = True
) -> Gate:
    """Open when every partition of `leaving` finds enough brokers and racks among `staying`, and its bytes a disk.

    Without `racks_stay` a rack may be given up: a spec that takes it away says so.
    """
    hosted = [p for p in kafka.partitions if set(p.target) & set(leaving)]
    racks = {b: seen.rack for b, seen in kafka.brokers.items()}
    left = {racks[b] for b in staying if b in racks}
    for partition in hosted:
        gate = _places(partition, len(staying), left if racks_stay else None, racks)
        if gate is not None:
            return gate
    moved = sum(p.size_bytes * len(set(p.target) & set(leaving)) for p in hosted)
    told = {b: kafka.log_dirs[b] for b in staying if b in kafka.log_dirs}
    # Who has not told is left out of both sides: without all the figures no number refuses anybody.
    if len(told) < len(set(staying)):
        return Gate(True, f"{_held(hosted, moved)}; not every other broker has told how full its disk is")
    free = sum(
        max(0, int(d.total_bytes * DISK_LIMIT_FRACTION) - (d.total_bytes - d.usable_bytes)) for d in told.values()
    )
    others = f"the {len(told)} others take {human_bytes(free)} more up to {DISK_LIMIT_FRACTION:.0%} of their disks"
    return Gate(moved <= free, f"{_held(hosted, moved)}; {others}")


def _places(partition: PartitionSeen, brokers: int, left: set[str] | None, racks: dict[int, str]) -> Gate | None:
    """Closed when replicas would share a broker, or more of them a rack than now; None when there are places."""
    wanted = len(partition.target)
    if wanted > brokers:
        return Gate(False, f"{partition.name} has {wanted} replicas, and {brokers} brokers would be left to hold them")
    spread = len({racks[b] for b in partition.target if b in racks})
    if left is not None and spread > len(left):
        named = ", ".join(sorted(left)) or "none"
        return Gate(
            False, f"{partition.name} is spread over {spread} racks, and {len(left)} would be left to hold it ({named})"
        )
    return None


def _held(hosted: Collection[PartitionSeen], moved: int) -> str:
    return f"they hold {len(hosted)} partitions, {human_bytes(moved)}"
