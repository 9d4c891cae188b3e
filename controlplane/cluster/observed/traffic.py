"""What a cluster writes and reads now, from looks at it some seconds apart: known without any metrics pipeline.

A leader's log grows by exactly the bytes its followers fetch, compression and all, so two looks at log directories give
the write rate of each partition. A log that shrank was cleaned by retention meanwhile, and one whose leader changed is
another log: both tell nothing. What consumers read is counted by brokers and comes with their agents' reports, and so
is all they take in and give out (`broker_traffic`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np

from agent.wire import Report
from controlplane.cluster.observed.broker_traffic import BrokerCounters, RecentTraffic, TrafficPoint
from controlplane.cluster.view import ClusterView
from planner.drain.arrays import Int32s, Int64s
from planner.observed import KafkaSnapshot, TopicPartition

APART = timedelta(seconds=5)
"""Looks closer together than this count as one: a log grows in steps of a produce request."""

WINDOW = timedelta(seconds=30)
"""What rates are the mean over, where looks are that close; a cluster at rest is looked at once a minute."""

OLDEST = timedelta(seconds=180)
"""Looks, and rates, older than this are forgotten."""

_FETCHED = "bytes_out_total"
"""BrokerTopicMetrics BytesOutPerSec, the count: what clients fetched; replication is counted apart."""

_IN, _OUT = ("bytes_in_total", "replication_bytes_in_total"), (_FETCHED, "replication_bytes_out_total")


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes per second as of `at`, the mean over `over_s` seconds before. What is missing is unknown, never idle.

    `write_bytes_per_s`: produce traffic into the leader, as it stands in the log. `read_bytes_per_s`: what consumers
    fetch, by broker. `recent`: all that brokers took in and gave out in the last hour, oldest first, however old the
    rest is.
    """

    write_bytes_per_s: Mapping[TopicPartition, float] = field(default_factory=dict)
    read_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    at: datetime | None = None
    over_s: float = 0.0
    recent: tuple[TrafficPoint, ...] = ()

    def words(self, now: datetime) -> str:
        """Where the rates come from and how old they are; "" when there are none."""
        if self.at is None or not self.write_bytes_per_s:
            return ""
        age_s = max(0.0, (now - self.at).total_seconds())
        return f"growth of the leaders' logs over {self.over_s:.0f} s, {age_s:.0f} s old"

    def not_older(self, than: timedelta, now: datetime) -> "Traffic":
        """These rates, or none if they are older."""
        return self if self.at is not None and now - self.at <= than else Traffic(recent=self.recent)


UNKNOWN = Traffic()


def read_by_partition(traffic: Traffic, snapshot: KafkaSnapshot) -> dict[TopicPartition, float]:
    """What consumers fetch of each partition, bytes/s: what is known of its leader, shared out over all it leads by
    what is written to them. A broker that leads a partition of unknown write rate, or none that is written to, is left
    out.
    """
    led: dict[int, dict[TopicPartition, float | None]] = {}
    for seen in snapshot.partitions:
        led.setdefault(seen.leader, {})[seen.name] = traffic.write_bytes_per_s.get(seen.name)
    found = {}
    for broker, read in traffic.read_bytes_per_s.items():
        written = {name: rate for name, rate in led.get(broker, {}).items() if rate is not None}
        total = sum(written.values())
        if total > 0 and len(written) == len(led[broker]):
            found.update({name: read * rate / total for name, rate in written.items()})
    return found


class TrafficWatch:
    """The last looks at one cluster. In memory alone: a new server knows no rates until its second look."""

    def __init__(self) -> None:
        self._samples: tuple[_TrafficLook, ...] = ()
        self._recent = RecentTraffic()
        self._known: tuple[datetime, Traffic] | None = None

    def see(self, snapshot: KafkaSnapshot, counters: Mapping[int, BrokerCounters]) -> None:
        """Takes in a look, `counters` by broker. One too soon after the last is passed over."""
        self._recent.see(snapshot.at, snapshot.live_brokers(), counters)
        if self._samples and snapshot.at - self._samples[-1].at < APART:
            return
        self._samples = _recent(
            (*self._samples, _look(snapshot, counters, self._samples[-1].names if self._samples else ()))
        )

    def traffic(self, now: datetime) -> Traffic:
        """What the looks so far say."""
        samples = self._samples
        if len(samples) < 2:
            return UNKNOWN
        latest = samples[-1].at
        if self._known is None or self._known[0] != latest:
            self._known = (latest, replace(_between(samples), recent=self._recent.points()))
        return self._known[1].not_older(OLDEST, now)


