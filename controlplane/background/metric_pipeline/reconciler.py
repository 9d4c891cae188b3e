"""Has the metric pipeline read what the fleet has to be read, on the server that leads and on no other."""

from collections.abc import Sequence
from typing import Protocol

from controlplane.background.metric_pipeline.sources import ReaderTlsOf, wanted_sources
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.fleet.ports import FoldedFleet
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.runtime.polling import Leadership
from events.ids import ClusterUid
from spark.metrics.broker_tls import ReaderTls
from spark.pipeline.sources import Sources
from spark.pipeline.status import PipelineStatus


class Pipeline(Protocol):
    """What reads; `PipelineSupervisor` is one."""

    def want(self, sources: Sources, why_none: str = "") -> None: ...

    def status(self) -> PipelineStatus: ...


class PipelineReconciler:
    """`Polled`, also where another server leads: there nothing is read. `metrics_cluster`: the name of the cluster all
    agents send to, "" where each sends to its own. `identities`: what clusters that speak TLS are shown; `why_no_tls`:
    why what reads must not have that, "" where it may."""

    def __init__(
        self,
        fleet: FoldedFleet,
        pipeline: Pipeline,
        leadership: Leadership,
        *,
        metrics_cluster: str = "",
        identities: ServerIdentities | None = None,
        why_no_tls: str = "",
    ) -> None:
        self._fleet, self._pipeline, self._leadership = fleet, pipeline, leadership
        self._metrics_cluster, self._why_no_tls = metrics_cluster, why_no_tls
        self._identities = identities or ServerIdentities(None)
        self._left_out = ""

    def poll(self) -> None:
        if not self._leadership.may_act:
            self._pipeline.want((), "another server leads, and reads")
            return
        views = self._fleet.views()
        wanted = wanted_sources(views, self._metrics_cluster, self._tls(views))
        told = "; ".join(f"{name} is not read: {why}" for name, why in wanted.left_out.items())
        self._left_out = told if wanted.sources else ""  # else it is the pipeline's own reason to be idle
        self._pipeline.want(wanted.sources, wanted.why_none)

    def note(self) -> str:
        """What the last look saw, for the page of timers."""
        status = self._pipeline.status()
        read = f": {len(status.streams)} topics" if status.streams else ""
        told = f"{status.state}{read}" if not status.reason else f"{status.state}: {status.reason}"
        return f"{told}; {self._left_out}" if self._left_out else told

    def _tls(self, views: Sequence[ClusterView]) -> ReaderTlsOf:
        shown, why_not = dict[ClusterUid, ReaderTls](), dict[ClusterUid, str]()
        for view in views:
            if not view.nodes_speak_tls:
                continue
            if self._why_no_tls:
                why_not[view.uid] = self._why_no_tls
                continue
            self._identities.know(view)
            try:
                told = self._identities.properties(view.uid)
            except KafkaUnavailable as error:
                why_not[view.uid] = str(error)
                continue
            shown[view.uid] = ReaderTls(told["ssl.ca.pem"], told["ssl.certificate.pem"], told["ssl.key.pem"])
        return ReaderTlsOf(shown, why_not)
