"""The fold of one cluster's stream: what was asked, what was decided, what came of it.

`evolve(view, recorded) -> view` is pure and total. An event it cannot place marks the view unreadable, which freezes
every effect on that cluster; it never raises and never guesses.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from controlplane import healingfold, nodefold, settingfold, specsource
from controlplane.replacement import IllegalTransition, Phase, require
from controlplane.view import ClusterView, ConditionView, DrainView, InstanceView, IntentView
from events import facts
from events.codec import decode
from events.envelope import Recorded
from events.errors import EventsError
from events.spec.conversion import UnknownApiVersion, from_data

_K = TypeVar("_K")
_V = TypeVar("_V")


def fold(view: ClusterView, history: Iterable[Recorded]) -> ClusterView:
    """The view after all these events."""
    for recorded in history:
        view = evolve(view, recorded)
    return view


def evolve(view: ClusterView, recorded: Recorded) -> ClusterView:
    """The view after one event. Total: what cannot be placed sets `unreadable`."""
    if view.unreadable:
        return replace(view, version=recorded.version)
    try:
        event = decode(recorded)
        apply = _APPLY.get(type(event))
        if apply is None:
            raise LookupError(f"no rule for event type {recorded.type}")
        after = apply(view, event, recorded.recorded_at)
    except (EventsError, IllegalTransition, UnknownApiVersion, LookupError, ValueError) as error:
        reason = f"event {recorded.version} ({recorded.type}): {error}"
        return replace(view, version=recorded.version, unreadable=reason)
    moved_on = view.progressed_at if isinstance(event, facts.ConditionChanged) else recorded.recorded_at
    return replace(after, version=recorded.version, progressed_at=moved_on)


# --- declarations -----------------------------------------------------------------------------------------------


def _declared(view: ClusterView, e: facts.ClusterDeclared, at: datetime) -> ClusterView:
    document = from_data(e.document)
    view = settingfold.forgiven(view)
    return replace(view, name=e.name, generation=e.generation, document=document, declared_at=at)


def _deletion(view: ClusterView, e: facts.ClusterDeletionRequested, at: datetime) -> ClusterView:
    return replace(view, tombstone=e.reason or "asked for", tombstone_at=at)


def _paused(view: ClusterView, e: facts.ClusterPaused, at: datetime) -> ClusterView:
    return replace(view, paused=e.reason or "paused", paused_until=e.until)


def _resumed(view: ClusterView, e: facts.ClusterResumed, at: datetime) -> ClusterView:
    view = settingfold.forgiven(view)
    forgiven = {k: replace(i, failures=0, failed_at=None, retryable=True) for k, i in view.intents.items()}
    drain = replace(view.drain, round=1, failures=0, failed="", failed_at=None) if view.drain else None
    return replace(
        view,
        paused="",
        paused_until=None,
        aborting="",
        held="",
        join_failures=0,
        intents=_frozen(forgiven),
        drain=drain,
    )


def _aborted(view: ClusterView, e: facts.RecycleAborted, at: datetime) -> ClusterView:
    view = nodefold.given_up(view)
    return replace(view, aborting=e.reason or "aborted", paused=e.reason or "aborted", paused_until=None)


# --- instances --------------------------------------------------------------------------------------------------


def _surge(view: ClusterView, e: facts.SurgeRequested, at: datetime) -> ClusterView:
    instances = dict(view.instances)
    next_broker, ids = view.next_broker_id, dict(view.controller_ids)
    for planned in e.instances:
        if planned.key in instances:
            raise ValueError(f"instance {planned.key} was already requested")
        config = _config(view, planned)
        instances[planned.key] = InstanceView(
            planned, Phase.REQUESTED, at, e.intent, at, bound=not planned.handover, born_with=config, config=config
        )
        if planned.handover:
            continue
        if planned.service == "broker":
            if planned.service_id < next_broker:
                raise ValueError(f"broker id {planned.service_id} was already spent")
            next_broker = planned.service_id + 1
        else:
            ids[planned.node] = planned.service_id
    made = tuple(p.key for p in e.instances if not p.deferred)
    if made:
        view = _open(view, e.intent, "surge", made, at)
    return replace(view, instances=_frozen(instances), next_broker_id=next_broker, controller_ids=_frozen(ids))


def _config(view: ClusterView, planned: facts.PlannedInstance) -> Mapping[str, str] | None:
    """The spec's Kafka settings an instance is made with: unless it says otherwise, those in force at its intent."""
    if planned.config is not None or view.document is None:
        return planned.config
    return view.document.spec.kafka.config


