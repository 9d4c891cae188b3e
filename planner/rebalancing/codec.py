"""Rebalance questions and answers as bytes: policy, brokers and disks as JSON, partitions as an Arrow table.

The columns of a drain's partitions, and three more. Readers raise ValueError, KeyError or TypeError on anything else.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from events.spec.broker_sets import BrokerSets
from planner.drain import columns
from planner.drain.arrays import model_of, padded
from planner.drain.model.capacity import FIGURES, Capacity, FigureOrigin, FigureSource
from planner.drain.plan import canonical
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen, PartitionSeen, TopicPartition
from planner.rebalancing.choice import BalanceChoice
from planner.rebalancing.plan import RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion, planned_on
from planner.rebalancing.request import RebalanceRequest

Answer = RebalancePlan | Unplanned

PARTITIONS = pa.schema(
    [
        *columns.PARTITIONS,
        pa.field("adding", pa.list_(pa.int32())),
        pa.field("removing", pa.list_(pa.int32())),
        pa.field("dirs", pa.list_(pa.int32())),
        pa.field("read_bytes_per_s", pa.int64()),
    ]
)
"""`dirs`: the log directories known to hold the partition, numbered as they stand in the document. A rate of -1: not
known."""

_SCALARS = (
    "cluster_uid",
    "rebalance_id",
    "round",
    "bandwidth_source",
    "write_rates_from",
    "most_bytes_per_s",
    "disk_limit_fraction",
    "batch_s",
)


def question_document(question: RebalanceQuestion) -> dict[str, Any]:
    """Everything but the partitions, ready for JSON."""
    request, cluster = question.request, question.cluster
    return {
        **{name: getattr(request, name) for name in _SCALARS},
        "receivers": list(request.receivers),
        "new": list(request.new),
        "demoted": list(request.demoted),
        "choice": [
            list(request.choice.goals),
            list(request.choice.exclude_topics),
            list(request.choice.exclude_brokers),
        ],
        "sets": [sorted(request.sets.of_broker.items()), sorted(request.sets.of_topics.items())],
        "capacities": [_source_document(source) for source in request.capacities],
        "racks": sorted(request.racks.items()),
        "cpu_used": sorted(request.cpu_used.items()),
        "processors": sorted(request.processors.items()),
        "partition_count": len(cluster.partitions),
        "topics": sorted({p.name.topic for p in cluster.partitions}),
        "brokers": [[b.id, b.rack, b.fenced] for b in cluster.brokers.values()],
        "log_dirs": [
            [
                broker,
                [seen.replicas, seen.used_bytes, seen.total_bytes, seen.usable_bytes],
                [[d.path, d.used_bytes, d.total_bytes, d.usable_bytes] for d in seen.dirs],
            ]
            for broker, seen in cluster.log_dirs.items()
        ],
    }


def partitions_table(question: RebalanceQuestion) -> pa.Table:
    """The partitions as Arrow, schema PARTITIONS, in the question's order."""
    seen = question.cluster.partitions
    model = model_of(question.cluster, question.request.write_bytes_per_s)
    dirs_of = _dirs_by_replica(question.cluster)
    lists: dict[str, list[Sequence[int]]] = {
        "adding": [p.adding for p in seen],
        "removing": [p.removing for p in seen],
        "dirs": [dirs_of.get(p.name, ()) for p in seen],
    }
    table = columns.partitions_table(model)
    for name, values in lists.items():
        table = table.append_column(PARTITIONS.field(name), columns.id_lists(padded(values)))
    reads = [question.request.read_bytes_per_s.get(p.name, -1) for p in seen]
    return table.append_column(PARTITIONS.field("read_bytes_per_s"), pa.array(reads, pa.int64()))


def question_from(document: Mapping[str, Any], partitions: pa.Table) -> RebalanceQuestion:
    """The question those two describe, field for field. Rows that got lost on the way are a ValueError."""
    rows = columns.whole(partitions, document["partition_count"], asked=document["rebalance_id"]).to_pydict()
    names = [
        TopicPartition(document["topics"][topic], partition)
        for topic, partition in zip(rows["topic"], rows["partition"], strict=True)
    ]
    rates = zip(names, rows["write_bytes_per_s"], strict=True)
    reads = zip(names, rows["read_bytes_per_s"], strict=True)
    request = RebalanceRequest(
        **{name: document[name] for name in _SCALARS},
        receivers=tuple(document["receivers"]),
        new=tuple(document["new"]),
        demoted=tuple(document["demoted"]),
        choice=BalanceChoice(*(tuple(part) for part in document["choice"])),
        sets=BrokerSets(*(dict(part) for part in document["sets"])),
        capacities=tuple(_source_from(entry) for entry in document["capacities"]),
        racks=dict(document["racks"]),
        write_bytes_per_s={name: rate for name, rate in rates if rate >= 0},
        read_bytes_per_s={name: rate for name, rate in reads if rate >= 0},
        cpu_used=dict(document["cpu_used"]),
        processors=dict(document["processors"]),
    )
    cluster = planned_on(
        brokers={broker: (rack, fenced) for broker, rack, fenced in document["brokers"]},
        partitions=_partitions_from(names, rows),
        log_dirs=_log_dirs_from(document["log_dirs"], names, rows["dirs"]),
    )
    return RebalanceQuestion(request, cluster)


