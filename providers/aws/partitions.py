"""Racks that are partitions of a placement group: `eu-west-1a-p2` is partition 2 in zone `eu-west-1a`.

No two partitions of a group share racks of machines, and there are at most seven of them in each zone; a group is of
its region (EC2 User Guide, "Placement groups").
"""

import re

_PARTITION = re.compile(r"-p([1-7])$")


def availability_zone(zone: str) -> str:
    """The zone EC2 knows."""
    return _PARTITION.sub("", zone)


def partition_of(zone: str) -> int | None:
    """The number of the partition that a zone of a spec is, None for a zone as a whole."""
    found = _PARTITION.search(zone)
    return int(found[1]) if found else None
