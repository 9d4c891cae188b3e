"""What brokers' clients have felt in the last minutes, as agents told it, and what it was before moves began.

In memory alone: a new server knows the last minutes after some minutes. What it was before is recorded as moves begin.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from planner.latency_brake import BrokerLoad
from planner.observed import KafkaSnapshot

KEPT = timedelta(minutes=3)
"""How far back the brake looks, and some more."""

APART = timedelta(seconds=5)
"""Reports closer together tell the same sample of the agent's."""

RESTED = timedelta(minutes=5)
"""Figures of before a move are of before it for so long."""


@dataclass(frozen=True, slots=True)
class LoadsSeen:
    """By broker: its loads of the last minutes, oldest first, and the last one at which nothing moved."""

    recent: Mapping[int, tuple[BrokerLoad, ...]] = field(default_factory=dict)
    at_rest: Mapping[int, BrokerLoad] = field(default_factory=dict)
    since: datetime | None = None
    """When this server began to look."""
    moved_at: datetime | None = None
    """When it last saw anything move."""


NO_LOADS = LoadsSeen()


class LoadWatch:
    """The last looks at one cluster."""

    def __init__(self) -> None:
        self._seen = LoadsSeen()

    def see(
        self, view: ClusterView, kafka: KafkaSnapshot, reports: Mapping[str, ReportSeen], now: datetime
    ) -> LoadsSeen:
        """Takes in a look, and what all of them say."""
        rests, loads = not (kafka.moving() or kafka.between_dirs), loads_of(view, kafka, reports, now)
        recent = {b: _with(self._seen.recent.get(b, ()), load, now) for b, load in loads.items()}
        at_rest = loads if rests else self._seen.at_rest
        at_rest = {b: load for b, load in at_rest.items() if now - load.at <= RESTED}
        self._seen = LoadsSeen(recent, at_rest, self._seen.since or now, self._seen.moved_at if rests else now)
        return self._seen


def loads_of(
    view: ClusterView, kafka: KafkaSnapshot, reports: Mapping[str, ReportSeen], now: datetime
) -> dict[int, BrokerLoad]:
    """Of each broker, what its agent told a moment ago, and what Kafka's metadata says. Of one that is silent the
    latter alone."""
    drain = view.moves.drain
    leaving = {view.instances[key].service_id for key in drain.keys} if drain is not None else set()
    lagging, endangered = _lagging(kafka, leaving)
    found = {}
    for instance in view.brokers():
        seen, broker = reports.get(instance.key), instance.service_id
        service = seen.service("broker") if seen is not None and seen.is_young(now) else None
        load = BrokerLoad(at=kafka.at)
        if seen is not None and service is not None and service.state == "running":
            load = _as_reported(service.metrics, seen.figures_at)
        found[broker] = replace(load, lagging=lagging[broker], endangered=endangered[broker])
    return found


def _as_reported(metrics: Mapping[str, float], at: datetime) -> BrokerLoad:
    idle = metrics.get("request_handler_idle")
    return BrokerLoad(
        at=at,
        produce_p99_ms=metrics.get("produce_p99_ms"),
        produce_mean_ms=metrics.get("produce_mean_ms"),
        request_queue=metrics.get("request_queue"),
        handlers_busy=None if idle is None else min(1.0, max(0.0, 1 - idle)),
        disk_busy=metrics.get("disk_busy"),
        disk_wait_ms=metrics.get("disk_wait_ms"),
    )


def _lagging(kafka: KafkaSnapshot, leaving: Collection[int]) -> tuple[Counter[int], Counter[int]]:
    """By leader: partitions that do not move, of which a replica is out of sync though its broker serves; and those of
    them with no more in sync than min ISR.

    What is out of sync on brokers that are `leaving` is not: a failed disk is why they leave, and what ends it is the
    very drain that would be slowed."""
    live = kafka.live_brokers() - set(leaving)
    behind = [
        p for p in kafka.under_replicated() if not p.is_moving and any(r in live and r not in p.isr for r in p.replicas)
    ]
    thin = (p for p in behind if len(p.isr) <= p.min_isr)
    return Counter(p.leader for p in behind), Counter(p.leader for p in thin)


def _with(before: tuple[BrokerLoad, ...], load: BrokerLoad, now: datetime) -> tuple[BrokerLoad, ...]:
    """One look of every few seconds is kept, and the newest."""
    kept = [b for b in before if now - b.at <= KEPT]
    if len(kept) > 1 and load.at - kept[-2].at < APART:
        kept.pop()
    return (*kept, load)
