"""Which topics the metric pipeline reads, as the server tells the process that reads them. Knows no pyspark."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spark.metrics.broker_tls import ReaderTls


@dataclass(frozen=True, slots=True)
class MetricSource:
    """One topic of metrics. `name` is what its checkpoint is kept under: letters, digits and dashes.

    `bootstrap` are `host:port`. `only` is the uid of the cluster whose messages may be in the topic, "" where several
    share it: what else names itself there counts for nothing. `tls`: what brokers are shown, None in plaintext; another
    one asks for another reader.
    """

    name: str
    bootstrap: tuple[str, ...]
    topic: str
    only: str = ""
    tls: ReaderTls | None = None


Sources = tuple[MetricSource, ...]


def to_document(sources: Iterable[MetricSource]) -> list[dict[str, Any]]:
    """As it goes over the link, which is a pair of sockets: keys are in it."""
    return [{**asdict(source), "bootstrap": list(source.bootstrap)} for source in sources]


def from_document(document: Iterable[Mapping[str, Any]]) -> Sources:
    """The other way. Raises TypeError for what is no source."""
    return tuple(_source(told) for told in document)


def _source(told: Mapping[str, Any]) -> MetricSource:
    tls = ReaderTls(**told["tls"]) if told.get("tls") else None
    return MetricSource(**{**told, "bootstrap": tuple(told["bootstrap"]), "tls": tls})
