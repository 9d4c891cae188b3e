"""Whether a demo that stays open has figures over time: they need what `make setup` installs beside the demo's own."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

JARS = Path(".cache") / "spark" / "jars"
ON: Mapping[str, str] = MappingProxyType(
    {
        "KEDGE_TELEMETRY__PIPELINE": "true",
        "KEDGE_TELEMETRY__BATCH_EVERY_S": "10",
        "KEDGE_TELEMETRY__WINDOW_DELAY_S": "10",
        "KEDGE_TELEMETRY__PIPELINE_MASTER": "local[1]",
    }
)
"""Of the server. Windows close sooner than elsewhere: somebody waits to see them."""
OFF: Mapping[str, str] = MappingProxyType({"KEDGE_TELEMETRY__PIPELINE": "false"})
"""A demo that ends has ended before its first windows close."""


def can_draw(folder: Path) -> bool:
    """Whether Spark's jars for Kafka and Delta, and what reads their lake, are there."""
    return find_spec("deltalake") is not None and any((folder / JARS).glob("delta-*.jar"))


def chart_words(cluster: str, *, drawn: bool) -> str:
    """Where the chart of traffic is, or what it takes."""
    if drawn:
        return f"the page of {cluster} draws what brokers took in and gave out, and the steps of the roll on it"
    return f"the page of {cluster} draws no traffic: that takes what `make setup` installs"
