"""Services are started anew where they are, one at a time: for settings that Kafka reads only when it starts, for
another heap or other options of the JVM, for another certificate, and because a person asked for it (`kedge restart`).
Where the spec asks for it, brokers of one rack that may be away together are started anew together (`restartbatch`).
Certificates that end soon wait for no window.

    gate -> restart.requested (a new start id in its document) -> back in every ISR -> restart.completed -> the next one
                        +--> not back by its deadline: restart.revert_requested -> restart.reverted, and nothing else
                             +--> not back then either, with the settings it always had: a broker gets a new VM

The first of each kind that gets new settings is the canary: it is watched for the soak before the next one. Brokers go
rack by rack, then the controllers, the quorum's leader last.
"""

from collections.abc import Sequence
from dataclasses import replace

from controlplane.cluster.cohosted_zookeeper import named_service
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import service_on
from controlplane.cluster.views.running_settings import RestartView, RollingRestartView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.health.cure_evidence import start_progress
from controlplane.converger.questions.moves.dead_targets import new_vm_for
from controlplane.converger.questions.quorum.protocol import has_old_protocol, old_protocol
from controlplane.converger.questions.quorum.seats import has_thin_list, thin_list
from controlplane.converger.questions.quorum.security_steps import endpoint_trouble, has_late_step, late_step
from controlplane.converger.questions.rolls.canaries import has_fallen, out_of_sync, trouble
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.rolls.stale_stops import is_late
from controlplane.converger.questions.running.restart_batch import is_first_of_its_kind, restart_batch
from controlplane.converger.questions.running.restart_safety import restart_safety
from controlplane.converger.questions.services.applied_settings import all_configs_sent, needs_restart, where_silent
from controlplane.converger.questions.services.service_reports import service_report, start_id, state_of
from controlplane.converger.questions.services.serving import serves
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.running.restart_lock import give_back, lock_first
from controlplane.runtime.once import once
from events import facts
from events.quantities import counted
from events.spec.settings import spec_config
from planner.cure_table import RESTART_FAILED
from planner.healing import HealingRefusal
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change, NodeChange
from planner.rollout.order import restart_order, who_leads

STOPPED_WITHIN_S = 60.0
"""An agent kills a process that has not ended so long after it was told to (`agent.steps.LocalState`)."""


_USUAL_STOP_S = 15.0
"""A stop of so few seconds is part of any restart."""


def restart_in_hand_step(situation: Situation) -> Decision | None:
    """Sees a restart through: back, or given what it had before once its deadline is over."""
    view = situation.view
    # The service is there: its restart ends when it leaves (`settingfold.left`).
    in_hand = [(named_service(view, r.key, r.service), r) for _, r in sorted(view.settings.restarts.items())]
    if not in_hand:
        return give_back(situation)
    back = [(i, r) for i, r in in_hand if _is_back(situation, i, r)]
    if back:
        ended = [_ended(i, r) for i, r in back]
        return record("; ".join(v.sentence for v in ended), *(event for v in ended for event in v.events))
    return _of_all([_not_back(situation, i, r) for i, r in in_hand])


def _deadline_s(situation: Situation, instance: InstanceView, restart: RestartView) -> float:
    """How long it may take to be back. The deadline of the spec is a start's: a process that hangs is given
    `STOPPED_WITHIN_S` by its agent before it is killed, and that time comes on top while it stops or the next one comes
    up. One that has failed by then has had its time."""
    service = service_report(situation, instance)
    spec_s = situation.join_deadline_s
    if service is None or service.state == "stopping":
        return spec_s + (STOPPED_WITHIN_S if service is not None else 0.0)
    if service.start_id != start_id(instance) or service.state not in ("formatting", "starting", "running"):
        return spec_s
    stopping_s = (service.since - restart.since).total_seconds()
    return spec_s + (min(stopping_s, STOPPED_WITHIN_S) if stopping_s > _USUAL_STOP_S else 0.0)


