"""The fold of VMs: asked for, made, joined, lost, adopted. Part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds import (
    controller_moves as controller_move_fold,
    nodes as nodefold,
    rebalances as balancefold,
    settings as settingfold,
    spec_order as specorderfold,
)
from controlplane.cluster.folds.steps import Rules, change, close_intent, counted_anew, frozen, move, open_intent
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.node_names import security_to_have
from controlplane.cluster.places import planned_place
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import DepartureView, InstanceView, PublicView, StartView
from events import facts
from events.spec.settings import spec_config
from planner.rollout.desired import listeners_in_digest
from providers.errors import NotPermitted


def _surge(view: ClusterView, e: facts.SurgeRequested, at: datetime) -> ClusterView:
    instances = dict(view.instances)
    next_broker, ids = view.vms.next_broker_id, dict(view.quorum.controller_ids)
    for planned in e.instances:
        if planned.key in instances:
            raise ValueError(f"instance {planned.key} was already requested")
        instances[planned.key] = InstanceView(
            planned,
            Phase.REQUESTED,
            at,
            e.intent,
            at,
            bound=not planned.handover,
            place=planned_place(view, planned),
            port=_port(view, planned),
            start=_born(view, planned, size=e.sizes.get(planned.key)),
            public=PublicView(asked=planned.key in e.public),
        )
        if planned.handover and not planned.relieves:
            continue
        if planned.service == "broker":
            if planned.service_id < next_broker:
                raise ValueError(f"broker id {planned.service_id} was already spent")
            next_broker = planned.service_id + 1
        else:
            ids[planned.node] = planned.service_id
    made = tuple(p.key for p in e.instances if not p.deferred)
    if made:
        view = open_intent(view, e.intent, "surge", made, at)
    return replace(
        view,
        instances=frozen(instances),
        vms=replace(view.vms, next_broker_id=next_broker),
        quorum=replace(view.quorum, controller_ids=frozen(ids)),
    )


def _config(view: ClusterView, planned: facts.PlannedInstance) -> Mapping[str, str] | None:
    """The spec's Kafka settings an instance is made with: unless it says otherwise, those in force at its intent."""
    if planned.config is not None or view.document is None:
        return planned.config
    return spec_config(view.document, planned.pool)


def _born(view: ClusterView, planned: facts.PlannedInstance, *, size: facts.PlannedSize | None) -> StartView:
    """What it is first started with, by the spec in force at its intent."""
    config, document = _config(view, planned), view.document
    born = StartView(born_with=config, config=config, size=size, least_rights=view.settings.least_rights)
    if document is None:
        return born
    security = security_to_have(view, document, planned.service)
    return replace(born, security=security, born_listeners=listeners_in_digest(document))


def _port(view: ClusterView, planned: facts.PlannedInstance) -> int:
    """A process is told its port at each start: one that comes back must be where clients know it."""
    if planned.service != "broker" or view.document is None:
        return planned.port
    return planned.port or view.broker_port


def _surged(view: ClusterView, e: facts.SurgeCompleted, at: datetime) -> ClusterView:
    view = close_intent(view, e.intent)
    for launched in e.instances:
        view = move(
            view,
            launched.key,
            Phase.LAUNCHED,
            at,
            cloud_id=launched.cloud_id,
            address=launched.address,
            launched_at=at,
        )
    view = controller_move_fold.addressed(view, e)
    view = replace(view, vms=replace(view.vms, node_addresses=frozen({**view.vms.node_addresses, **e.node_addresses})))
    return controller_move_fold.begun(view, at)


def _run_failed(view: ClusterView, e: facts.RunFailed, at: datetime) -> ClusterView:
    intent = view.intents[e.intent]
    refused = e.error == NotPermitted.__name__
    failed = replace(
        intent,
        failures=intent.failures + (0 if refused else 1),
        refusals=intent.refusals + 1 if refused else 0,
        tries=intent.tries + 1,
        failed_at=at,
        error=f"{e.error}: {e.message}",
        retryable=e.retryable,
        substituted=False,
    )
    return replace(view, intents=frozen({**view.intents, e.intent: failed}))


def _substituted(view: ClusterView, e: facts.MachineSubstituted, at: datetime) -> ClusterView:
    for key, machine in e.machines.items():
        instance = view.instances[key]
        if instance.phase is not Phase.REQUESTED:
            raise ValueError(f"instance {key} exists already and stays the machine it is")
        view = change(view, key, planned=replace(instance.planned, shape=machine))
    intent = replace(view.intents[e.intent], substituted=True)
    return replace(view, intents=frozen({**view.intents, e.intent: intent}))


def _joined(view: ClusterView, e: facts.InstanceJoined, at: datetime) -> ClusterView:
    view = move(view, e.key, Phase.JOINED, at, served_at=at)
    if e.measured:
        known = frozen({**view.vms.measured_volumes, **e.measured})
        view = replace(view, vms=replace(view.vms, measured_volumes=known))
    return balancefold.newcomer(replace(view, roll=replace(view.roll, join_failures=0)), e.key)


