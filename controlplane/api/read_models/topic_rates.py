"""The topics of a cluster with what is written to each: the rates of its partitions, added up once for each look."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from controlplane.api.read_models.topics import TopicRow, topic_rows
from controlplane.cluster.observed.traffic import Traffic
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot

TopicRate = tuple[float, int]
"""Bytes per second of the partitions that are known, and how many those are."""
_REMEMBERED = 200


def rates_by_topic(traffic: Traffic) -> dict[str, TopicRate]:
    """By topic. Pure."""
    found: dict[str, TopicRate] = {}
    for name, rate in traffic.write_bytes_per_s.items():
        total, known = found.get(name.topic, (0.0, 0))
        found[name.topic] = (total + rate, known + 1)
    return found


def rated(rows: Sequence[TopicRow], rates: Mapping[str, TopicRate]) -> Sequence[TopicRow]:
    """The rows with their rates. That of a topic is known where it is of every partition. Pure."""
    if not rates:
        return rows
    return [replace(row, write_bytes_per_s=_whole(row, rates.get(row.name))) for row in rows]


class RatedTopics:
    """The rows of the clusters looked at last. Only saves work: pages of 50,000 partitions ask for the same sums."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[ClusterUid, tuple[Sequence[TopicRow], Traffic, Sequence[TopicRow]]] = OrderedDict()

    def of(self, uid: ClusterUid, snapshot: KafkaSnapshot, traffic: Traffic) -> Sequence[TopicRow]:
        """Rows and rates stay the same objects until the next look: then they are put together anew."""
        rows = topic_rows(snapshot)
        with self._lock:
            known = self._known.get(uid)
        if known is not None and known[0] is rows and known[1] is traffic:
            return known[2]
        found = rated(rows, rates_by_topic(traffic))
        with self._lock:
            self._known[uid] = rows, traffic, found
            self._known.move_to_end(uid)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found


def _whole(row: TopicRow, rate: TopicRate | None) -> float | None:
    return rate[0] if rate is not None and rate[1] == row.partitions else None