def _new_vm(
    situation: Situation, instance: InstanceView, restart: RestartView, why: str
) -> tuple[object, ...] | HealingRefusal | None:
    """What is recorded for the new VM of a broker that Kafka is without after a second start, which had nothing new to
    come up with; or why it gets none. None where that is no question: what a spec has brought about is a person's."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if restart.service or not instance.is_broker or kafka is None or instance.service_id in kafka.live_brokers():
        return None
    if instance.key in situation.view.requests.to_replace or instance.phase is Phase.DRAINING:
        return (facts.RestartReverted(restart.key, given_up=True),)  # somebody has asked for that already
    if restart.new_settings:
        return None
    cure = new_vm_for(situation, kafka, instance, restart.since, why, finding=RESTART_FAILED)
    return cure if isinstance(cure, HealingRefusal) else (facts.RestartReverted(restart.key, given_up=True), *cure)


def _of_all(decisions: Sequence[Decision]) -> Decision:
    """Of several that are not back yet: what is to be done about any comes first, then what only a person ends."""
    acting = [v for v in decisions if v.events]
    if acting:
        return record("; ".join(v.sentence for v in acting), *(event for v in acting for event in v.events))
    worst = min(decisions, key=lambda v: (v.wait.patience_s, v.wait.until is not None) if v.wait else (0.0, False))
    return replace(worst, sentence="; ".join(v.sentence for v in decisions))


def _not_back(situation: Situation, instance: InstanceView, restart: RestartView) -> Decision:
    kafka, state = situation.seen.fresh_kafka(situation.now), state_of(situation, instance)
    if kafka is not None and state == "running":
        state = endpoint_trouble(situation, kafka, instance) or state
    waited_s, deadline_s = situation.seconds_since(restart.since), _deadline_s(situation, instance, restart)
    if waited_s <= deadline_s:
        again = " with its old settings" if restart.new_settings else ", once more"
        how = again if restart.reverting else ""
        sentence = f"waiting for {instance.service_key} ({state}) to be back in sync after its restart{how}"
        return wait(WaitReason.RESTART, sentence, patience_s=deadline_s + 30)
    if coming := start_progress(situation, instance):
        # Another start, or another VM, would have it begin anew.
        sentence = f"{instance.service_key} ({state}) is not back in sync after {waited_s:.0f} s, and {coming}"
        return wait(WaitReason.RESTART, sentence, patience_s=deadline_s + 30)
    if is_late(situation, instance):
        # Nothing was tried, so nothing is to be taken back.
        again = f"kedge describe {situation.view.name}"
        return wait(WaitReason.RESTART, f"{instance.service_key} runs on as before its restart", next_command=again)
    if restart.reverting:
        before = _as_before(restart.new_settings)
        sentence = f"{instance.service_key} is not back{before} either ({state} after {waited_s:.0f} s)"
        cure = _new_vm(situation, instance, restart, sentence)
        if isinstance(cure, tuple):
            return record(f"{sentence}: it gets a new VM", *cure)
        return _failed(situation, sentence, cure)
    if kafka is None and state == "running":
        unknown = "Kafka's metadata cannot be read, so nobody knows if it serves"
        return wait(WaitReason.KAFKA_UNKNOWN, f"{instance.service_key} runs; {unknown}")
    why = (kafka and endpoint_trouble(situation, kafka, instance)) or trouble(situation, instance)
    return _revert(situation, instance, f"not back in sync after {deadline_s:.0f} s: {why}")


def _failed(situation: Situation, sentence: str, refusal: HealingRefusal | None) -> Decision:
    """A person's, unless a new VM is only put off."""
    until = refusal.until if refusal is not None else None
    said = f"{sentence}; no new VM: {refusal.reason}" if refusal is not None else sentence
    look = "" if until is not None else f"kedge describe {situation.view.name}"
    return wait(WaitReason.RESTART_FAILED, said, next_command=look, patience_s=0, until=until)


