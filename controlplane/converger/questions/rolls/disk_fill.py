"""How full the disks of brokers are, as far as that is measured and fresh. What nobody has told is unknown, not empty.

Judged is the fullest log directory of a broker: Kafka stops over one that is full, whatever room the others have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.cluster.lifecycle import Phase
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once
from planner.observed import LogDirsSeen


@dataclass(frozen=True, slots=True)
class FillSeen:
    """Of the brokers that serve: which share (0 to 1) of its fullest disk each has in use, and who has not told."""

    by_broker: Mapping[int, float] = field(default_factory=dict)
    free_bytes: Mapping[int, int] = field(default_factory=dict)
    """Left on that disk."""
    unknown: tuple[int, ...] = ()


@once
def disk_fill(situation: Situation) -> FillSeen | None:
    """Of all brokers of Kedge's. None without metadata young enough to act on: nothing is known of any then."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return None
    serving = sorted(i.service_id for i in situation.view.brokers() if i.phase is Phase.JOINED and not i.lost)
    fullest = {b: fullest_disk(seen) for b in serving if (seen := kafka.log_dirs.get(b)) is not None}
    known = {b: found for b, found in fullest.items() if found is not None}
    return FillSeen(
        {b: share for b, (share, _) in known.items()},
        {b: free for b, (_, free) in known.items()},
        tuple(b for b in serving if b not in known),
    )


def fullest_disk(seen: LogDirsSeen) -> tuple[float, int] | None:
    """(share in use, bytes free) of the fullest directory, of all together where they are not known apart. None where
    sizes are missing, as from brokers older than Kafka 3.3."""
    disks = [(d.total_bytes, d.usable_bytes) for d in seen.dirs] or [(seen.total_bytes, seen.usable_bytes)]
    if any(total <= 0 for total, _ in disks):
        return None
    return max((1 - min(free, total) / total, free) for total, free in disks)
