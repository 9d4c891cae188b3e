"""What a loop tells portals that are other processes: rows of the latest values, which portals read and never write;
and what portals ask of it, in rows of their own.

None of it is the truth: what people ask for is in the events, and a loop that hears no word of a portal goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import TypeAdapter

from controlplane.api.cloud_readiness import Examination
from controlplane.background.git_sync.status import SourceReport
from controlplane.converger.tick.beats import Beat
from controlplane.converger.tick.failing_ticks import Poisoned
from controlplane.converger.tick.inventory import TaggedVms
from controlplane.converger.tick.report import Said
from controlplane.runtime.polling import Looked
from events.ids import ClusterUid
from spark.pipeline.status import PipelineStatus
from spark.plan_jobs import PlanningTotals

LOOP: Final = "loop-word"
"""Kind of the one row with how the loop does."""
SAID: Final = "loop-said"
"""Kind of the rows with what the last tick of each cluster ended in."""
EXAMINED: Final = "loop-examined"
"""Kind of the rows with what the loop found of clouds, by what was asked for: one cloud, or "" for all in use."""

SOURCE, DOCTOR = "source ", "doctor "
"""What rows of the kind `portal_rights.ASKED` begin with."""

NO_CLUSTER = ClusterUid("")
"""What is said of no single cluster."""

PUBLISHED_EVERY_S = 1.0
HEARD_EVERY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopMessage:
    """How the loop that leads does. `files` are the SHA-256 of what a portal's home has to say alike, by name;
    `progress` what running jobs last said, by their id; `ca_pem` the certificate agents believe, "" without TLS.
    """

    server: str
    epoch: int
    interval_s: float
    position: int
    count: int
    planner: str
    beats: tuple[Beat, ...] = ()
    timers: Mapping[str, tuple[Looked, ...]] = field(default_factory=dict)
    poisoned: tuple[Poisoned, ...] = ()
    tagged: tuple[TaggedVms, ...] = ()
    progress: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, SourceReport] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    ca_pem: str = ""
    pipeline: PipelineStatus | None = None
    plans: PlanningTotals | None = None


MESSAGE: TypeAdapter[LoopMessage] = TypeAdapter(LoopMessage)
SAYING: TypeAdapter[Said] = TypeAdapter(Said)
EXAMINATIONS: TypeAdapter[tuple[Examination, ...]] = TypeAdapter(tuple[Examination, ...])
