"""Has the metric pipeline read what the fleet has to be read, on the server that leads and on no other."""

from typing import Protocol

from controlplane.background.metric_pipeline.sources import wanted_sources
from controlplane.fleet.ports import FoldedFleet
from controlplane.runtime.polling import Leadership
from spark.pipeline.sources import Sources
from spark.pipeline.status import PipelineStatus


class Pipeline(Protocol):
    """What reads; `PipelineSupervisor` is one."""

    def want(self, sources: Sources, why_none: str = "") -> None: ...

    def status(self) -> PipelineStatus: ...


class PipelineReconciler:
    """`Polled`, also where another server leads: there nothing is read. `metrics_cluster`: the name of the cluster all
    agents send to, "" where each sends to its own."""

    def __init__(
        self, fleet: FoldedFleet, pipeline: Pipeline, leadership: Leadership, *, metrics_cluster: str = ""
    ) -> None:
        self._fleet, self._pipeline, self._leadership = fleet, pipeline, leadership
        self._metrics_cluster = metrics_cluster

    def poll(self) -> None:
        if not self._leadership.may_act:
            self._pipeline.want((), "another server leads, and reads")
            return
        wanted = wanted_sources(self._fleet.views(), self._metrics_cluster)
        self._pipeline.want(wanted.sources, wanted.why_none)

    def note(self) -> str:
        """What the last look saw, for the page of timers."""
        status = self._pipeline.status()
        read = f": {len(status.streams)} topics" if status.streams else ""
        return f"{status.state}{read}" if not status.reason else f"{status.state}: {status.reason}"
