"""The brokers of a cluster as rows: which VM each is on, what it holds and leads, how full and how busy it is. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from controlplane.api.levels import disk_level, skew_level
from controlplane.api.services import ConsolePage, no_console_page
from controlplane.cluster.external_brokers import external_brokers
from controlplane.cluster.folds.images import revision_of
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.converger.steps.rolls.external_brokers import external_words
from planner.observed import KafkaSnapshot, PartitionSeen, once_a_reading


@dataclass(frozen=True, slots=True)
class BrokerFigures:
    """What Kafka tells of one broker."""

    state: str
    """live, fenced, not registered, or unknown."""
    leaders: int | None
    replicas: int | None
    in_sync: int | None
    disk_used_bytes: int | None
    disk_total_bytes: int | None
    write_bytes_per_s: float | None
    read_bytes_per_s: float | None
    leader_skew: float | None
    replica_skew: float | None
    """How far above (+) or below (-) the mean of the live brokers, as a share of it."""
    is_controller: bool = False
    """The active controller, in ZooKeeper mode: else controllers have nodes of their own."""
    leader_level: str = ""
    replica_level: str = ""
    """How far the skew is from even: good, warn or bad, "" where it is not known."""

    @property
    def disk_level(self) -> str:
        return disk_level(self.disk_share)

    @property
    def disk_share(self) -> float | None:
        if not self.disk_total_bytes or self.disk_used_bytes is None:
            return None
        return self.disk_used_bytes / self.disk_total_bytes


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """One broker. What is None is not known: nobody has told yet, or Kafka does not list it."""

    id: int
    key: str
    cloud_id: str
    console: str
    """The VM's page in its cloud's console, "" where there is none."""
    address: str
    zone: str
    machine: str
    version: str
    phase: str
    lost: bool
    figures: BrokerFigures
    external: str = ""
    """How a broker that others run stands, in words; "" for one on a VM of Kedge's."""
    image: str = ""
    """The catalogue's revision its VM is made from, "" for the image the cloud's settings name."""
    up_since: datetime | None = None
    """Since when it runs, by its agent's word of the last minutes."""


COLUMNS = (
    "id",
    "key",
    "cloud_id",
    "console",
    "address",
    "zone",
    "machine",
    "version",
    "phase",
    "lost",
    "state",
    "leaders",
    "replicas",
    "in_sync",
    "disk_used_bytes",
    "disk_total_bytes",
    "write_bytes_per_s",
    "read_bytes_per_s",
    "leader_skew",
    "replica_skew",
    "external",
    "image",
    "up_since",
    "is_controller",
    "leader_level",
    "replica_level",
)
"""Of the table as CSV, whose readers know them by name and place."""

SORTS = (
    "id",
    "key",
    "cloud_id",
    "zone",
    "version",
    "state",
    "leaders",
    "replicas",
    "in_sync",
    "disk_share",
    "write_bytes_per_s",
    "read_bytes_per_s",
    "leader_skew",
    "replica_skew",
    "image",
    "up_since",
)


def broker_rows(
    view: ClusterView,
    snapshot: KafkaSnapshot | None,
    traffic: Traffic,
    uptimes: Mapping[str, datetime] = MappingProxyType({}),
    *,
    recorded: bool = False,
    console_page: ConsolePage = no_console_page,
) -> list[BrokerRow]:
    """Every broker whose VM may exist, by id; then those that others run.

    Of a `recorded` snapshot partitions alone are known: not who is registered, nor disks.
    """
    seen = _Seen(snapshot, traffic, recorded)
    ours = [
        BrokerRow(
            id=i.service_id,
            key=i.key,
            cloud_id=i.cloud_id,
            console=console_page(view, i) if i.cloud_id else "",
            address=view.address_of(i),
            zone=i.planned.rack,
            machine=f"{i.planned.shape}, pre-emptible" if i.planned.spot else i.planned.shape,
            version=i.planned.kafka_version,
            phase=i.phase.value,
            lost=i.lost,
            image=revision_of(i),
            up_since=None if i.lost else uptimes.get(i.key),
            figures=seen.figures(i.service_id),
        )
        for i in sorted(view.brokers(), key=lambda i: i.service_id)
    ]
    others = [
        BrokerRow(
            id=b.id,
            key="external",
            cloud_id="",
            console="",
            address=b.address,
            zone=b.rack,
            machine="",
            version="",
            phase="joined",
            lost=False,
            external=external_words(view, b),
            figures=seen.figures(b.id),
        )
        for b in external_brokers(view).values()
    ]
    return [*ours, *others]


