"""From how the metric pipeline does to what the API, the pages and `doctor` say of it. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime

from controlplane.api.schemas import metric_pipeline as api
from controlplane.background.metric_pipeline.sources import SHARED
from events.ids import ClusterUid
from providers.finding import Finding
from spark.pipeline.status import PipelineStatus


def pipeline_out(status: PipelineStatus, names: Mapping[ClusterUid, str], *, now: datetime) -> api.MetricPipelineOut:
    """`names` are those of clusters, by uid."""
    told = asdict(status)
    told.pop("housekeeping_error")
    streams = [api.MetricStreamOut(**{**one, "name": _cluster(one["name"], names)}) for one in told.pop("streams")]
    return api.MetricPipelineOut(**told, problem=status.problem(now), streams=streams)


def pipeline_findings(status: PipelineStatus | None, *, now: datetime) -> list[Finding]:
    """For `doctor`; nothing where nobody says how it does."""
    if status is None:
        return []
    what = "metric pipeline"
    if problem := status.problem(now):
        then = "Read metrics.log in the home of the server that leads. It is tried again by itself."
        return [Finding(what, False, problem, then)]
    if status.state == "off":
        then = "Brokers are not judged by their figures, and plans go by the growth of logs, until it runs."
        return [Finding(what, None, f"off: {status.reason}", then)]
    read = f"{len(status.streams)} topics into {status.lake}" if status.streams else status.reason or "nothing yet"
    return [Finding(what, True, f"{status.state}: {read}")]


def _cluster(name: str, names: Mapping[ClusterUid, str]) -> str:
    uid = name.removeprefix(SHARED)
    told = names.get(ClusterUid(uid), uid)
    return f"all clusters, at {told}" if name.startswith(SHARED) else told
