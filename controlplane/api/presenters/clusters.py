"""From folded views to what the API says. Pure, but for the reports that are handed in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from controlplane.api.costs import cost_out
from controlplane.api.moments import as_utc
from controlplane.api.presenters.quorum import quorum_out
from controlplane.api.schemas import clusters as api
from controlplane.api.schemas.external import ExternalBrokerOut
from controlplane.api.services import Fleet
from controlplane.api.trouble import why
from controlplane.cluster.endpoints import listed_brokers
from controlplane.cluster.external_brokers import client_addresses, external_brokers
from controlplane.cluster.holds import hold_on
from controlplane.cluster.lifecycle import SERVING, Phase
from controlplane.cluster.observed.agent_reports import ReportSeen, reports_by_key
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.work_in_hand import has_work, is_worked_on
from controlplane.commands.deciders.nodes import asked_for
from controlplane.commands.handler import Outcome
from controlplane.commands.previews.plan import Preview, pending_rollout
from controlplane.converger.conditions.changes import BLOCKED
from controlplane.converger.conditions.ticks import TICK_FAILING
from controlplane.converger.steps.rolls.external_brokers import external_words
from controlplane.storage.agent_credentials import Credential
from controlplane.storage.latest_values import Observation
from events.envelope import Recorded
from events.spec.conversion import to_data
from events.spec.problems import Problem
from planner.observed import KafkaSnapshot
from planner.quantities import human_seconds
from planner.rollout.steps import RolloutPlan, RolloutStep

STALE = timedelta(seconds=180)
"""Kafka of a cluster at rest is read once a minute: older than three such looks, nobody knows."""

CONSOLE_LINES = 12
"""Of a console, beside everything else of its cluster."""


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """What is known of the agent of one VM."""

    report: ReportSeen | None = None
    credential: Credential | None = None
    is_overdue: bool = False
    is_uncertified: bool = False
    """Its agent has shown no certificate, where certificates are asked for."""
    certificate_until: datetime | None = None
    """When the one ends that it showed last."""


def cluster_out(
    view: ClusterView,
    fleet: Fleet,
    *,
    now: datetime,
    progress: str = "",
    source: api.SpecSourceOut | None = None,
) -> api.ClusterOut:
    """One cluster, in short. `progress` is what its long act in hand is at, `source` where its spec comes from."""
    return api.ClusterOut(**_short(view, fleet, now, progress), source=source or api.SpecSourceOut())


def cluster_detail(
    view: ClusterView,
    fleet: Fleet,
    *,
    agents: Mapping[str, AgentSeen],
    now: datetime,
    progress: str = "",
    source: api.SpecSourceOut | None = None,
    consoles: Iterable[Observation] = (),
    window: str = "",
) -> api.ClusterDetailOut:
    """One cluster with all that is known of it. `agents` by instance key."""
    snapshot = fleet.last_snapshot(view.uid)
    pending = pending_rollout(view, snapshot)
    conditions = [
        api.ConditionOut(type=t, status=c.status, reason=c.reason, message=c.message, since=c.since)
        for t, c in sorted(view.conditions.items())
    ]
    told = api.ClusterDetailOut(
        **_short(view, fleet, now, progress),
        source=source or api.SpecSourceOut(),
        faults=[_fault_words(c, now) for c in view.chaos.values()],
        faults_alone=bool(view.chaos) and not is_worked_on(view),
        conditions=conditions,
        instances=[instance_out(view, i, agents.get(i.key, AgentSeen()), now, snapshot) for i in view.alive()],
        externals=[
            ExternalBrokerOut(id=b.id, rack=b.rack, address=b.address, state=external_words(view, b))
            for b in external_brokers(view).values()
        ],
        drain=_drain(view),
        rebalance=rebalance_out(view),
        consoles=consoles_out(consoles, now),
        quorum=quorum_out(view, snapshot),
        window=window,
        pending=[step_out(s) for phase in pending.phases for s in phase.steps],
        document=to_data(view.document) if view.document else {},
        stream_version=view.version,
        **_metadata(snapshot, now),
    )
    return told.model_copy(update={"why": why(told)})


def _fault_words(chaos: ChaosView, now: datetime) -> str:
    left = chaos.for_s - (now - chaos.since).total_seconds()
    over = f"over in {human_seconds(left)}" if left > 0 else "over at the next tick"
    return f"{chaos.fault} of {', '.join(chaos.keys)}, {chaos.reason}: {over}"


def consoles_out(observations: Iterable[Observation], now: datetime) -> list[api.ConsoleOut]:
    """Those of the last day, newest first, each with its last lines."""
    young = [console_out(o, lines=CONSOLE_LINES) for o in observations if now - o.observed_at < timedelta(days=1)]
    return sorted(young, key=lambda c: c.at, reverse=True)


def console_out(seen: Observation, *, lines: int | None = None) -> api.ConsoleOut:
    """One console, whole or its last lines."""
    value, text = seen.value, str(seen.value["text"])
    shown = text if lines is None else "\n".join(text.splitlines()[-lines:])
    return api.ConsoleOut(node=seen.subject.name, key=value["key"], at=seen.observed_at, text=shown, why=value["why"])


def agents_seen(
    observations: Iterable[Observation],
    credentials: Iterable[Credential],
    *,
    credential_life: timedelta,
    asks_certificates: bool,
    now: datetime,
    certificates: Mapping[str, datetime] = MappingProxyType({}),
) -> dict[str, AgentSeen]:
    """Agents by instance key: reports out of the latest-value table, and what they prove themselves with.

    `certificates`: when that of an instance ends. A credential is overdue at twice its life: an agent that is switched
    off, or older than rotations are.
    """
    reports = reports_by_key(observations)
    shown = {f"{c.vm.node}.g{c.vm.generation}": c for c in credentials}
    overdue = {key for key, c in shown.items() if c.is_older_than(2 * credential_life, now)}
    bare = {key for key, c in shown.items() if asks_certificates and c.certified_at is None}
    return {
        key: AgentSeen(reports.get(key), shown.get(key), key in overdue, key in bare, certificates.get(key))
        for key in reports.keys() | shown.keys()
    }


def endpoints_out(view: ClusterView, names: Iterable[Observation] = ()) -> api.EndpointsOut:
    """How clients find the cluster: the DNS name first, then the brokers that are to stay. `names` as kept in DNS."""
    document = view.document
    if document is None:
        return api.EndpointsOut(cluster=view.name, bootstrap=[], dns=None, security="plaintext", published_at=None)
    listener, bootstrap = document.spec.listeners[0], document.spec.bootstrap
    listed = listed_brokers(view)
    addresses = [f"{view.address_of(i)}:{view.port_of(i)}" for i in listed] if bootstrap.list else []
    addresses += client_addresses(view) if bootstrap.list else ()
    return api.EndpointsOut(
        cluster=view.name,
        bootstrap=[*([f"{bootstrap.dns}:{listener.port}"] if bootstrap.dns else []), *addresses],
        dns=bootstrap.dns,
        security=listener.security,
        published_at=max((i.since for i in listed), default=None),
        names=[_dns_name(o) for o in names if o.value["addresses"] or o.value["problem"]],
    )


def _dns_name(seen: Observation) -> api.DnsNameOut:
    value = dict(seen.value)
    return api.DnsNameOut(
        name=seen.subject.name, addresses=value["addresses"], problem=value["problem"], since=seen.observed_at
    )


def event_out(recorded: Recorded) -> api.EventOut:
    """One recorded event."""
    return api.EventOut(
        position=recorded.position,
        version=recorded.version,
        type=recorded.type,
        at=recorded.recorded_at,
        actor=recorded.actor,
        data=dict(recorded.data),
    )


def plan_out(plan: Preview) -> api.PlanOut:
    """The plan of one document."""
    return api.PlanOut(
        cluster=plan.cluster,
        exists=plan.exists,
        generation=plan.generation,
        changes=[
            api.FieldChangeOut(
                path=c.path,
                old=c.old,
                new=c.new,
                field_class=c.field_class.value,
                effect=plan.effects.get(c.path, ""),
            )
            for c in plan.changes
        ],
        phases=_phases(plan.rollout),
        bytes=plan.rollout.bytes,
        sizes_age_s=plan.sizes_age_s,
        seconds=plan.rollout.seconds,
        warnings=list(plan.warnings),
        digest=plan.digest,
        brake=plan.brake,
        window=plan.window,
        networks=list(plan.networks),
        clients=list(plan.clients),
        moves=list(plan.moves),
        afterwards=list(plan.afterwards),
        cost=cost_out(plan.cost),
    )


def problem_out(problem: Problem) -> api.ProblemOut:
    """One problem of a spec, at its place."""
    return api.ProblemOut(
        file=problem.file,
        line=problem.line,
        column=problem.column,
        code=problem.code,
        severity=problem.severity,
        message=problem.message,
        fix=problem.fix,
    )


def applied_out(outcome: Outcome) -> api.AppliedOut:
    """What came of declaring one cluster."""
    return api.AppliedOut(
        cluster=outcome.name,
        uid=outcome.uid,
        generation=outcome.generation,
        changed=outcome.changed,
        created=outcome.created,
    )


def command_out(outcome: Outcome) -> api.CommandOut:
    """What came of a command."""
    return api.CommandOut(cluster=outcome.name, changed=outcome.changed, sentence=outcome.sentence)


def in_utc(at: datetime | None) -> datetime | None:
    """A moment as events hold it; one without a zone is taken as UTC."""
    return None if at is None else as_utc(at)


def status_word(view: ClusterView, now: datetime) -> str:
    """One word: the first that holds. A pause whose time has run out holds nothing."""
    if view.unreadable:
        return "Unreadable"
    if view.held:
        return "Held"
    if view.tombstone:
        return "Deleting"
    if hold_on(view, now) is not None:
        return "Paused"
    told = (view.conditions.get(kind) for kind in (BLOCKED, TICK_FAILING))
    if any(condition is not None and condition.status for condition in told):
        return "Blocked"
    return "Working" if has_work(view) else "Converged"


def _short(view: ClusterView, fleet: Fleet, now: datetime, progress: str) -> dict[str, object]:
    said = fleet.said(view.uid)
    sentence = said.sentence if said else ""
    pools = view.document.spec.pools if view.document else ()
    present = [i for i in view.alive() if i.phase in SERVING and not i.lost]
    snapshot = fleet.last_snapshot(view.uid)
    return {
        "name": view.name,
        "uid": view.uid,
        "generation": view.generation,
        "converged_generation": view.converged,
        "kafka_version": view.document.spec.kafka.version if view.document else "",
        "status": status_word(view, now),
        "sentence": f"{sentence}: {progress}" if progress and sentence else sentence,
        "sentence_at": said.at if said else None,
        "brokers": _brokers_up(present, snapshot),
        "controllers": sum(_has_voter(i) and i.phase is not Phase.LAUNCHED for i in present),
        "desired_brokers": sum(p.size for p in pools if p.is_broker),
        "desired_controllers": sum(p.size for p in pools if p.is_quorum),
        "paused": view.paused if hold_on(view, now) else "",
        "declared_at": view.declared_at,
    }


def _brokers_up(present: Iterable[InstanceView], kafka: KafkaSnapshot | None) -> int:
    """How many have joined, and serve by Kafka's last word where there is one."""
    joined = [i.service_id for i in present if i.is_broker and i.phase is not Phase.LAUNCHED]
    live = kafka.live_brokers() if kafka is not None else joined
    return sum(broker in live for broker in joined)