def _join_failed(view: ClusterView, e: facts.JoinFailed, at: datetime) -> ClusterView:
    instance = view.instances[e.key]
    view = move(view, e.key, Phase.FAILED, at)
    if instance.intent in view.intents:
        view = close_intent(view, instance.intent)
    if e.superseded:
        return view
    # VMs of one intent that fail together count once.
    failed = view.in_phase(Phase.FAILED)
    first = not any(i.intent == instance.intent and i.key != e.key for i in failed)
    return replace(view, roll=replace(view.roll, join_failures=view.roll.join_failures + int(first)))


def _takeover_failed(view: ClusterView, e: facts.TakeoverFailed, at: datetime) -> ClusterView:
    """Its predecessor's disks are its own by now, and nobody else has the id: it stays until all it had is copied."""
    return nodefold.not_taken_over(move(view, e.key, Phase.JOINED, at), e, at)


def _reconfigured(view: ClusterView, e: facts.InstanceReconfigured, at: datetime) -> ClusterView:
    """What it is told from here on. It, and who waited for it, have as long as the first time to join."""
    instance = view.instances[e.key]
    if instance.phase is not Phase.LAUNCHED:
        raise ValueError(f"instance {e.key} is {instance.phase}: only who has not joined is told anew like this")
    before = instance.start
    start = replace(
        before,
        count=e.start,
        reconfigured=before.reconfigured + 1,
        config=None if before.config is None else settingfold.with_values(before.config, e.config),
        settings=settingfold.with_values(instance.settings, e.told),
        jvm=before.jvm.then(e.jvm),
        security=settingfold.applied_security(view, instance, e.security),
        least_rights=view.settings.least_rights,
    )
    return counted_anew(change(view, e.key, start=start), at)


def _lost(view: ClusterView, e: facts.InstanceLost, at: datetime) -> ClusterView:
    return settingfold.stopped(change(view, e.key, lost_at=at), e.key)


def _founded(view: ClusterView, e: facts.QuorumFounded, at: datetime) -> ClusterView:
    return counted_anew(
        replace(view, quorum=replace(view.quorum, founding=e, voters=frozen({v.id: v for v in e.voters}))), at
    )


def _taken_over(view: ClusterView, e: facts.ClusterAdopted, at: datetime) -> ClusterView:
    if view.instances:
        raise ValueError("a cluster with a history of its own cannot be adopted")
    return replace(
        view,
        vms=replace(
            view.vms,
            next_broker_id=max(view.vms.next_broker_id, e.next_broker_id),
            spent=frozen({s.node: s for s in e.spent}),
            node_addresses=frozen({**view.vms.node_addresses, **e.node_addresses}),
        ),
        roll=replace(view.roll, converged=view.generation if e.reached else 0),
        declaration=replace(view.declaration, spec_order=specorderfold.reached(view, at) if e.reached else None),
        requests=replace(view.requests, held=f"its history was rebuilt from {e.found_by}"),
    )


def _found(view: ClusterView, e: facts.InstanceAdopted, at: datetime) -> ClusterView:
    planned = e.planned
    if planned.key in view.instances:
        raise ValueError(f"instance {planned.key} is known already")
    if planned.service == "broker" and planned.service_id >= view.vms.next_broker_id:
        raise ValueError(f"broker id {planned.service_id} of {planned.key} is not counted as spent")
    phase = Phase(e.phase)
    instance = InstanceView(
        planned,
        phase,
        at,
        e.intent,
        at,
        cloud_id=e.cloud_id,
        address=e.address,
        bound=e.bound,
        place=planned_place(view, planned),
        launched_at=at,
        served_at=at if phase is Phase.JOINED else None,
        adopted=True,
        port=_port(view, planned),
        start=replace(_born(view, planned, size=e.size), count=e.starts),
        departure=DepartureView(fenced_at=at if phase in (Phase.FENCED, Phase.RELEASED) else None, drained=e.drained),
        public=PublicView(asked=e.public),
    )
    ids = view.quorum.controller_ids
    if planned.service != "broker":
        ids = frozen({**ids, planned.node: planned.service_id})
    return replace(
        view,
        instances=frozen({**view.instances, planned.key: instance}),
        quorum=replace(view.quorum, controller_ids=ids),
    )


RULES: Rules = {
    facts.SurgeRequested: _surge,
    facts.SurgeCompleted: _surged,
    facts.MachineSubstituted: _substituted,
    facts.RunFailed: _run_failed,
    facts.InstanceJoined: _joined,
    facts.JoinFailed: _join_failed,
    facts.TakeoverFailed: _takeover_failed,
    facts.InstanceReconfigured: _reconfigured,
    facts.InstanceLost: _lost,
    facts.QuorumFounded: _founded,
    facts.ClusterAdopted: _taken_over,
    facts.InstanceAdopted: _found,
}