def restart_step(situation: Situation) -> Decision | None:
    """Begins the next restart, once the canary has been watched and the gate is open. None when none is left."""
    view = situation.view
    if _all_run_current(view) and view.requests.rolling_restart is None:
        return None
    left = [c for c in pending_changes(view) if c.change is Change.RESTART]
    if view.requests.rolling_restart is not None and not any(c.restart_asked for c in left):
        return _all_restarted(view.requests.rolling_restart)
    if not left:
        return None
    if view.settings.restart_refusal is not None:
        return _refused(view, view.settings.restart_refusal, left)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"not restarting {left[0].node}: {situation.seen.why_no_kafka}")
    if situation.repairs_only:
        rolling = view.requests.rolling_restart
        if rolling is None or not rolling.at_once:
            first = restart_order(left, leaders=who_leads(kafka))[0]
            return _watch(situation, kafka, first.service)
        left = [c for c in left if c.restart_asked]
    if not situation.allowance.may_roll:
        return wait(WaitReason.FLEET_BRAKE, f"waiting to restart {len(left)} services: {situation.allowance.reason}")
    if view.roll.recycling != view.generation:
        return _begin(situation, left)
    change = restart_order(left, leaders=who_leads(kafka))[0]
    watched = _watch(situation, kafka, change.service)
    if watched is not None:
        return watched
    locked = lock_first(situation, f"{len(left)} services of {view.name} to restart: {change.reason}")
    if locked is not None:
        return locked
    return _restart(situation, kafka, restart_order(left, leaders=who_leads(kafka)))


def urgent_restart_step(situation: Situation) -> Decision | None:
    """Begins the next restart of those that wait for no window, before a roll begins with its next node: it may take
    months, and certificates do not wait. None where the gate is closed: the roll goes on then, which renews, too."""
    rolling = situation.view.requests.rolling_restart
    if rolling is None or not rolling.at_once or situation.view.roll.recycling != situation.view.generation:
        return None
    decision = restart_step(replace(situation, repairs_only=True))
    return decision if decision is not None and decision.events else None


def _all_run_current(view: ClusterView) -> bool:
    """A cheap yes, asked of every cluster at every tick."""
    return (
        all_configs_sent(view)
        and not has_thin_list(view)
        and not has_old_protocol(view)
        and not _has_new_process(view)
        and not has_late_step(view)
    )


@once
def _has_new_process(view: ClusterView) -> bool:
    return any(c.jvm or c.security for c in pending_changes(view))


def _all_restarted(rolling: RollingRestartView) -> Decision:
    sentence = f"all {len(rolling.keys)} services were started anew, {rolling.reason}"
    return record(sentence, facts.RollingRestartCompleted(rolling.id))


def _refused(view: ClusterView, refusal: tuple[str, str], left: Sequence[NodeChange]) -> Decision:
    key, reason = refusal
    settings = any(c.is_new_to_it for c in left)
    now = "has its old settings back" if settings else "was started once more"
    others = sum(1 for c in left if _instance(view, c).service_key != key)
    spared = f"{counted(others, 'other service')} {'was' if others == 1 else 'were'} not restarted"
    sentence = f"{key} was {reason}; it {now}{f', and {spared}' if others else ''}"
    resume = f"kedge resume {view.name} to try again"
    again = f"kedge apply, with other settings, or {resume}" if settings else resume
    return wait(WaitReason.RESTART_REVERTED, sentence, next_command=again, patience_s=0)


def _begin(situation: Situation, left: Sequence[NodeChange]) -> Decision:
    generation = situation.view.generation
    reason = f"{len(left)} services to restart in place: {left[0].reason.removeprefix(f'{left[0].node}: ')}"
    started = facts.RecycleStarted(generation=generation, create=(), replace=(), remove=(), reason=reason)
    return record(f"working towards generation {generation}: {reason}", started)


def _watch(situation: Situation, kafka: KafkaSnapshot, service: str) -> Decision | None:
    """The canary of this kind of service while its soak lasts. None when there is none yet, or it has stood it."""
    canary = situation.view.settings.canaries.get(service)
    document = situation.view.document
    if canary is None or document is None or canary.generation != situation.view.generation:
        return None
    left_s = document.spec.rollout.soak_s - situation.seconds_since(canary.since)
    if left_s <= 0:
        return None
    instance = service_on(situation.view.instances[canary.key], service)
    if instance is None or instance.lost or instance.phase is not Phase.JOINED:
        return None
    if has_fallen(kafka, instance) and kafka.at > canary.since:
        return _revert(situation, instance, f"down while it was watched: {trouble(situation, instance)}")
    sentence = f"{instance.service_key} runs with the new settings; watching it {left_s:.0f} s more before the next one"
    return wait(WaitReason.SOAK, sentence, patience_s=document.spec.rollout.soak_s + 30)


