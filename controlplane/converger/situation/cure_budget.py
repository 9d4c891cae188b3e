"""How many cures the whole fleet begins by itself in a day. Pure.

Caps of a cluster bound what one unhealthy cluster costs. What makes many unhealthy at once is not theirs: an image, a
host, a network. Then each would still get its own share of restarts and new VMs, all at the same time, and none would
help.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

WITHIN = timedelta(days=1)
MAX_CURES_PER_DAY = 20


@dataclass(frozen=True, slots=True)
class FleetCures:
    """`begun` are the last `most` cures, oldest first, each with the uid of its cluster."""

    most: int = MAX_CURES_PER_DAY
    begun: tuple[tuple[datetime, str], ...] = ()

    def with_one(self, at: datetime, uid: str) -> "FleetCures":
        return replace(self, begun=(*self.begun, (at, uid))[-self.most :])

    def forgiven_by(self, uid: str) -> "FleetCures":
        """A person has looked at this cluster; where it is one of those that were cured, they count no more."""
        return replace(self, begun=()) if any(cured == uid for _, cured in self.begun) else self

    def why_none(self, now: datetime) -> str:
        """Why no further cure may begin now, "" where one may."""
        if len(self.begun) < self.most or now - self.begun[0][0] >= WITHIN:
            return ""
        clusters = len({uid for _, uid in self.begun})
        return (
            f"{len(self.begun)} cures in {clusters} clusters within a day are the most the fleet begins by itself: "
            "look for what they share (image, hosts, network); `kedge resume` on one that was cured lifts this"
        )


NO_CURES = FleetCures()