def _has_voter(instance: InstanceView) -> bool:
    """Whether a member of the quorum is on its VM."""
    return not instance.is_broker or (instance.planned.member is not None and not instance.member.gone)


def _metadata(snapshot: KafkaSnapshot | None, now: datetime) -> dict[str, object]:
    if snapshot is None:
        unknown = dict.fromkeys(("under_min_isr", "under_replicated", "leaderless", "partitions", "metadata_age_s"))
        return {"features": {}, **unknown}
    return {
        "features": {name: f.finalised for name, f in sorted(snapshot.features.items())},
        "under_min_isr": len(snapshot.under_min_isr()),
        "under_replicated": len(snapshot.under_replicated()),
        "leaderless": len(snapshot.leaderless()),
        "partitions": len(snapshot.partitions),
        "metadata_age_s": max(0.0, (now - snapshot.at).total_seconds()),
    }


def instance_out(
    view: ClusterView, instance: InstanceView, agent: AgentSeen, now: datetime, kafka: KafkaSnapshot | None = None
) -> api.InstanceOut:
    """One VM, with what its agent says of its services, and what Kafka's last metadata says of its broker."""
    planned, seen, credential = instance.planned, agent.report, agent.credential
    service, beside = seen.service(planned.service) if seen else None, _beside(view, instance, seen)
    server = seen.service("zookeeper") if seen and beside else None
    found = [*(service.findings if service else ()), *(server.findings if server else ())]
    return api.InstanceOut(
        key=instance.key,
        node=instance.node,
        generation=planned.generation,
        pool=planned.pool,
        rack=planned.rack,
        service=planned.service,
        service_id=planned.service_id,
        kafka_version=planned.kafka_version,
        shape=planned.shape,
        spot=planned.spot,
        ipv6=planned.ipv6,
        phase=instance.phase,
        since=instance.since,
        address=view.address_of(instance),
        cloud_id=instance.cloud_id,
        lost=instance.lost,
        replaces=f"{instance.node}.g{planned.replaces}" if planned.replaces else "",
        reported_state=service.state if service else "",
        reported_message=service.message if service else "",
        report_age_s=max(0.0, (now - seen.received_at).total_seconds()) if seen else None,
        kafka_state=_kafka_state(instance, kafka, now),
        asked=asked_for(view, instance.key),
        credential_since=credential.since if credential else None,
        credential_overdue=agent.is_overdue,
        uncertified=agent.is_uncertified,
        certificate_ends_at=agent.certificate_until,
        outdated_credential_at=credential.outdated_shown_at if credential else None,
        findings=[api.FindingOut(**f.model_dump()) for f in found],
        beside=beside,
    )


