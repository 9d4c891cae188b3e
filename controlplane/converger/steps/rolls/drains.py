"""The drain in hand: have it planned, let its entries go in the plan's order, and see every move through.

Nothing is remembered between ticks: which moves are done, running or overtaken is read off Kafka each time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.cluster.external_brokers import leaving_externals, named
from controlplane.cluster.holds import hold_on
from controlplane.cluster.latency_brake import share_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.disk_room import overfull_disk, untold_disks
from controlplane.converger.questions.moves.blocked_moves import counted_on, detours, in_the_way, in_the_way_of_drain
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.questions.moves.pacing import paced
from controlplane.converger.questions.moves.spark import waits_for_spark
from controlplane.converger.questions.quorum.seats import wanted_nodes
from controlplane.converger.questions.rolls import batch, drain_progress, drain_requests, plan_ahead
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import (
    CancelMoves,
    ClearThrottles,
    Effect,
    ElectPreferred,
    Reassign,
    StartPlanning,
)
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import broker_is_empty, may_move
from controlplane.runtime.backoff import delay_s
from events import facts
from planner.drain.plan import DrainPlan, Move
from planner.drain.residual import Residual, residual
from planner.engines import planned_by
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.stuck_moves import may_take_back

MAX_ROUNDS = 5

ASK_AGAIN_S, ASK_ANYWAY_S = 15.0, 300.0
"""How long a plan that found nothing movable is left alone; and that long while nothing looks otherwise."""

SETTLE_S = 30.0
"""A move that just ended may be missing in the metadata. For so long, and twice the plan's own time, after a stretch
began that is waited for; later it is a new round."""


def drain_step(situation: Situation) -> Decision | None:
    """Looks after the drain in hand, if there is one."""
    drain = situation.view.moves.drain
    if drain is None:
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"drain of {_names(drain)}: {situation.seen.why_no_kafka}")
    if why := _unwanted(situation.view, drain):
        return _taken_back(drain, kafka, why)
    dead = given_up_for(situation, drain, kafka)
    if dead:
        return _give_up(situation, drain, kafka, dead)
    if not drain.plan.sha256:
        return _plan(situation, drain)
    if situation.seen.plans.drain_sha256 != drain.plan.sha256:
        return wait(
            WaitReason.DRAIN_PLANNED,
            f"drain of {_names(drain)}: {drain.plan.moves} moves planned, starting at the next tick",
        )
    if situation.seen.plans.drain is None:
        lost = facts.DrainPlanFailed(drain.id, "the stored plan is missing or corrupt", infeasible=False)
        return record(f"drain of {_names(drain)}: the stored plan cannot be read; planning again", lost)
    return _move(situation, drain, situation.seen.plans.drain, kafka)


def given_up_for(situation: Situation, drain: DrainView, kafka: KafkaSnapshot) -> list[int]:
    """Brokers that are gone for good and that this drain needs: it is put off until they were replaced."""
    return (
        [t for t in drain.successors.values() if _is_gone(situation, t)]
        or _successors_to_be_replaced(situation.view, drain, kafka)
        or _lost_successors(situation.view, drain)
        or [i.service_id for i in in_the_way(situation, kafka, drain.outgoing, drain.targets)]
    )


def _unwanted(view: ClusterView, drain: DrainView) -> str:
    """Why nobody wants its brokers empty any more, "" where somebody does."""
    if drain.stays and not set(drain.keys) <= view.requests.evacuations.keys():
        return "the evacuation was taken back"
    if not drain.keys and not set(drain.outgoing) <= set(leaving_externals(view)):
        return "the spec names it again"
    return ""


def _taken_back(drain: DrainView, kafka: KafkaSnapshot, why: str) -> Decision:
    """Nobody wants the brokers empty any more: what runs ends, nothing else begins, finished moves stay."""
    running = [p for p in kafka.moving() if set(p.replicas) & set(drain.outgoing)]
    if running:
        return wait(
            WaitReason.DRAIN_MOVES,
            f"drain of {_names(drain)}: taken back; {len(running)} moves that run are seen through",
        )
    if kafka.throttles.any and not kafka.moving():
        return act(f"drain of {_names(drain)}: taken back, clearing the throttles", ClearThrottles())
    taken_back = facts.DrainAbandoned(drain.id, why)
    return record(f"drain of {_names(drain)} ends here: {taken_back.reason}", taken_back)


def _plan(situation: Situation, drain: DrainView) -> Decision:
    job = situation.seen.jobs.get(plan_ahead.plan_job_id(drain))
    if job is None:
        return _ask_for_plan(situation, drain)
    if job.is_open and situation.waits_for_spark:
        return waits_for_spark(f"drain of {_names(drain)}", situation)
    if job.is_open:
        return wait(WaitReason.DRAIN_PLANNING, f"drain of {_names(drain)}: the plan is being computed", patience_s=180)
    if job.state == "failed":
        failure = facts.DrainPlanFailed(drain.id, job.message, infeasible=not job.retryable)
        return record(f"drain of {_names(drain)}: no plan: {job.message}", failure)
    result = job.result
    planned = facts.DrainPlanned(
        drain=drain.id,
        plan_sha256=str(result["sha256"]),
        engine=str(result["engine"]),
        moves=_whole(result["moves"]),
        bytes=_whole(result["bytes"]),
        batches=_whole(result["batches"]),
        certificate=_mapping(result["certificate"]),
    )
    sentence = f"drain of {_names(drain)}: {planned.moves} moves, {planned.bytes} bytes, {planned_by(planned.engine)}"
    return record(sentence, planned)


def _ask_for_plan(situation: Situation, drain: DrainView) -> Decision:
    if drain.planning.failed_at is not None:
        left = delay_s(drain.planning.failures) - situation.seconds_since(drain.planning.failed_at)
        if left > 0 and situation.waits_for_spark:
            return waits_for_spark(f"drain of {_names(drain)}", situation)
        if left > 0:
            sentence = f"drain of {_names(drain)}: {drain.planning.failed}; planning again in {left:.0f} s"
            return wait(WaitReason.DRAIN_INFEASIBLE, sentence, next_command=f"kedge describe {situation.view.name}")
    return act(
        f"drain of {_names(drain)}: planning round {drain.round}", StartPlanning(drain, plan_ahead.plan_job_id(drain))
    )


def _move(situation: Situation, drain: DrainView, plan: DrainPlan, kafka: KafkaSnapshot) -> Decision:
    """Entries start in the plan's order as slots come free. The stretch up to a checkpoint is recorded before its
    first entry starts; none is begun while the cluster is paused, and what is open ends.
    """
    left = residual(plan, kafka, drain.outgoing)
    allowed, refused = _gated(situation, kafka, left.valid_next)
    unable = frozenset(drain_progress.cannot_receive(allowed, kafka))
    held = [m for m in allowed if not unable.isdisjoint(m.added)]
    allowed = [m for m in allowed if unable.isdisjoint(m.added)]
    hold = None if situation.view.requests.aborting else hold_on(situation.view, situation.now)
    stretch = {m.name: batch.stretch_of(plan, n) for n, m in enumerate(plan.moves)}
    begun = [m for m in allowed if stretch[m.name] <= drain.progress.batch]
    share = share_of(situation.view)
    starting = batch.starting_now(plan, left, kafka, begun if hold else allowed, share=share)
    upcoming = min((n for m in starting if (n := stretch[m.name]) > drain.progress.batch), default=None)
    if upcoming is not None:
        return _no_room(drain, left.valid_next, kafka) or _begin_stretch(drain, plan, upcoming)
    if starting:
        return _hand_over(situation, drain, plan, kafka, starting, left)
    if left.running:
        return _report(situation, drain, plan, kafka, left)
    if held:
        why = drain_progress.held_up(held, kafka, drain_progress.gone_for_good(situation))
        return wait(
            WaitReason.DRAIN_TARGET,
            f"drain of {_names(drain)}: {len(held)} moves are not handed over: {why}",
            patience_s=60,
        )
    if hold and allowed:
        stopped = f"drain of {_names(drain)}: stopped after {len(left.finished)} of {len(plan.moves)} moves"
        return wait(WaitReason.PAUSED, f"{stopped}; {hold.sentence}", next_command=hold.next_command, patience_s=0)
    if refused:
        next_command = (
            f"list the topic under rollout.allowUnavailable, then kedge apply (cluster {situation.view.name})"
        )
        return wait(
            WaitReason.MIN_ISR_GATE, f"drain of {_names(drain)}: {refused[0]}", next_command=next_command, patience_s=0
        )
    return _end_round(situation, drain, plan, left, kafka)


def _no_room(drain: DrainView, moves: Sequence[Move], kafka: KafkaSnapshot) -> Decision | None:
    """Targets may have turned out smaller or fuller than the plan took them for: then it is planned again. One that is
    down tells nothing, and is handed nothing."""
    untold = [b for b in untold_disks(kafka, moves) if b in kafka.live_brokers()]
    if untold:
        sentence = f"drain of {_names(drain)}: broker {untold[0]} has not told how full its disk is"
        return wait(WaitReason.KAFKA_UNKNOWN, sentence)
    overfull = overfull_disk(kafka, moves)
    if not overfull:
        return None
    outdated = facts.DrainPlanFailed(drain.id, f"the plan does not fit any more: {overfull}", infeasible=False)
    return record(f"drain of {_names(drain)}: planning again, {overfull}", outdated)


def _begin_stretch(drain: DrainView, plan: DrainPlan, number: int) -> Decision:
    moves = plan.stretch(number)
    started = facts.BatchStarted(drain.id, number, len(moves), sum(m.bytes for m in moves))
    return record(f"drain of {_names(drain)}: stretch {number + 1} of {len(plan.checkpoints)}", started)


def _gated(situation: Situation, kafka: KafkaSnapshot, moves: Sequence[Move]) -> tuple[list[Move], list[str]]:
    """Moves that keep their partition writable while they run, and why the others may not start."""
    seen = kafka.by_name
    gates = [(m, may_move(seen[m.name], m.after, allow_unavailable=situation.excused_topics)) for m in moves]
    return [m for m, gate in gates if gate.open], [gate.reason for _, gate in gates if not gate.open]


def _hand_over(
    situation: Situation,
    drain: DrainView,
    plan: DrainPlan,
    kafka: KafkaSnapshot,
    starting: Sequence[Move],
    left: Residual,
) -> Decision:
    pace = paced(situation, plan, kafka, left.running, starting)
    sentence = (
        f"drain of {_names(drain)}: handing {len(starting)} moves to Kafka, {len(left.running)} running, "
        f"{_progress(situation, drain, plan, kafka, left)}"
    )
    return act(_with(sentence, pace.said), *batch.hand_over(pace.throttle, kafka, starting))


def _report(situation: Situation, drain: DrainView, plan: DrainPlan, kafka: KafkaSnapshot, left: Residual) -> Decision:
    pace = paced(situation, plan, kafka, left.running, ())
    gone = drain_progress.gone_for_good(situation)
    sentence = (
        f"drain of {_names(drain)}: {len(left.finished)} of {len(plan.moves)} moves done, {len(left.running)} running, "
        f"{drain_progress.held_up(left.running, kafka, gone) or _progress(situation, drain, plan, kafka, left)}"
    )
    sentence = _with(sentence, drain_progress.kept_waiting(left.running, kafka, gone))
    steady = pace.throttle.seen == kafka.throttles
    effects = () if steady else batch.throttle_effects(pace.throttle)
    return wait(WaitReason.DRAIN_MOVES, _with(sentence, pace.said), *effects, patience_s=3600)


def _with(sentence: str, correction: str) -> str:
    return f"{sentence}; {correction}" if correction else sentence


def _progress(
    situation: Situation, drain: DrainView, plan: DrainPlan, kafka: KafkaSnapshot, left: Residual
) -> drain_progress.Progress:
    moving_s = situation.seconds_since(drain.progress.moving_at) if drain.progress.moving_at else 0.0
    share, traffic = share_of(situation.view), situation.seen.traffic
    return drain_progress.progress_of(plan, left, kafka, moving_s=moving_s, traffic=traffic, share=share)


def _end_round(
    situation: Situation, drain: DrainView, plan: DrainPlan, left: Residual, kafka: KafkaSnapshot
) -> Decision:
    live = [b for b in drain.outgoing if b in kafka.live_brokers()]
    closed = [g for g in (broker_is_empty(kafka, b) for b in live) if not g.open]
    hosted = [p for b in drain.outgoing for p in kafka.hosted_by(b)]
    if not hosted and not closed:
        if kafka.throttles.any:
            return act(f"drain of {_names(drain)}: done, clearing the throttles", *_tidied(plan, kafka))
        moved, moves = (
            drain.progress.done_bytes + sum(m.bytes for m in plan.moves),
            drain.progress.done_moves + len(plan.moves),
        )
        return record(f"{_names(drain)} holds no replica: {moves} moves done", _outcome(drain, moved, moves))
    if not hosted:
        return wait(WaitReason.LOG_DIRS_NOT_EMPTY, f"drain of {_names(drain)}: {closed[0].reason}")
    planned = {move.name: move for move in plan.moves}
    settling = [p for p in hosted if _is_settling(planned.get(p.name), p)]
    if settling and situation.seconds_since(situation.view.history.progressed_at or situation.now) < _settles_within_s(
        plan
    ):
        return wait(
            WaitReason.METADATA_SETTLES, f"drain of {_names(drain)}: {settling[0].name} has moved, the metadata lags"
        )
    if left.foreign_running:
        return _for_foreign_moves(situation, drain, kafka, left.foreign_running)
    topics = sorted({p.name.topic for p in hosted})
    if not plan.moves and plan.deferred:
        return _without_copy(situation, drain, hosted) or _deferred(situation, drain, plan, kafka)
    if drain.round >= MAX_ROUNDS:
        sentence = (
            f"drain of {_names(drain)}: {len(hosted)} partitions left after {drain.round} rounds ({', '.join(topics)})"
        )
        return wait(
            WaitReason.DRAIN_NOT_CONVERGING,
            sentence,
            next_command=f"kedge describe {situation.view.name}",
            patience_s=0,
        )
    reason = f"{len(hosted)} partitions are still there ({', '.join(topics[:3])})"
    again = drain_requests.requested_again(
        situation, drain, round_number=drain.round + 1, reason=reason, done=left.finished
    )
    return record(f"drain of {_names(drain)}: round {again.round}, {again.reason}", again)


def _for_foreign_moves(
    situation: Situation, drain: DrainView, kafka: KafkaSnapshot, running: Sequence[TopicPartition]
) -> Decision:
    """Moves that are not of the plan are waited for. One that aims at a broker to be emptied whose VM is gone would
    never end, and the drain wait for ever: of a drain that was put off, or a person's, it goes elsewhere. The rebalance
    in hand gives way."""
    back, ours = in_the_way_of_drain(situation, kafka, drain.outgoing)
    if back:
        sentence = f"{len(back)} moves of the rebalance are taken back, {back[0]} among them: it does not serve"
        return act(f"drain of {_names(drain)}: {sentence}", CancelMoves(back))
    there = {i.service_id for i in situation.view.brokers() if not i.lost} | kafka.live_brokers()
    gone = {i.service_id for i in situation.view.brokers() if i.lost and i.service_id in drain.outgoing} - there
    endless = [p for p in map(kafka.by_name.__getitem__, running) if gone.intersection(p.target)]
    around = detours(situation.view, kafka, endless, gone)
    if around:
        dead = ", ".join(map(str, sorted(gone)))
        sentence = f"{len(around)} moves that are not of it aim at broker {dead}, whose VM is gone, and go elsewhere"
        return act(f"drain of {_names(drain)}: {sentence}", Reassign(around))
    who = "the rebalance in hand" if running[0] in ours else "somebody else"
    sentence = f"drain of {_names(drain)}: {who} moves {running[0]}; waiting for it to end"
    return wait(WaitReason.FOREIGN_REASSIGNMENT, sentence)


def _outcome(drain: DrainView, moved: int, moves: int) -> object:
    if not drain.keys:
        return facts.ExternalDrained(drain.id, drain.outgoing, moved, moves)
    outcome = facts.EvacuationCompleted if drain.stays else facts.NodeDrained
    return outcome(drain.id, drain.keys, moved, moves)


def _tidied(plan: DrainPlan, kafka: KafkaSnapshot) -> tuple[Effect, ...]:
    """Leadership was with the sources: it goes where the plan wants it."""
    planned = {m.name for m in plan.moves}
    displaced = tuple(name for name in displaced_leaders(kafka) if name in planned)
    return (ClearThrottles(), ElectPreferred(displaced)) if displaced else (ClearThrottles(),)


def _without_copy(situation: Situation, drain: DrainView, hosted: Sequence[PartitionSeen]) -> Decision | None:
    """All that is left had every copy on VMs that are gone, so no plan will ever move it: a person decides what becomes
    of those topics. None where something else is left, too. Nothing is made anew here: that would hide a loss."""
    gone = {i.service_id for i in situation.view.brokers() if i.lost}
    lost = [p for p in hosted if p.leader < 0 and gone.issuperset(p.replicas)]
    if not lost or len(lost) < len(hosted):
        return None
    topics = ", ".join(sorted({p.name.topic for p in lost})[:3])
    sentence = (
        f"drain of {_names(drain)}: all else is elsewhere; {len(lost)} partitions had every copy on VMs that are gone, "
        f"{lost[0].name} (replicas {list(lost[0].replicas)}) among them: what was in them is lost unless that disk is "
        f"brought back. Delete these topics and make them anew ({topics}), then all goes on"
    )
    return wait(WaitReason.COPIES_GONE, sentence, next_command=f"kedge describe {situation.view.name}", patience_s=0)


def _deferred(situation: Situation, drain: DrainView, plan: DrainPlan, kafka: KafkaSnapshot) -> Decision:
    """Nothing can be moved now, by the plan's own word: it is asked again in a while, and no round is spent on it."""
    first = plan.deferred[0]
    sentence = (
        f"drain of {_names(drain)}: {len(plan.deferred)} partitions cannot move now, {first.name}: {first.reason}"
    )
    again_s = ASK_AGAIN_S if drain_progress.seems_movable(kafka, drain.outgoing) else ASK_ANYWAY_S
    if situation.seconds_since(situation.view.history.progressed_at or situation.now) < again_s:
        return wait(WaitReason.MOVES_DEFERRED, sentence, patience_s=0)
    return record(
        sentence, drain_requests.requested_again(situation, drain, round_number=drain.round, reason=first.reason)
    )


