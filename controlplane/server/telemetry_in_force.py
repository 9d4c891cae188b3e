"""What the settings of `[telemetry]` come to on this machine: metrics are on where Spark is there to read them."""

import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from controlplane.server.sections.process import AGENTS, PORTAL
from controlplane.server.settings import Settings
from events.extras import how_to_add
from spark.lake_jars import JarsMissing, jars_in

_NEEDED = {"pyspark": "spark", "delta": "lake", "deltalake": "lake"}
"""What the pipeline imports, and the extra that brings it."""


@dataclass(frozen=True, slots=True)
class TelemetryInForce:
    """`why_no_pipeline` is "" where this server reads metrics. `lake` is "" where there is none."""

    metrics: bool
    lake: str
    checkpoint: str
    why_no_pipeline: str


def telemetry_in_force(settings: Settings) -> TelemetryInForce:
    """Looks at what is installed; starts nothing."""
    told = settings.telemetry
    why = _why_no_pipeline(settings)
    metrics = told.metrics if told.metrics is not None else not why
    root = settings.home / "metrics"
    return TelemetryInForce(
        metrics=metrics,
        lake=told.lake or ("" if why else str(root / "lake")),
        checkpoint=told.checkpoint or str(root / "checkpoints"),
        why_no_pipeline=why,
    )


def _why_no_pipeline(settings: Settings) -> str:
    told = settings.telemetry
    if settings.process.only == PORTAL:
        return "the loop reads metrics, and this is a portal alone"
    if settings.process.only == AGENTS:
        return "the server that leads reads metrics, and this process answers agents alone"
    if told.metrics is False:
        return "agents send no metrics: `telemetry.metrics` is false"
    if told.pipeline is False:
        return "`telemetry.pipeline` is false"
    if told.pipeline is None and not settings.planner.uses_spark:
        return "this server uses no Spark: `planner.spark_master` is off, and `telemetry.pipeline` is not set"
    return missing_for_spark(told.jars)


def missing_for_spark(jars: Path) -> str:
    """What is not there of Spark, with what a person does about it; "" where all is."""
    for module, extra in _NEEDED.items():
        if find_spec(module) is None:
            return f"`{module}` is not installed: {how_to_add(extra)}"
    try:
        jars_in(jars)
    except JarsMissing as missing:
        return str(missing)
    return "" if shutil.which("java") else "`java` is not on PATH: install openjdk-17-jdk"