def _surged(view: ClusterView, e: facts.SurgeCompleted, at: datetime) -> ClusterView:
    view = _close(view, e.intent)
    for launched in e.instances:
        view = _move(
            view,
            launched.key,
            Phase.LAUNCHED,
            at,
            cloud_id=launched.cloud_id,
            address=launched.address,
            launched_at=at,
        )
    return replace(view, node_addresses=_frozen({**view.node_addresses, **e.node_addresses}))


def _run_failed(view: ClusterView, e: facts.RunFailed, at: datetime) -> ClusterView:
    intent = view.intents[e.intent]
    failed = replace(
        intent,
        failures=intent.failures + 1,
        tries=intent.tries + 1,
        failed_at=at,
        error=f"{e.error}: {e.message}",
        retryable=e.retryable,
        substituted=False,
    )
    return replace(view, intents=_frozen({**view.intents, e.intent: failed}))


def _substituted(view: ClusterView, e: facts.MachineSubstituted, at: datetime) -> ClusterView:
    for key, machine in e.machines.items():
        instance = view.instances[key]
        if instance.phase is not Phase.REQUESTED:
            raise ValueError(f"instance {key} exists already and stays the machine it is")
        view = _change(view, key, planned=replace(instance.planned, shape=machine))
    intent = replace(view.intents[e.intent], substituted=True)
    return replace(view, intents=_frozen({**view.intents, e.intent: intent}))


def _joined(view: ClusterView, e: facts.InstanceJoined, at: datetime) -> ClusterView:
    return replace(_move(view, e.key, Phase.JOINED, at), join_failures=0)


def _join_failed(view: ClusterView, e: facts.JoinFailed, at: datetime) -> ClusterView:
    instance = view.instances[e.key]
    view = _move(view, e.key, Phase.FAILED, at)
    if instance.intent in view.intents:
        view = _close(view, instance.intent)
    # VMs of one intent that fail together count once.
    failed = view.in_phase(Phase.FAILED)
    first = not any(i.intent == instance.intent and i.key != e.key for i in failed)
    return replace(view, join_failures=view.join_failures + int(first))


def _lost(view: ClusterView, e: facts.InstanceLost, at: datetime) -> ClusterView:
    return settingfold.lost(_change(view, e.key, lost_at=at), e.key)


def _founded(view: ClusterView, e: facts.QuorumFounded, at: datetime) -> ClusterView:
    return replace(view, founding=e)


# --- taken over without a history -------------------------------------------------------------------------------


def _taken_over(view: ClusterView, e: facts.ClusterAdopted, at: datetime) -> ClusterView:
    if view.instances:
        raise ValueError("a cluster with a history of its own cannot be adopted")
    return replace(
        view,
        held=f"its history was rebuilt from {e.found_by}",
        next_broker_id=max(view.next_broker_id, e.next_broker_id),
        spent=_frozen({s.node: s for s in e.spent}),
        node_addresses=_frozen({**view.node_addresses, **e.node_addresses}),
        converged=view.generation if e.reached else 0,
    )


def _found(view: ClusterView, e: facts.InstanceAdopted, at: datetime) -> ClusterView:
    planned = e.planned
    if planned.key in view.instances:
        raise ValueError(f"instance {planned.key} is known already")
    if planned.service == "broker" and planned.service_id >= view.next_broker_id:
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
        starts=e.starts,
        launched_at=at,
        fenced_at=at if phase is Phase.RELEASED else None,
        drained=e.drained,
        adopted=True,
        born_with=_config(view, planned),
        config=_config(view, planned),
    )
    ids = view.controller_ids
    if planned.service == "controller":
        ids = _frozen({**ids, planned.node: planned.service_id})
    return replace(view, instances=_frozen({**view.instances, planned.key: instance}), controller_ids=ids)


# --- a roll -----------------------------------------------------------------------------------------------------


def _recycle(view: ClusterView, e: facts.RecycleStarted, at: datetime) -> ClusterView:
    return replace(view, recycling=e.generation)


def _recycled(view: ClusterView, e: facts.RecycleCompleted, at: datetime) -> ClusterView:
    return replace(view, recycling=0, converged=e.generation)


def _drain(view: ClusterView, e: facts.DrainRequested, at: datetime) -> ClusterView:
    for key in e.keys:
        view = _move(view, key, Phase.DRAINING, at)
    successors = _frozen({int(old): new for old, new in e.successors.items()})
    drain = DrainView(
        e.drain,
        e.keys,
        e.outgoing,
        successors,
        e.targets,
        e.round,
        at,
        done_bytes=e.done_bytes,
        done_moves=e.done_moves,
        stays=e.stays,
    )
    return replace(nodefold.emptying(view, e.keys), drain=drain, drains=view.drains + 1)


def _planned(view: ClusterView, e: facts.DrainPlanned, at: datetime) -> ClusterView:
    drain = replace(
        _current(view, e.drain),
        plan_sha256=e.plan_sha256,
        engine=e.engine,
        moves=e.moves,
        bytes=e.bytes,
        batches=e.batches,
        failed="",
    )
    return replace(view, drain=drain)


