"""The fleet's brake: how many clusters may roll at once, and an image that broke twice stops everywhere.

Derived from events alone, so a restarted server brakes where the last one did.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from controlplane.converger.verdict import Allowance
from controlplane.view import ClusterView
from events import facts
from events.codec import decode
from events.envelope import Recorded

MAX_IMAGE_FAILURES = 2
"""Failed replacements on one Kafka version, fleet-wide, before no further cluster begins to roll to it."""


@dataclass(slots=True)
class FleetBrake:
    """`max_rolling` clusters may roll at a time."""

    max_rolling: int = 10
    failed_images: Counter[str] = field(default_factory=Counter)
    _rolling: frozenset[str] = frozenset()
    _images: dict[tuple[str, str], str] = field(default_factory=dict)

    def look_at(self, fleet: Sequence[ClusterView]) -> None:
        """Counts who is rolling, once a tick."""
        self._rolling = frozenset(v.uid for v in fleet if v.recycling and v.converged)

    def allowance(self, view: ClusterView) -> Allowance:
        """Whether this cluster may begin to roll. One that already rolls may go on."""
        if view.recycling:
            return Allowance()
        version = view.document.spec.kafka.version if view.document else ""
        if self.failed_images[version] >= MAX_IMAGE_FAILURES:
            reason = f"{self.failed_images[version]} replacements with Kafka {version} failed in the fleet"
            return Allowance(False, f"{reason}; `kedge resume` on a failed cluster lifts this")
        if len(self._rolling - {view.uid}) >= self.max_rolling:
            return Allowance(False, f"{len(self._rolling)} clusters are rolling, at most {self.max_rolling} may")
        return Allowance()

    def take_in(self, recorded: Recorded) -> None:
        """Counts failed joins by Kafka version; a person's resume forgives them."""
        if recorded.type not in _COUNTED:
            return
        event = decode(recorded)
        match event:
            case facts.SurgeRequested(instances=instances):
                for planned in instances:
                    self._images[(recorded.stream, planned.key)] = planned.kafka_version
            case facts.JoinFailed(key=key):
                self.failed_images[self._images.get((recorded.stream, key), "")] += 1
            case facts.ClusterResumed():
                for version in {v for (stream, _), v in self._images.items() if stream == recorded.stream}:
                    self.failed_images.pop(version, None)
            case _:
                return


_COUNTED = frozenset({"surge.requested", "instance.join_failed", "cluster.resumed"})
