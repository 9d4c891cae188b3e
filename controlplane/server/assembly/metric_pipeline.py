"""Builds what reads metrics into the lake beside the ticks. Nothing is started."""

import sys
import threading
from dataclasses import dataclass

from controlplane.background.metric_pipeline.reconciler import PipelineReconciler
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.fleet.ports import FoldedFleet
from controlplane.runtime.polling import Leadership, Poller
from controlplane.runtime.redaction import redacted
from controlplane.server.settings import Settings
from controlplane.server.telemetry_in_force import telemetry_in_force
from spark.pipeline.supervisor import PipelineSettings, PipelineSupervisor
from spark.supervisor import WorkerSettings

METRIC_PIPELINE = "metric pipeline"
LOOK_EVERY_S = 5.0


class _Everywhere:
    """The reconciler itself asks who leads: a server that leads no more has to end its process."""

    may_act = True


@dataclass(frozen=True, slots=True)
class PipelineRoom:
    """What says which topics are read, and what reads them."""

    poller: Poller
    supervisor: PipelineSupervisor

    def close(self) -> None:
        """No process of the pipeline is left after this."""
        self.poller.stop()
        self.supervisor.stop()


def pipeline_of(
    settings: Settings, *, fleet: FoldedFleet, leadership: Leadership, identities: ServerIdentities
) -> PipelineRoom:
    """The room of the metric pipeline; where it is off it says why, and looks at nothing."""
    supervisor = PipelineSupervisor(pipeline_settings(settings))
    reconciler = PipelineReconciler(
        fleet,
        supervisor,
        leadership,
        metrics_cluster=settings.telemetry.metrics_cluster,
        identities=identities,
        why_no_tls=_why_no_tls(settings.telemetry.pipeline_master),
    )
    is_on = not telemetry_in_force(settings).why_no_pipeline
    poller = Poller(
        {METRIC_PIPELINE: reconciler} if is_on else {},
        {METRIC_PIPELINE: LOOK_EVERY_S},
        leadership=_Everywhere(),
        stop=threading.Event(),
        notes={METRIC_PIPELINE: reconciler.note},
    )
    return PipelineRoom(poller, supervisor)


def _why_no_tls(master: str) -> str:
    """Readers get Kedge's key as options of their reads, which Spark sends to its executors, as a rule in plaintext."""
    if master.startswith("local"):
        return ""
    return (
        f"its brokers speak TLS, and the key for them leaves this machine in no way: `telemetry.pipeline_master` is "
        f"{master}, not `local[N]`"
    )


def pipeline_settings(settings: Settings) -> PipelineSettings:
    """How the process is run."""
    told, in_force = settings.telemetry, telemetry_in_force(settings)
    command = [sys.executable, "-m", "spark.pipeline.worker", "--lake", in_force.lake]
    command += ["--checkpoint", in_force.checkpoint, "--jars", str(told.jars)]
    command += ["--every-s", str(told.batch_every_s), "--delay-s", str(told.window_delay_s)]
    worker = WorkerSettings(
        master=told.pipeline_master,
        driver_memory=told.pipeline_memory,
        scratch=settings.home / "spark",
        log=settings.home / "metrics.log",
        redact=redacted,
        command=tuple(command),
        longest_backoff_s=300.0,
    )
    return PipelineSettings(worker=worker, lake=in_force.lake, why_off=in_force.why_no_pipeline)