def _restart(situation: Situation, kafka: KafkaSnapshot, order: Sequence[NodeChange]) -> Decision:
    """Whose turn it is, with those that may be away together with it."""
    first = _instance(situation.view, order[0])
    safety = restart_safety(situation, kafka, first)
    if safety.waits is not None:
        return Decision(f"restart of {first.service_key}: {safety.gate.reason}", wait=safety.waits)
    batch = restart_batch(situation, kafka, order)
    requests: list[facts.RestartRequested] = []
    for change in batch.changes:
        requests.append(_request(situation, change, beside=[r.key for r in requests]))
    together = f"{', '.join(r.key for r in requests)} together (rack {order[0].rack})"
    whom = first.service_key if len(requests) == 1 else together
    is_new = bool(requests[0].told or requests[0].jvm or requests[0].security)
    why = f"for {requests[0].reason}" if is_new else f"({requests[0].reason})"
    alone = f"; no further one with it: {batch.alone}" if batch.alone else ""
    return record(f"restarting {whom} {why}: {safety.gate.reason}{alone}", *requests)


def _request(situation: Situation, change: NodeChange, *, beside: Sequence[str]) -> facts.RestartRequested:
    """`beside` are those of its batch whose turn is before its own."""
    view, document, jvm = situation.view, situation.view.document, change.jvm
    instance = _instance(view, change)
    names = needs_restart(view, instance)
    wanted = spec_config(document, instance.planned.pool) if document else {}
    silent = where_silent(view, document) if document else {}
    # Nothing new is tried where only a person asked: there is nothing to watch the first one for.
    canary = is_first_of_its_kind(situation, change)
    asked = _asked(view, instance.service_key, after=len(beside))
    asked = asked or late_step(view, instance) or thin_list(view, instance) or old_protocol(view, instance)
    process = [*([jvm.words(instance.jvm)] if jvm else []), *([change.security] if change.security else [])]
    whose = f"ZooKeeper server {instance.service_id}: " if instance.hosted else ""
    changes = ", ".join([*process, *(f"{n}={wanted[n]}" if n in wanted else f"{n} unset" for n in names)])
    return facts.RestartRequested(
        key=instance.key,
        generation=view.generation,
        start=instance.start.count + 1,
        config={n: wanted.get(n) for n in names},
        told={n: wanted.get(n, silent.get(n)) for n in names},
        canary=canary,
        reason=f"{whose}{changes or asked}{' (the first one, to be watched)' if canary else ''}",
        heap_mib=jvm.heap_mib,
        beside=tuple(beside),
        service=instance.beside,
        jvm_options=jvm.options,
        security=change.security,
    )


def _instance(view: ClusterView, change: NodeChange) -> InstanceView:
    return named_service(view, change.incumbent.key if change.incumbent else "", change.service)


def _asked(view: ClusterView, key: str, *, after: int) -> str:
    """`asked by anna: new certificates, 2 of 6`; "" where nobody asked for this one. `after` so many of its batch."""
    rolling = view.requests.rolling_restart
    if rolling is None or key not in rolling.left:
        return ""
    return f"{rolling.reason}, {len(rolling.keys) - len(rolling.left) + 1 + after} of {len(rolling.keys)}"


def _revert(situation: Situation, instance: InstanceView, why: str) -> Decision:
    request = facts.RestartRevertRequested(instance.key, instance.start.count + 1, why, instance.beside)
    restart = situation.view.settings.restarts.get(instance.key)
    what = "gets its old settings back" if restart is None or restart.new_settings else "is started once more"
    return record(f"{instance.service_key} {what}: {why}", request)


def _ended(instance: InstanceView, restart: RestartView) -> Decision:
    who = instance.service_key
    if restart.reverting:
        return record(f"{who} serves{_as_before(restart.new_settings)}", facts.RestartReverted(restart.key))
    return record(f"{who} is back in sync", facts.RestartCompleted(restart.key))


def _as_before(new_settings: bool) -> str:
    return " with its old settings" if new_settings else " after another start"


def _is_back(situation: Situation, instance: InstanceView, restart: RestartView) -> bool:
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or not serves(situation, instance, newer_than=restart.since):
        return False
    if endpoint_trouble(situation, kafka, instance):
        return False
    return not instance.is_broker or not out_of_sync(kafka, instance.service_id)
