"""One look at a cluster between ZooKeeper and KRaft: who runs with what, who is back in sync, who leads. Pure.

What services were told is recorded; that a stopped one did stop is its agent's word, or the cloud's that its VM is
gone. The quorum's own state comes from its leader's metrics, by agents' young reports; who leads by ZooKeeper's word.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from agent.wire import ServiceReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.migration import MigrationView
from controlplane.converger.questions.services.service_reports import service_report, start_id
from controlplane.converger.questions.services.serving import controller_serves
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.zookeeper.migration import STATES, Knows, MigrationSeen
from controlplane.kafka.zookeeper.registry import RegistrySeen
from planner.observed import KafkaSnapshot

_GONE = frozenset({Phase.RETIRING, Phase.FAILED})


def look(situation: Situation, migration: MigrationView) -> MigrationSeen | None:
    """None while nobody can say what ZooKeeper holds, and that still matters."""
    registry = situation.seen.zookeeper.registry
    if registry is None:
        if not migration.has_no_way_back:
            return None
        registry = _nothing_asked(situation.now)
    brokers = _last_sent(situation, migration, "broker")
    controllers = _last_sent(situation, migration, "controller")
    leader, metrics = _leader(situation, controllers)
    state = metrics.get("zk_migration_state")
    return MigrationSeen(
        brokers=brokers,
        controllers=controllers,
        unsettled=_unsettled(situation, migration, brokers, controllers),
        state=STATES.get(int(state)) if state is not None else None,
        zookeeper_brokers=int(metrics.get("zk_brokers", 0)),
        leader=leader,
        registry=registry,
        soak_left_s=_soak_left_s(situation, migration),
    )


def unproved(situation: Situation, migration: MigrationView) -> tuple[InstanceView, ...]:
    """Services that were told to stop, and that nobody has proved to have done so."""
    stopped = (i for i in situation.view.alive() if migration.knows.get(i.service_id) is Knows.STOPPED)
    return tuple(i for i in stopped if i.planned.service != "zookeeper" and not _has_stopped(situation, i))


def _nothing_asked(now: datetime) -> RegistrySeen:
    """Past the point of no return nobody needs ZooKeeper any more, so nobody waits for its answer."""
    return RegistrySeen(now, "", {}, -1, -1, kraft_epoch=0)


def _last_sent(situation: Situation, migration: MigrationView, service: str) -> Mapping[int, Knows]:
    found: dict[int, Knows] = {}
    for one in _of(situation, service):
        sent = migration.last_sent(service, one.service_id)
        runs_on = sent is Knows.STOPPED and one.service_id in migration.knows and not _has_stopped(situation, one)
        found[one.service_id] = Knows.BOTH if runs_on else sent
    if service == "controller":
        for voter in migration.voters:  # its VM is gone, and nobody runs it instead yet
            found.setdefault(voter.id, migration.last_sent(service, voter.id))
    return found


def _of(situation: Situation, service: str) -> Iterable[InstanceView]:
    return (i for i in situation.view.alive() if i.planned.service == service and i.phase not in _GONE)


def _has_stopped(situation: Situation, instance: InstanceView) -> bool:
    if instance.lost:
        return True
    report = service_report(situation, instance)
    return report is not None and report.state == "stopped" and report.start_id == start_id(instance)


def _leader(situation: Situation, controllers: Mapping[int, Knows]) -> tuple[int, Mapping[str, float]]:
    """(id, its metrics); -1 while none says that it leads, or two do: the older of them will hear of the other."""
    leads = {
        one.service_id: report.metrics
        for one in _of(situation, "controller")
        if (report := _young(situation, one)) is not None and report.metrics.get("active_controllers") == 1
    }
    if len(leads) != 1:
        return -1, {}
    return next(iter(leads.items()))


def _young(situation: Situation, instance: InstanceView) -> ServiceReport | None:
    seen = situation.seen.reports.get(instance.key)
    if seen is None or not seen.has_young_figures(situation.now):
        return None
    report = service_report(situation, instance)
    is_this = report is not None and report.state == "running" and report.start_id == start_id(instance)
    return report if is_this else None


def _unsettled(
    situation: Situation,
    migration: MigrationView,
    brokers: Mapping[int, Knows],
    controllers: Mapping[int, Knows],
) -> frozenset[int]:
    late = {i.service_id for i in _of(situation, "broker") if not _runs(situation, i)}
    there = set()
    for one in _of(situation, "controller"):
        there.add(one.service_id)
        if controllers[one.service_id] is not Knows.STOPPED and not controller_serves(situation, one):
            late.add(one.service_id)
    late |= {c for c, sent in controllers.items() if sent is not Knows.STOPPED and c not in there}
    if _is_cut(brokers, controllers):
        # Nobody leads, so nobody can be asked; all were in sync when the first of them was stopped.
        return frozenset(late)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or kafka.at <= migration.since:
        return frozenset(late) | brokers.keys()
    return frozenset(late) | _out_of_sync(kafka, brokers)


def _is_cut(brokers: Mapping[int, Knows], controllers: Mapping[int, Knows]) -> bool:
    return Knows.STOPPED in brokers.values() and all(k is Knows.STOPPED for k in controllers.values())


def _runs(situation: Situation, instance: InstanceView) -> bool:
    if instance.lost or instance.phase is not Phase.JOINED:
        return False
    report = service_report(situation, instance)
    return report is not None and report.state == "running" and report.start_id == start_id(instance)


def _out_of_sync(kafka: KafkaSnapshot, brokers: Mapping[int, Knows]) -> set[int]:
    live = kafka.live_brokers()
    behind = {r for p in kafka.partitions for r in p.target if r not in p.isr and r not in p.adding}
    return {b for b in brokers if b not in live or b in behind}


def _soak_left_s(situation: Situation, migration: MigrationView) -> float:
    document, since = situation.view.document, migration.krafts_since
    if document is None or since is None:
        return 0.0
    return max(0.0, document.spec.rollout.soak_s - situation.seconds_since(since))