def _plan_failed(view: ClusterView, e: facts.DrainPlanFailed, at: datetime) -> ClusterView:
    drain = _current(view, e.drain)
    failed = replace(
        drain,
        failed=e.reason,
        failures=drain.failures + 1,
        tries=drain.tries + 1,
        failed_at=at,
        plan_sha256="",
        batch=-1,
        moving_at=None,
    )
    return replace(view, drain=failed)


def _abandoned(view: ClusterView, e: facts.DrainAbandoned, at: datetime) -> ClusterView:
    for key in _current(view, e.drain).keys:
        view = _move(view, key, Phase.JOINED, at)
    return replace(view, drain=None)


def _batch(view: ClusterView, e: facts.BatchStarted, at: datetime) -> ClusterView:
    drain = _current(view, e.drain)
    return replace(view, drain=replace(drain, batch=e.batch, moving_at=drain.moving_at or at))


def _drained(view: ClusterView, e: facts.NodeDrained, at: datetime) -> ClusterView:
    _current(view, e.drain)
    for key in e.keys:
        view = _move(view, key, Phase.LINGERING, at)
    share = len(e.keys)
    for index, key in enumerate(e.keys):
        # Several brokers leave in one drain: the first carries what does not divide.
        extra = e.bytes % share if index == 0 else 0
        was = view.instances[key]
        view = _change(
            view,
            key,
            drained=True,
            drained_bytes=was.drained_bytes + e.bytes // share + extra,
            drained_moves=was.drained_moves + e.moves // share,
        )
    return replace(view, drain=None)


def _fence(view: ClusterView, e: facts.FenceRequested, at: datetime) -> ClusterView:
    for key in e.keys:
        view = _move(view, key, Phase.FENCING, at)
    return view


def _fenced(view: ClusterView, e: facts.NodeFenced, at: datetime) -> ClusterView:
    return _change(_move(view, e.key, Phase.FENCED, at), e.key, fenced_at=at)


def _reverted(view: ClusterView, e: facts.FenceReverted, at: datetime) -> ClusterView:
    instance = view.instances[e.key]
    return _move(view, e.key, Phase.JOINED, at, starts=instance.starts + 1, fenced_at=None, drained=False)


def _unregistered(view: ClusterView, e: facts.BrokerUnregistered, at: datetime) -> ClusterView:
    return _change(view, e.key, unregistered=True)


def _release(view: ClusterView, e: facts.ReleaseRequested, at: datetime) -> ClusterView:
    return _open(view, e.intent, "release", (e.key,), at, with_vm=e.with_vm)


def _released(view: ClusterView, e: facts.ReleaseCompleted, at: datetime) -> ClusterView:
    intent = view.intents[e.intent]
    return _move(_close(view, e.intent), intent.keys[0], Phase.RELEASED, at, bound=False, deleted=intent.with_vm)


def _bind(view: ClusterView, e: facts.BindRequested, at: datetime) -> ClusterView:
    return _open(view, e.intent, "bind", (e.key,), at)


def _bound(view: ClusterView, e: facts.BindCompleted, at: datetime) -> ClusterView:
    key = view.intents[e.intent].keys[0]
    view = _close(view, e.intent)
    for made in e.instances:
        view = _move(view, made.key, Phase.LAUNCHED, at, cloud_id=made.cloud_id, address=made.address, launched_at=at)
    return _change(view, key, bound=True, since=at)


def _retire(view: ClusterView, e: facts.RetireRequested, at: datetime) -> ClusterView:
    view = _open(view, e.intent, "retire", e.keys, at, e.volumes)
    for key in e.keys:
        view = _move(view, key, Phase.RETIRING, at)
    return view


def _retired(view: ClusterView, e: facts.RetireCompleted, at: datetime) -> ClusterView:
    keys = view.intents[e.intent].keys
    view = nodefold.gone(_close(view, e.intent), keys)
    for key in keys:
        view = _move(view, key, Phase.RETIRED, at)
    return replace(view, replaced_at=at)


def _replaced(view: ClusterView, e: facts.ReplacementCompleted, at: datetime) -> ClusterView:
    return replace(view, replaced_at=at)


def _finalising(view: ClusterView, e: facts.FinalisationRequested, at: datetime) -> ClusterView:
    return replace(view, finalising=(e.feature, e.level))


def _finalised(view: ClusterView, e: facts.FeatureFinalised, at: datetime) -> ClusterView:
    return replace(view, finalising=None, finalised=_frozen({**view.finalised, e.feature: e.level}))


def _destroy(view: ClusterView, e: facts.DestroyRequested, at: datetime) -> ClusterView:
    return _open(view, e.intent, "destroy", tuple(i.key for i in view.alive()), at)