def _kafka_state(instance: InstanceView, kafka: KafkaSnapshot | None, now: datetime) -> str:
    """Metadata from before it joined, or that nobody has read again for long, says nothing of it."""
    if not instance.is_broker or kafka is None or now - kafka.at > STALE or kafka.at <= instance.since:
        return ""
    seen = kafka.brokers.get(instance.service_id)
    return "absent" if seen is None else "fenced" if seen.fenced else "serves"


def _beside(view: ClusterView, instance: InstanceView, seen: ReportSeen | None) -> api.BesideOut | None:
    member = instance.planned.member
    if member is None:
        return None
    server = seen.service("zookeeper") if seen else None
    voter = view.voters.get(member.service_id)
    voting = voter is not None and voter.directory_id == member.directory_id
    return api.BesideOut(
        service_id=member.service_id,
        votes=voting,
        reported_state=server.state if server else "",
        reported_message=server.message if server else "",
    )


def _drain(view: ClusterView) -> api.DrainOut | None:
    drain = view.drain
    if drain is None:
        return None
    return api.DrainOut(
        keys=list(drain.keys),
        outgoing=list(drain.outgoing),
        round=drain.round,
        engine=drain.plan.engine,
        moves=drain.plan.moves,
        bytes=drain.plan.bytes,
        batch=drain.progress.batch,
        batches=drain.plan.batches,
    )