def _give_up(situation: Situation, drain: DrainView, kafka: KafkaSnapshot, dead: list[int]) -> Decision:
    """Rule F10: a stuck move is taken back only where the original replicas keep min ISR; else it moves on, to a broker
    that lives."""
    stuck = [p for p in kafka.moving() if set(p.replicas) & {*drain.outgoing} and set(p.target) & set(dead)]
    safe = [p for p in stuck if may_take_back(p)]
    if safe:
        sentence = f"drain of {_names(drain)}: broker {dead[0]} died, taking back {len(safe)} moves that wait for it"
        return act(sentence, CancelMoves(tuple(p.name for p in safe)))
    around = detours(situation.view, kafka, stuck, dead)
    if around:
        sentence = f"drain of {_names(drain)}: broker {dead[0]} died, {len(around)} moves that wait for it go elsewhere"
        return act(sentence, Reassign(around))
    gone = [b for b in dead if _is_gone(situation, b)]
    led = [p for p in stuck if kafka.has_source(p)]
    counting = [(b, p.name) for p in led for b in counted_on(p, gone)]
    if counting:
        broker, name = counting[0]
        sentence = f"drain of {_names(drain)}: broker {broker} died, and Kafka still counts it in for {name}"
        return wait(WaitReason.REASSIGNMENT_STUCK, sentence, patience_s=60)
    # Who is gone for good is replaced first where no broker is left to take the place: another one is made by that.
    if led and len(gone) < len(dead):
        sentence = f"drain of {_names(drain)}: {led[0].name} waits for dead broker {dead[0]} and its ISR is too small"
        return wait(WaitReason.REASSIGNMENT_STUCK, sentence, patience_s=0)
    why = f"broker {dead[0]} {'died' if _is_gone(situation, dead[0]) else 'cannot receive'}"
    abandoned = facts.DrainAbandoned(drain.id, why)
    return record(f"drain of {_names(drain)} put off: {why} and is replaced first", abandoned)