def counters_of(view: ClusterView, reports: Mapping[str, Report]) -> dict[int, BrokerCounters]:
    """What brokers have taken in and given out so far, by broker; `reports` by instance key. No silent one."""
    found = {}
    for instance in view.brokers():
        report = reports.get(instance.key)
        for service in report.services if report else ():
            fetched = service.metrics.get(_FETCHED)
            if service.name == "broker" and fetched is not None and report is not None:
                into, out = (_sum(service.metrics, names) for names in (_IN, _OUT))
                found[instance.service_id] = BrokerCounters(report.at, fetched, into, out)
    return found


def _sum(metrics: Mapping[str, float], names: tuple[str, ...]) -> float | None:
    values = [metrics[name] for name in names if name in metrics]
    return sum(values) if len(values) == len(names) else None


@dataclass(frozen=True, slots=True, eq=False)
class _TrafficLook:
    """Arrays, since a cluster may have 100,000 partitions: of each of `names` its leader and the bytes of its log
    there, -1 where that is not known.
    """

    at: datetime
    names: tuple[TopicPartition, ...]
    leader: Int32s
    size: Int64s
    counters: Mapping[int, BrokerCounters]

    def of(self, names: tuple[TopicPartition, ...]) -> tuple[Int32s, Int64s]:
        """(leader, size) of these partitions."""
        if names is self.names:
            return self.leader, self.size
        row = {name: n for n, name in enumerate(self.names)}
        place = np.array([row.get(name, -1) for name in names], dtype=np.int64)
        leader, size = np.append(self.leader, np.int32(-1)), np.append(self.size, np.int64(-1))
        return leader[place], size[place]


def _look(
    snapshot: KafkaSnapshot, counters: Mapping[int, BrokerCounters], known: tuple[TopicPartition, ...]
) -> _TrafficLook:
    """`known`: the names of the look before; mostly they are the same, and then the very same tuple."""
    names = tuple(p.name for p in snapshot.partitions)
    return _TrafficLook(
        at=snapshot.at,
        names=known if names == known else names,
        leader=np.array([p.leader for p in snapshot.partitions], dtype=np.int32),
        size=np.array([p.leader_bytes for p in snapshot.partitions], dtype=np.int64),
        counters=dict(counters),
    )


def _recent(samples: tuple[_TrafficLook, ...]) -> tuple[_TrafficLook, ...]:
    """As few as span the window; none that is too old."""
    latest = samples[-1].at
    young = [look for look in samples if latest - look.at <= OLDEST]
    while len(young) > 2 and latest - young[1].at >= WINDOW:
        young.pop(0)
    return tuple(young)


def _between(samples: tuple[_TrafficLook, ...]) -> Traffic:
    return Traffic(
        write_bytes_per_s=_written(samples),
        read_bytes_per_s=_read(samples),
        at=samples[-1].at,
        over_s=(samples[-1].at - samples[0].at).total_seconds(),
    )


def _written(samples: tuple[_TrafficLook, ...]) -> dict[TopicPartition, float]:
    """Bytes of all spans in which one leader's log did not shrink / their seconds."""
    names = samples[-1].names
    grown, seconds = np.zeros(len(names), dtype=np.int64), np.zeros(len(names))
    for before, after in pairwise(samples):
        (led_before, old), (leads, new) = before.of(names), after.of(names)
        is_known = (led_before == leads) & (old >= 0) & (new >= old)
        grown += np.where(is_known, new - old, 0)
        seconds += np.where(is_known, (after.at - before.at).total_seconds(), 0.0)
    known = np.flatnonzero(seconds > 0)
    rates = (grown[known] / seconds[known]).tolist()
    return {names[n]: rate for n, rate in zip(known.tolist(), rates, strict=True)}


def _read(samples: tuple[_TrafficLook, ...]) -> dict[int, float]:
    """As `_written`, by broker and its agent's clock; a count that fell began anew with its broker."""
    amounts: dict[int, float] = {}
    seconds: dict[int, float] = {}
    for before, after in pairwise(samples):
        for broker, new in after.counters.items():
            old = before.counters.get(broker)
            if old is None or new.at <= old.at or new.fetched_bytes < old.fetched_bytes:
                continue
            amounts[broker] = amounts.get(broker, 0.0) + new.fetched_bytes - old.fetched_bytes
            seconds[broker] = seconds.get(broker, 0.0) + (new.at - old.at).total_seconds()
    return {broker: amount / seconds[broker] for broker, amount in amounts.items()}