class _Seen:
    """What Kafka tells of each broker, whoever runs it."""

    def __init__(self, snapshot: KafkaSnapshot | None, traffic: Traffic, recorded: bool) -> None:
        self._snapshot, self._traffic, self._recorded = snapshot, traffic, recorded
        self._leaders, self._replicas, self._in_sync = _counts(snapshot) if snapshot else (Counter[int](),) * 3
        self._live = snapshot.live_brokers() if snapshot else frozenset[int]()
        self._writes = _writes(snapshot, traffic)
        self._mean_leaders, self._mean_replicas = _mean(self._leaders, self._live), _mean(self._replicas, self._live)

    def figures(self, number: int) -> BrokerFigures:
        """The part of its row that Kafka knows."""
        snapshot = self._snapshot
        dirs = snapshot.log_dirs.get(number) if snapshot else None
        counted = snapshot is not None and (self._recorded or number in snapshot.brokers)
        live = number in self._live
        leader_skew = _skew(self._leaders[number], self._mean_leaders) if live else None
        replica_skew = _skew(self._replicas[number], self._mean_replicas) if live else None
        return BrokerFigures(
            state=_state(None if self._recorded else snapshot, number),
            is_controller=snapshot is not None and snapshot.controller == number,
            leaders=self._leaders[number] if counted else None,
            replicas=self._replicas[number] if counted else None,
            in_sync=self._in_sync[number] if counted else None,
            disk_used_bytes=dirs.total_bytes - dirs.usable_bytes if dirs and dirs.total_bytes else None,
            disk_total_bytes=dirs.total_bytes if dirs and dirs.total_bytes else None,
            write_bytes_per_s=self._writes.get(number) if self._writes else None,
            read_bytes_per_s=self._traffic.read_bytes_per_s.get(number),
            leader_skew=leader_skew,
            replica_skew=replica_skew,
            leader_level=skew_level(leader_skew, mean=self._mean_leaders),
            replica_level=skew_level(replica_skew, mean=self._mean_replicas),
        )


def chosen(rows: Sequence[BrokerRow], *, text: str, sort: str, down: bool) -> list[BrokerRow]:
    """Rows with the text in their id, VM, address or zone, in the order asked for. The unknown comes last."""
    wanted = text.strip().lower()
    found = [r for r in rows if wanted in _searched(r).lower()]
    by = sort if sort in SORTS else "id"
    known = [r for r in found if value_of(r, by) is not None]
    unknown = [r for r in found if value_of(r, by) is None]
    return [*sorted(known, key=lambda r: (value_of(r, by), r.id), reverse=down), *unknown]


def value_of(row: BrokerRow, column: str) -> Any:
    """What a row has in one of `COLUMNS` or `SORTS`."""
    return getattr(row.figures if hasattr(row.figures, column) else row, column)


def hosted_like(hosted: Iterable[PartitionSeen], text: str) -> list[PartitionSeen]:
    """Partitions a broker has a replica of, with the text in their name, in order."""
    return sorted((p for p in hosted if text.strip().lower() in str(p.name).lower()), key=lambda p: p.name)


def role_on(broker: int, partition: PartitionSeen) -> str:
    """What a broker that has a replica of it is to a partition, in words."""
    if partition.leader == broker:
        return "leader"
    if broker in partition.removing:
        return "leaving"
    if broker in partition.adding:
        return "arriving"
    return "follower" if broker in partition.isr else "follower, out of sync"


def _searched(row: BrokerRow) -> str:
    return f"{row.id} {row.key} {row.cloud_id} {row.address} {row.zone} {row.version} {row.image}"


@once_a_reading
def _counts(snapshot: KafkaSnapshot) -> tuple[Counter[int], Counter[int], Counter[int]]:
    leaders, replicas, in_sync = Counter[int](), Counter[int](), Counter[int]()
    for p in snapshot.partitions:
        leaders[p.leader] += 1
        replicas.update(p.replicas)
        in_sync.update(p.isr)
    return leaders, replicas, in_sync


def _writes(snapshot: KafkaSnapshot | None, traffic: Traffic) -> dict[int, float]:
    written: dict[int, float] = {}
    if snapshot is None or not traffic.write_bytes_per_s:
        return written
    for p in snapshot.partitions:
        written[p.leader] = written.get(p.leader, 0.0) + traffic.write_bytes_per_s.get(p.name, 0.0)
    return {**dict.fromkeys(snapshot.brokers, 0.0), **written}


def _state(snapshot: KafkaSnapshot | None, number: int) -> str:
    if snapshot is None:
        return "unknown"
    seen = snapshot.brokers.get(number)
    if seen is None:
        return "not registered"
    return "fenced" if seen.fenced else "live"


def _mean(counts: Counter[int], live: frozenset[int]) -> float:
    return sum(counts[b] for b in live) / len(live) if live else 0.0


def _skew(count: int, mean: float) -> float | None:
    return count / mean - 1.0 if mean else None