def rebalance_out(view: ClusterView) -> api.RebalanceOut | None:
    """The rebalance in hand, None when there is none."""
    rebalance = view.rebalance
    if rebalance is None:
        return None
    return api.RebalanceOut(
        cause=rebalance.cause,
        onto=list(rebalance.chosen),
        reason=rebalance.reason,
        round=rebalance.round,
        engine=rebalance.plan.engine,
        moves=rebalance.plan.moves,
        bytes=rebalance.plan.bytes,
        bytes_left=max(0, rebalance.plan.bytes - rebalance.begun_bytes),
        batch=rebalance.progress.batch,
        batches=rebalance.plan.batches,
        imbalance_before=rebalance.gains.imbalance_before,
        imbalance_after=rebalance.gains.imbalance_after,
        done_moves=rebalance.progress.done_moves,
        done_bytes=rebalance.progress.done_bytes,
        per_day_bytes=rebalance.terms.per_day_bytes,
        cancelled=rebalance.cancelled,
        failed=rebalance.planning.failed,
    )


def _phases(rollout: RolloutPlan) -> list[api.PhaseOut]:
    return [
        api.PhaseOut(name=phase.name, parallel=phase.parallel, steps=[step_out(s) for s in phase.steps])
        for phase in rollout.phases
    ]


def step_out(step: RolloutStep) -> api.StepOut:
    """One step of a roll that is to come."""
    return api.StepOut(
        change=step.change,
        node=step.node,
        rack=step.rack,
        service=step.service,
        reason=step.reason,
        how=list(step.how),
        bytes=step.bytes,
        seconds=step.seconds,
    )