def _is_gone(situation: Situation, broker: int) -> bool:
    instances = [i for i in situation.view.brokers() if i.service_id == broker]
    return not instances or any(i.lost for i in instances)


def _successors_to_be_replaced(view: ClusterView, drain: DrainView, kafka: KafkaSnapshot) -> list[int]:
    """Successors that are to get a new VM themselves and cannot receive: they do not serve, a disk of theirs failed, or
    no plan can be had. Nobody replaces them while the drain is in hand."""
    if not view.requests.to_replace:
        return []
    asked = {i.service_id for i in view.brokers() if i.key in view.requests.to_replace}
    able = kafka.live_brokers() - kafka.failed_dirs.keys()
    no_plan = not drain.plan.sha256 and drain.planning.failed_at is not None
    return [
        successor
        for successor in drain.successors.values()
        if successor in asked and (no_plan or successor not in able)
    ]


def _lost_successors(view: ClusterView, drain: DrainView) -> list[int]:
    """Brokers that were to take over and died before this drain began, so that it does not name them. What they were
    made for is done by the next ones, which nobody makes while it is in hand."""
    leaving = [] if drain.stays else [view.instances[k] for k in drain.keys]
    found = []
    for old in (i for i in leaving if i.service_id not in drain.successors):
        later = [i for i in view.of_node(old.node) if i.planned.generation > old.planned.generation]
        successors = [i for i in later if i.key not in drain.keys]
        if successors and all(i.lost for i in successors) and old.node in wanted_nodes(view):
            found.append(successors[-1].service_id)
    return found


def _settles_within_s(plan: DrainPlan) -> float:
    return SETTLE_S + 2 * plan.certificate.measures.makespan_s.value


def _is_settling(move: Move | None, partition: PartitionSeen) -> bool:
    """Between a move's end and the metadata that says so a partition shows old and new replicas, and no move. Of a
    partition that the plan does not move it is None."""
    if move is None or partition.is_moving:
        return False
    return partition.replicas != move.before and set(partition.replicas) == {*move.before, *move.after}


def _names(drain: DrainView) -> str:
    if not drain.keys:
        return named(drain.outgoing)
    return ", ".join(f"{k} (broker {b})" for k, b in zip(drain.keys, drain.outgoing, strict=True))


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"a plan's figure should be a whole number, not {value!r}")
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
