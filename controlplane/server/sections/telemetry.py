"""`[telemetry]`: what agents measure and send, and what is found in it."""

from pydantic import Field, field_validator

from controlplane.server.sections.section import Section


class TelemetrySection(Section):
    """Of metrics, logs and anomalies."""

    metrics: bool = Field(
        default=False, description="agents measure brokers and send it to the topic `__kedge_metrics` of their cluster"
    )
    logs: bool = Field(
        default=False, description="agents send lines of logs to the topic `__kedge_logs` of their cluster"
    )
    lake: str = Field(
        default="", description="path or URL of the metric lake: plans take write rates from it; empty: from logs alone"
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
