"""Which topics the metric pipeline reads, as the server tells the process that reads them. Knows no pyspark."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class MetricSource:
    """One topic of metrics. `name` is what its checkpoint is kept under: letters, digits and dashes.

    `bootstrap` are `host:port`. `only` is the uid of the cluster whose messages may be in the topic, "" where several
    share it: what else names itself there counts for nothing.
    """

    name: str
    bootstrap: tuple[str, ...]
    topic: str
    only: str = ""


Sources = tuple[MetricSource, ...]


def to_document(sources: Iterable[MetricSource]) -> list[dict[str, Any]]:
    """As it goes over the link."""
    return [{**asdict(source), "bootstrap": list(source.bootstrap)} for source in sources]


def from_document(document: Iterable[Mapping[str, Any]]) -> Sources:
    """The other way. Raises TypeError for what is no source."""
    return tuple(MetricSource(**{**told, "bootstrap": tuple(told["bootstrap"])}) for told in document)