def answer_to_bytes(answer: Answer) -> bytes:
    """Canonical JSON of a plan or of why there is none; a plan's bytes are exactly `plan.to_bytes()`."""
    if isinstance(answer, RebalancePlan):
        return answer.to_bytes()
    return canonical(
        {
            "unplanned": answer.kind,
            "cluster_uid": answer.cluster_uid,
            "rebalance_id": answer.rebalance_id,
            "round": answer.round,
            "message": answer.message,
        }
    )


def answer_from_bytes(raw: bytes) -> Answer:
    """Raises PlanUnreadable (a ValueError) or KeyError when the bytes are neither."""
    document = json.loads(raw)
    if "unplanned" not in document:
        return RebalancePlan.from_bytes(raw)
    return Unplanned(
        cluster_uid=document["cluster_uid"],
        rebalance_id=document["rebalance_id"],
        round=document["round"],
        kind=document["unplanned"],
        message=document["message"],
    )


def _source_document(source: FigureSource) -> dict[str, Any]:
    return {
        "origin": source.origin.value,
        "by_broker": [[broker, *_figures(known)] for broker, known in sorted(source.by_broker.items())],
        "everyone": _figures(source.everyone),
        "by_broker_words": source.by_broker_words,
        "everyone_words": source.everyone_words,
    }


def _source_from(entry: Mapping[str, Any]) -> FigureSource:
    return FigureSource(
        origin=FigureOrigin(entry["origin"]),
        by_broker={broker: _capacity(figures) for broker, *figures in entry["by_broker"]},
        everyone=_capacity(entry["everyone"]),
        by_broker_words=entry["by_broker_words"],
        everyone_words=entry["everyone_words"],
    )


def _figures(known: Capacity) -> list[float | None]:
    return [known.of(name) for name in FIGURES]


def _capacity(figures: Sequence[Any]) -> Capacity:
    return Capacity(**dict(zip(FIGURES, figures, strict=True)))


def _dirs_by_replica(cluster: KafkaSnapshot) -> Mapping[TopicPartition, list[int]]:
    """Which directories hold a partition, numbered as in the document."""
    found: dict[TopicPartition, list[int]] = defaultdict(list)
    for number, seen in enumerate(d for broker in cluster.log_dirs.values() for d in broker.dirs):
        for name in seen.replicas:
            found[name].append(number)
    return found


def _partitions_from(names: Sequence[TopicPartition], rows: Mapping[str, list[Any]]) -> tuple[PartitionSeen, ...]:
    lists = zip(rows["replicas"], rows["isr"], rows["adding"], rows["removing"], strict=True)
    numbers = zip(names, rows["leader"], rows["min_isr"], rows["size_bytes"], lists, strict=True)
    return tuple(
        PartitionSeen(name, leader, tuple(replicas), tuple(isr), min_isr, tuple(adding), tuple(removing), size)
        for name, leader, min_isr, size, (replicas, isr, adding, removing) in numbers
    )


def _log_dirs_from(
    entries: Sequence[Any], names: Sequence[TopicPartition], dirs: Sequence[Sequence[int]]
) -> dict[int, LogDirsSeen]:
    held: dict[int, set[TopicPartition]] = defaultdict(set)
    for name, numbers in zip(names, dirs, strict=True):
        for number in numbers:
            held[number].add(name)
    found: dict[int, LogDirsSeen] = {}
    count = 0
    for broker, figures, paths in entries:
        numbered = list(enumerate(paths, start=count))
        count += len(paths)
        dirs_seen = tuple(_log_dir(entry, frozenset(held[number])) for number, entry in numbered)
        replicas, used, total, usable = figures
        found[broker] = LogDirsSeen(replicas, used, total, usable, dirs_seen)
    return found


def _log_dir(entry: Sequence[Any], replicas: frozenset[TopicPartition]) -> LogDirSeen:
    path, used, total, usable = entry
    return LogDirSeen(path, used, total, usable, replicas)
