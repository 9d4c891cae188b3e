"""What agents are told of a cluster's door, and when it is proved that nobody gets in by it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.wire import DoorDocument, DoorReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.views.instances import InstanceView
from controlplane.fleet.failovers.wanted import DoorOrder
from controlplane.runtime.quantities import human_seconds
from events.quantities import counted


@dataclass(frozen=True, slots=True)
class ShutOrder:
    """That a door is to be shut. `at`: when it was recorded."""

    pair_uid: str
    epoch: int
    at: datetime


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """That a door is to be open."""

    pair_uid: str
    epoch: int


@dataclass(frozen=True, slots=True)
class ShutProof:
    """Whether no client gets in at any VM of a cluster. `lacking`: by key of a VM, why there is no proof of it;
    `heard_open`: of those, the ones whose agents have said since the order that clients get in, or may."""

    lacking: Mapping[str, str]
    heard_open: frozenset[str] = frozenset()

    @property
    def is_proved(self) -> bool:
        return not self.lacking

    def __str__(self) -> str:
        if self.is_proved:
            return "no client gets in at any VM"
        first, *others = sorted(self.lacking.items())
        more = f", and of {counted(len(others), 'other VM')}" if others else ""
        return f"no proof of {first[0]}: {first[1]}{more}"


def door_document(pair_uid: str, order: DoorOrder, ports: Iterable[int], members: Iterable[str]) -> DoorDocument:
    """For every broker's VM of the cluster. `ports`: of its listeners for clients, also of those that are about to go;
    `members`: networks of its nodes, of the replicator and of Kedge's servers."""
    return DoorDocument(
        pair=pair_uid,
        state="open" if order.is_open else "shut",
        epoch=order.epoch,
        ports=tuple(sorted(set(ports))),
        members=tuple(sorted(set(members))),
    )


def shut_proof(
    order: ShutOrder, brokers: Sequence[InstanceView], reports: Mapping[str, ReportSeen], now: datetime
) -> ShutProof:
    """By each agent's own word since the order, or by the inventory that its VM is gone; a silent VM proves nothing.

    `brokers`: all instances of brokers that are not retired, those too that are on their way: what may have started
    counts, whatever anybody planned. Of a VM that was never made nothing can be open.
    """
    lacking = {}
    for instance in brokers:
        seen = reports.get(instance.key)
        if instance.phase is Phase.RETIRED or is_gone(instance, seen) or is_unmade(instance, seen):
            continue
        if why := _lacks(order, seen, now):
            lacking[instance.key] = why
    return ShutProof(lacking, frozenset(key for key in lacking if _says_open(order, reports.get(key), now)))


def _says_open(order: ShutOrder, seen: ReportSeen | None, now: datetime) -> bool:
    if seen is None or not seen.is_young(now) or seen.received_at <= order.at or seen.report.door is None:
        return False
    door = seen.report.door
    return door.state == "open" or not door.in_force or bool(door.connections)


def is_let_in(
    order: OpenOrder, brokers: Sequence[InstanceView], reports: Mapping[str, ReportSeen], now: datetime
) -> bool:
    """Whether clients get in at every broker that serves, one at least, by each agent's own word since the order. Who
    is on its way or lost lets nobody in, and keeps nobody waiting."""
    serving = [one for one in brokers if one.phase is Phase.JOINED and not one.lost]
    return bool(serving) and all(_lets_in(order, reports.get(one.key), now) for one in serving)


def _lets_in(order: OpenOrder, seen: ReportSeen | None, now: datetime) -> bool:
    if seen is None or not seen.is_young(now) or seen.report.door is None:
        return False
    report = seen.report.door
    return (report.pair, report.epoch, report.state) == (order.pair_uid, order.epoch, "open") and report.in_force


def is_gone(instance: InstanceView, seen: ReportSeen | None) -> bool:
    """By the cloud's listing. That may have been wrong: what speaks after it is not gone."""
    return instance.lost_at is not None and (seen is None or seen.received_at <= instance.lost_at)


def is_unmade(instance: InstanceView, seen: ReportSeen | None) -> bool:
    """Nothing was started on it: there was never a VM."""
    return instance.phase is Phase.REQUESTED and not instance.cloud_id and seen is None


def _lacks(order: ShutOrder, seen: ReportSeen | None, now: datetime) -> str:
    if seen is None:
        return "its agent has said nothing yet"
    if not seen.is_young(now):
        return f"its agent has been silent for {human_seconds((now - seen.received_at).total_seconds())}"
    if seen.received_at <= order.at:
        return "its agent has said nothing since the order"
    report = seen.report.door
    if report is None:
        return "its agent tells nothing of a door: it is of a release before, or has no document with one"
    return _why_open(report, order)


def _why_open(report: DoorReport, order: ShutOrder) -> str:
    if (report.pair, report.epoch) != (order.pair_uid, order.epoch):
        of = f"epoch {report.epoch}" if report.pair == order.pair_uid else f"another pair ({report.pair})"
        return f"its door is {report.state} by an order of {of}, and this one is of epoch {order.epoch}"
    if report.state != "shut":
        return f"its door is {report.state}"
    if not report.in_force:
        return f"its kernel has not taken the rules: {report.problem or 'nobody knows why'}"
    if report.connections is None:
        return "nobody can count its clients' connections"
    if report.connections:
        return f"{counted(report.connections, 'connection')} of clients still stand"
    return ""