def _deleted(view: ClusterView, e: facts.ClusterDeleted, at: datetime) -> ClusterView:
    return replace(view, deleted=True, intents=_frozen({}))


def _condition(view: ClusterView, e: facts.ConditionChanged, at: datetime) -> ClusterView:
    condition = ConditionView(e.status, e.reason, e.message, at)
    return replace(view, conditions=_frozen({**view.conditions, e.type: condition}))


# --- the small moves --------------------------------------------------------------------------------------------


def _move(view: ClusterView, key: str, phase: Phase, at: datetime, **changes: Any) -> ClusterView:
    instance = view.instances[key]
    return _change(view, key, phase=require(key, instance.phase, phase), since=at, **changes)


def _change(view: ClusterView, key: str, **changes: Any) -> ClusterView:
    instance = replace(view.instances[key], **changes)
    return replace(view, instances=_frozen({**view.instances, key: instance}))


def _open(
    view: ClusterView,
    intent: str,
    kind: str,
    keys: tuple[str, ...],
    at: datetime,
    volumes: tuple[str, ...] = (),
    *,
    with_vm: bool = False,
) -> ClusterView:
    if intent in view.intents:
        raise ValueError(f"intent {intent} is already open")
    opened = IntentView(intent, kind, keys, at, volumes, with_vm)
    return replace(view, intents=_frozen({**view.intents, intent: opened}))


def _close(view: ClusterView, intent: str) -> ClusterView:
    if intent not in view.intents:
        raise ValueError(f"intent {intent} is not open")
    return replace(view, intents=_frozen({k: v for k, v in view.intents.items() if k != intent}))


def _current(view: ClusterView, drain: str) -> DrainView:
    if view.drain is None or view.drain.id != drain:
        raise ValueError(f"drain {drain} is not the one in hand")
    return view.drain


def _frozen(values: Mapping[_K, _V]) -> Mapping[_K, _V]:
    return MappingProxyType(dict(values))


_APPLY: dict[type, Callable[[ClusterView, Any, datetime], ClusterView]] = {
    facts.ClusterDeclared: _declared,
    facts.SourceChanged: specsource.changed,
    facts.ClusterDeletionRequested: _deletion,
    facts.ClusterPaused: _paused,
    facts.ClusterResumed: _resumed,
    facts.RecycleAborted: _aborted,
    facts.SurgeRequested: _surge,
    facts.SurgeCompleted: _surged,
    facts.MachineSubstituted: _substituted,
    facts.RunFailed: _run_failed,
    facts.InstanceJoined: _joined,
    facts.JoinFailed: _join_failed,
    facts.InstanceLost: _lost,
    facts.QuorumFounded: _founded,
    facts.ClusterAdopted: _taken_over,
    facts.InstanceAdopted: _found,
    facts.RecycleStarted: _recycle,
    facts.RecycleCompleted: _recycled,
    facts.DrainRequested: _drain,
    facts.DrainPlanned: _planned,
    facts.DrainPlanFailed: _plan_failed,
    facts.DrainAbandoned: _abandoned,
    facts.BatchStarted: _batch,
    facts.NodeDrained: _drained,
    facts.FenceRequested: _fence,
    facts.NodeFenced: _fenced,
    facts.FenceReverted: _reverted,
    facts.BrokerUnregistered: _unregistered,
    facts.ReleaseRequested: _release,
    facts.ReleaseCompleted: _released,
    facts.BindRequested: _bind,
    facts.BindCompleted: _bound,
    facts.RetireRequested: _retire,
    facts.RetireCompleted: _retired,
    facts.ReplacementCompleted: _replaced,
    facts.FinalisationRequested: _finalising,
    facts.FeatureFinalised: _finalised,
    facts.SettingsChangeRequested: settingfold.requested,
    facts.SettingsChanged: settingfold.changed,
    facts.SettingsRefused: settingfold.refused,
    facts.RestartRequested: settingfold.restart,
    facts.RestartCompleted: settingfold.restarted,
    facts.RestartRevertRequested: settingfold.revert,
    facts.RestartReverted: settingfold.reverted,
    facts.RollingRestartRequested: nodefold.restart_requested,
    facts.RollingRestartCompleted: nodefold.restart_completed,
    facts.NodeReplaceRequested: nodefold.replace_requested,
    facts.EvacuationRequested: nodefold.evacuation_requested,
    facts.EvacuationCompleted: nodefold.evacuated,
    facts.EvacuationEnded: nodefold.evacuation_ended,
    facts.HealingRequested: healingfold.requested,
    facts.DestroyRequested: _destroy,
    facts.ClusterDeleted: _deleted,
    facts.ConditionChanged: _condition,
}
