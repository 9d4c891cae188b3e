"""What brokers answered a moment ago, as the API and the pages tell it. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from controlplane.api.schemas import queries as look_api
from controlplane.background.broker_queries import LogsSeen
from controlplane.cluster.observed.traffic import Traffic
from planner.broker_answers import ValueSeen
from planner.observed import TopicPartition

if TYPE_CHECKING:
    from spark.metrics.rates import Rates

ORIGIN_WORDS = {
    "topic": "set on the topic",
    "broker": "set live on this broker",
    "cluster": "set live for all brokers",
    "file": "in the broker's file",
    "kafka": "Kafka's default",
    "other": "elsewhere",
}


def values_out(cluster: str, values: Mapping[str, ValueSeen], declared: Mapping[str, str]) -> look_api.ValuesOut:
    """Every setting by name, with what is declared of it."""
    return look_api.ValuesOut(
        cluster=cluster, values=[value_out(name, seen, declared) for name, seen in sorted(values.items())]
    )


def value_out(name: str, seen: ValueSeen, declared: Mapping[str, str]) -> look_api.ValueOut:
    return look_api.ValueOut.like(seen, name=name, secret=seen.is_secret, declared=declared.get(name))


def topic_logs_out(
    cluster: str, topic: str, seen: LogsSeen, traffic: Traffic, lake: "Rates | None", *, now: datetime
) -> look_api.TopicLogsOut:
    """The logs of a topic; bytes per second of the lake where it has them, else of the growth of the leaders' logs."""
    rows = [_log_out(topic, number, seen, traffic, lake) for number in seen.now.partitions]
    whole = not seen.now.left_out
    return look_api.TopicLogsOut(
        cluster=cluster,
        topic=topic,
        at=seen.now.at,
        apart_s=seen.apart_s,
        records=_sum(r.records for r in rows) if whole else None,
        records_per_s=_sum(r.records_per_s for r in rows) if whole else None,
        write_bytes_per_s=_sum(r.write_bytes_per_s for r in rows) if whole else None,
        read_bytes_per_s=_sum(r.read_bytes_per_s for r in rows) if whole else None,
        rates_from=lake.reason if lake else traffic.words(now),
        left_out=seen.now.left_out,
        partitions=rows,
    )


def _log_out(
    topic: str, number: int, seen: LogsSeen, traffic: Traffic, lake: "Rates | None"
) -> look_api.PartitionLogOut:
    bounds = seen.now.partitions[number]
    measured = lake.by_partition.get((topic, number)) if lake else None
    grown = None if lake else traffic.write_bytes_per_s.get(TopicPartition(topic, number))
    return look_api.PartitionLogOut.like(
        bounds,
        partition=number,
        records_per_s=seen.records_per_s(number),
        write_bytes_per_s=measured.write_bytes_per_s if measured else grown,
        read_bytes_per_s=measured.read_bytes_per_s if measured else None,
    )


def _sum(figures: Iterable[float | None]) -> float | None:
    every = list(figures)
    known = [figure for figure in every if figure is not None]
    return sum(known) if known and len(known) == len(every) else None
