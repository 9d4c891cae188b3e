"""`[telemetry]`: what agents measure and send, what reads it, and what is found in it."""

from pathlib import Path

from pydantic import Field, field_validator

from controlplane.server.sections.section import AbsolutePath, Section


class TelemetrySection(Section):
    """Of metrics, logs and anomalies."""

    metrics: bool | None = Field(
        default=None,
        description="agents measure brokers and send it to the topic `__kedge_metrics`; unset: where the pipeline runs",
    )
    metrics_cluster: str = Field(
        default="", description="the cluster whose topic all agents send to; empty: each to its own cluster's"
    )
    pipeline: bool | None = Field(
        default=None, description="this server reads metrics into the lake; unset: where it has Spark"
    )
    pipeline_master: str = Field(default="local[2]", description="the Spark master of the pipeline, not `sc://`")
    pipeline_memory: str = Field(default="1g", pattern=r"^\d+[mg]$", description="heap of the pipeline's JVM")
    batch_every_s: int = Field(default=30, ge=1, le=300, description="the pace of the pipeline's batches")
    window_delay_s: int = Field(
        default=120, ge=0, le=3600, description="a window closes so far behind the newest message of its cluster"
    )
    jars: AbsolutePath = Field(default=Path(".cache/spark/jars"), description="Spark's jars for Kafka and Delta")
    logs: bool = Field(
        default=False, description="agents send lines of logs to the topic `__kedge_logs` of their cluster"
    )
    lake: str = Field(
        default="",
        description="path or URL of the metric lake: plans take write rates from it; empty: `metrics/lake` of the home "
        "where the pipeline runs, else plans go by logs alone",
    )
    checkpoint: str = Field(
        default="", description="path or URL below which the pipeline keeps its place; empty: in the home"
    )
    anomalies_poll_s: float = Field(default=10.0, ge=1, le=600, description="between two looks for anomalies")
    slow_window_s: int = Field(
        default=300, description="width of the metric windows slow brokers are found by: 60 or 300"
    )

    @field_validator("slow_window_s")
    @classmethod
    def _a_width_of_the_lake(cls, width_s: int) -> int:
        if width_s not in (60, 300):
            raise ValueError("expected 60 or 300: the lake has no other windows that are short enough")
        return width_s

    @field_validator("pipeline_master")
    @classmethod
    def _streams(cls, master: str) -> str:
        if master.startswith("sc://"):
            raise ValueError("the pipeline does not run through Spark Connect: name a master, as in `local[2]`")
        return master
