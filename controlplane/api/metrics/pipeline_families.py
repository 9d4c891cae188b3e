"""What is told of the process that reads metrics into the lake. Pure."""

from collections.abc import Iterator
from typing import get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from spark.pipeline.status import PipelineState, PipelineStatus


def pipeline_families(status: PipelineStatus | None) -> Iterator[Metric]:
    """Of the server that leads; nothing where nobody says how it does."""
    if status is None:
        return
    states = GaugeMetricFamily("kedge_metric_pipeline", "1 for the state of what reads metrics.", labels=["state"])
    for state in get_args(PipelineState):
        states.add_metric([state], float(state == status.state))
    yield states
    yield CounterMetricFamily(
        "kedge_metric_pipeline_restarts", "Starts of its process after the first.", value=float(status.restarts)
    )
    if status.memory_bytes is not None:
        yield GaugeMetricFamily(
            "kedge_metric_pipeline_memory_bytes", "Resident memory of its processes.", value=float(status.memory_bytes)
        )
    one = ["stream"]
    reads = GaugeMetricFamily("kedge_metric_stream_up", "1 for a topic of metrics that is read.", labels=one)
    behind = GaugeMetricFamily("kedge_metric_stream_behind_messages", "Not read at the last batch.", labels=one)
    batch = GaugeMetricFamily("kedge_metric_stream_batch_seconds", "What the last batch took.", labels=one)
    at = GaugeMetricFamily("kedge_metric_stream_batch_timestamp_seconds", "When the last batch began.", labels=one)
    read = CounterMetricFamily("kedge_metric_stream_messages", "Messages read since the process began.", labels=one)
    for stream in status.streams:
        reads.add_metric([stream.name], float(stream.state == "reading"))
        read.add_metric([stream.name], float(stream.records))
        if stream.behind is not None:
            behind.add_metric([stream.name], float(stream.behind))
        if stream.batch_s is not None:
            batch.add_metric([stream.name], stream.batch_s)
        if stream.batch_at is not None:
            at.add_metric([stream.name], stream.batch_at.timestamp())
    yield from (reads, behind, batch, at, read)
