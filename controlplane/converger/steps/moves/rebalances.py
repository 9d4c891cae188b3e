"""The rebalance in hand: have it planned, hand it over batch by batch, and let everything else go before the next.

    rebalance.requested -> planned -> batch 1 .. n -> completed
    rebalance_in_hand_step: the batch that has begun is seen through, also while the cluster is paused
    rebalance_step:         the next batch, once nothing else is to be done; below it the spec's own policy

Nothing is remembered between ticks: which moves are done, running or overtaken is read off Kafka each time. Moves that
are finished are never undone; a move starts only from the very placement it was planned on.
"""

from collections.abc import Mapping

from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.demotions import demoted_as_slow
from controlplane.cluster.external_brokers import expected_brokers
from controlplane.cluster.healing_switches import heals
from controlplane.cluster.latency_brake import share_of
from controlplane.cluster.views.rebalances import DAY, RebalanceView, spent_bytes
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.chosen_receivers import takers
from controlplane.converger.questions.disk_room import DISK_LIMIT_FRACTION
from controlplane.converger.questions.moves.known_load import known_load, left_over, unevenness
from controlplane.converger.questions.moves.pacing import paced
from controlplane.converger.questions.moves.rebalance_requests import asked_by_heat, asked_by_policy, rebalance_job_id
from controlplane.converger.questions.moves.spark import waits_for_spark
from controlplane.converger.questions.rolls.batch import hand_over, starting_now, stretch_of, throttle_effects
from controlplane.converger.questions.rolls.drain_progress import gone_for_good, held_up, kept_waiting, progress_of
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import CancelMoves, ClearThrottles, StartBalancing
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.placements import is_young
from controlplane.kafka.gates import Gate, may_move
from controlplane.runtime.backoff import delay_s
from events import facts
from planner import engines, observed, quantities, stuck_moves
from planner.anomalies.kinds import Kind
from planner.drain.plan import DrainPlan, Move
from planner.drain.residual import Residual, residual
from planner.rebalancing.check import check
from planner.rebalancing.imbalance import Deviations, over_edge

MAX_ROUNDS = 5
"""Plans of one rebalance. What still changes under it then is left as it is."""

MAX_FAILURES = 4
"""Plans in a row that fail before it is given up."""

REST_S = 3600.0
"""The spec's own policy leaves a cluster alone for so long after a rebalance."""

SETTLE_S = 30.0
"""A move that just ended may be missing in the metadata: for so long that is waited for."""


def rebalance_in_hand_step(situation: Situation) -> Decision | None:
    """Sees the batch through that has begun. None when none runs, or all that does waits for a broker that does not
    serve, to copy to or from: then whatever else there is to do goes first, that broker's cure too."""
    rebalance, plan = situation.view.moves.rebalance, _plan_seen(situation)
    if rebalance is None:
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        # Nothing is begun that is not seen; and what brings Kafka back must not wait for this.
        return None
    if plan is None:
        return _dropped(rebalance, kafka, 0, 0) if rebalance.cancelled else None
    left = residual(plan, kafka, ())
    live = kafka.live_brokers()
    stuck = [m for m in left.running if not set(m.after) <= live or not kafka.has_source(kafka.by_name[m.name])]
    gone = {i.service_id for i in situation.view.brokers() if i.lost}
    hopeless = [m for m in stuck if set(m.after) & gone and stuck_moves.may_take_back(kafka.by_name[m.name])]
    if hopeless:
        broker = min(b for m in hopeless for b in m.after if b in gone)
        sentence = f"{_name(rebalance)}: broker {broker} died, taking back {len(hopeless)} moves that wait for it"
        return act(sentence, CancelMoves(tuple(m.name for m in hopeless)))
    starting = [] if rebalance.cancelled or gone else _startable(situation, rebalance, plan, left, kafka)
    if starting:
        pace = paced(situation, plan, kafka, left.running, starting, batch=rebalance.id)
        sentence = f"{_sentence(situation, rebalance, plan, left, kafka)}, handing {len(starting)} moves to Kafka"
        return act(_with(sentence, pace.said), *hand_over(pace.throttle, kafka, starting))
    if len(left.running) > len(stuck):
        return _report(situation, rebalance, plan, left, kafka)
    if rebalance.cancelled:
        return _dropped(rebalance, kafka, len(left.finished), sum(m.bytes for m in left.finished))
    return None


def rebalance_step(situation: Situation) -> Decision | None:
    """The next batch of the rebalance in hand, or its plan, or its end. None when none is in hand and none is due."""
    rebalance = situation.view.moves.rebalance
    if rebalance is None:
        return _by_policy(situation)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"{_name(rebalance)}: {situation.seen.why_no_kafka}")
    gate = _whole(situation, kafka)
    if not gate.open:
        return wait(WaitReason.BROKER_DOWN, f"{_name(rebalance)} waits: {gate.reason}", patience_s=60)
    if not rebalance.plan.sha256:
        return _plan(situation, rebalance, kafka)
    if situation.seen.plans.rebalance_sha256 != rebalance.plan.sha256:
        return wait(
            WaitReason.REBALANCE_PLANNED,
            f"{_name(rebalance)}: {rebalance.plan.moves} moves planned, begins at the next tick",
        )
    plan = _plan_seen(situation)
    if plan is None:
        lost = facts.RebalancePutOff(rebalance.id, "the stored plan is missing or corrupt", 0, 0)
        return record(f"{_name(rebalance)}: the stored plan cannot be read; planning again", lost)
    return _next_batch(situation, rebalance, plan, kafka)


def _plan_seen(situation: Situation) -> DrainPlan | None:
    rebalance, seen = situation.view.moves.rebalance, situation.seen
    if rebalance is None or seen.plans.rebalance is None or seen.plans.rebalance_sha256 != rebalance.plan.sha256:
        return None
    return seen.plans.rebalance.copies


def _plan(situation: Situation, rebalance: RebalanceView, kafka: observed.KafkaSnapshot) -> Decision:
    if rebalance.planning.failures >= MAX_FAILURES or rebalance.round > MAX_ROUNDS:
        why = rebalance.planning.failed or f"the cluster still changes after {MAX_ROUNDS} plans"
        given_up = facts.RebalanceAbandoned(
            rebalance.id, why, rebalance.progress.done_moves, rebalance.progress.done_bytes
        )
        return record(f"{_name(rebalance)} is given up: {why}", given_up)
    job = situation.seen.jobs.get(rebalance_job_id(rebalance))
    if job is None:
        return _ask_for_plan(situation, rebalance, kafka)
    if job.is_open and situation.waits_for_spark:
        return waits_for_spark(_name(rebalance), situation)
    if job.is_open:
        return wait(WaitReason.REBALANCE_PLANNING, f"{_name(rebalance)}: the plan is being computed", patience_s=180)
    if job.state == "failed":
        failure = facts.RebalancePlanFailed(rebalance.id, job.message)
        return record(f"{_name(rebalance)}: no plan: {job.message}", failure)
    result = job.result
    moves, before, after = _whole_number(result["moves"]), _number(result, "before"), _number(result, "after")
    uneven = {goal: (was, _uneven(result, "after").get(goal, was)) for goal, was in _uneven(result, "before").items()}
    if not moves or _is_even_enough(rebalance, before, {goal: was for goal, (was, _) in uneven.items()}):
        done = "who was chosen has a share" if rebalance.chosen else "within its goals"
        left = _worse(_uneven_now(situation, kafka), {goal: was for goal, (was, _) in uneven.items()})
        return _completed(rebalance, 0, 0, before, left, f"{done} ({before:.0f} % imbalance)")
    goals = result["goals"]
    planned = facts.RebalancePlanned(
        rebalance=rebalance.id,
        plan_sha256=str(result["sha256"]),
        engine=str(result["engine"]),
        moves=moves,
        bytes=_whole_number(result["bytes"]),
        batches=_whole_number(result["batches"]),
        imbalance_before=before,
        imbalance_after=after,
        goals=dict(goals) if isinstance(goals, dict) else {},
        uneven={goal: list(figures) for goal, figures in uneven.items()},
        assumptions=_assumptions(result),
    )
    change = f"imbalance {before:.0f} % -> {after:.0f} %"
    size = f"{planned.moves} moves, {quantities.human_bytes(planned.bytes)} in {planned.batches} batches"
    return record(f"{_name(rebalance)}: {size}, {change}, {engines.planned_by(planned.engine)}", planned)


def _assumptions(result: Mapping[str, object]) -> tuple[str, ...]:
    """None of a plan that an earlier release made."""
    told = result.get("assumptions")
    return tuple(str(line) for line in told) if isinstance(told, list) else ()


def _ask_for_plan(situation: Situation, rebalance: RebalanceView, kafka: observed.KafkaSnapshot) -> Decision:
    if rebalance.planning.failed_at is not None:
        left = delay_s(rebalance.planning.failures) - situation.seconds_since(rebalance.planning.failed_at)
        if left > 0 and situation.waits_for_spark:
            return waits_for_spark(_name(rebalance), situation)
        if left > 0:
            return wait(
                WaitReason.REBALANCE_PLANNING,
                f"{_name(rebalance)}: {rebalance.planning.failed}; planning again in {left:.0f} s",
                patience_s=180,
            )
    moving = kafka.moving()
    if moving:
        sentence = f"{_name(rebalance)}: somebody else moves {moving[0].name}; waiting for it to end"
        return wait(WaitReason.FOREIGN_REASSIGNMENT, sentence)
    there = [i.service_id for i in situation.view.receivers()]
    untold = [b for b in there if b not in kafka.log_dirs or kafka.log_dirs[b].total_bytes <= 0]
    if untold:
        return wait(
            WaitReason.KAFKA_UNKNOWN, f"{_name(rebalance)}: broker {untold[0]} has not told how full its disk is"
        )
    if len(there) < 2 or not takers(situation.view, rebalance):
        why = "there is no other broker to move anything to"
        if rebalance.chosen:
            why = "none of the brokers that were chosen can receive any more"
        abandoned = facts.RebalanceAbandoned(
            rebalance.id, why, rebalance.progress.done_moves, rebalance.progress.done_bytes
        )
        return record(f"{_name(rebalance)} is given up: {abandoned.reason}", abandoned)
    planning = StartBalancing(rebalance, rebalance_job_id(rebalance))
    return act(f"{_name(rebalance)}: planning, {rebalance.reason}", planning)


def _next_batch(
    situation: Situation, rebalance: RebalanceView, plan: DrainPlan, kafka: observed.KafkaSnapshot
) -> Decision | None:
    left = residual(plan, kafka, ())
    if left.running:
        return wait(
            WaitReason.REBALANCE_MOVES, f"{_name(rebalance)}: {left.running[0].name} waits for a broker", patience_s=600
        )
    foreign = [p for p in kafka.moving() if p.name in {m.name for m in plan.moves}]
    if foreign:
        sentence = f"{_name(rebalance)}: somebody else moves {foreign[0].name}; waiting for it to end"
        return wait(WaitReason.FOREIGN_REASSIGNMENT, sentence)
    # What would refuse writes while it moves stays where it is: nobody needs it to move.
    movable = [m for m in left.valid_next if _gate(situation, kafka, m).open]
    if not movable:
        return _end(situation, rebalance, plan, left, kafka)
    done = {m.name for m in plan.moves} - {m.name for m in movable}
    receivers = takers(situation.view, rebalance)
    wrong = check(
        plan,
        kafka,
        receivers=receivers,
        disk_limit_fraction=DISK_LIMIT_FRACTION,
        done=[m for m in plan.moves if m.name in done],
        sets=broker_sets(situation.view),
    )
    if wrong:
        return _postponed(rebalance, left, f"the plan does not fit any more: {wrong[0]}")
    number = min(stretch_of(plan, n) for n, m in enumerate(plan.moves) if m.name not in done)
    batch = [m for m in plan.stretch(number) if m.name not in done]
    size = sum(m.bytes for m in batch)
    spent = spent_bytes(situation.view.moves.rebalance_spent, situation.now)
    if rebalance.terms.per_day_bytes and spent and spent + size > rebalance.terms.per_day_bytes:
        return _day_is_spent(situation, rebalance, plan, left, spent)
    begun = facts.RebalanceBatchStarted(rebalance.id, number, len(batch), size)
    sentence = f"{_name(rebalance)}: batch {number + 1} of {len(plan.checkpoints)}, {len(batch)} moves"
    return record(f"{sentence}, {quantities.human_bytes(size)}", begun)


def _day_is_spent(
    situation: Situation, rebalance: RebalanceView, plan: DrainPlan, left: Residual, spent: int
) -> Decision:
    """Not a fault, however long it takes."""
    oldest = min(s.at for s in situation.view.moves.rebalance_spent if situation.now - s.at < DAY)
    hours = (oldest + DAY - situation.now).total_seconds() / 3600
    sentence = (
        f"{_name(rebalance)}: {len(left.finished)} of {len(plan.moves)} moves done; {quantities.human_bytes(spent)} of "
        f"{quantities.human_bytes(rebalance.terms.per_day_bytes)} a day are begun, goes on in {hours:.1f} h"
    )
    return wait(WaitReason.REBALANCE_BUDGET, sentence, patience_s=2 * DAY.total_seconds())


def _end(
    situation: Situation, rebalance: RebalanceView, plan: DrainPlan, left: Residual, kafka: observed.KafkaSnapshot
) -> Decision:
    settling = [m for m in plan.moves if _is_settling(m, kafka)]
    if settling and situation.seconds_since(situation.view.history.progressed_at or situation.now) < SETTLE_S:
        return wait(WaitReason.METADATA_SETTLES, f"{_name(rebalance)}: {settling[0].name} has moved, the metadata lags")
    if kafka.throttles.any and not kafka.moving():
        return act(f"{_name(rebalance)}: done, clearing the throttles", ClearThrottles())
    if left.changed_by_others:
        first, count = left.changed_by_others[0], len(left.changed_by_others)
        return _postponed(rebalance, left, f"{count} partitions were moved meanwhile, {first} among them")
    moved = sum(m.bytes for m in left.finished)
    uneven = _uneven_now(situation, kafka)
    remains = max(uneven.values(), default=0.0)
    kept = f", {len(left.valid_next)} left where they keep taking writes" if left.valid_next else ""
    sentence = (
        f"{len(left.finished)} moves done{kept}, imbalance {rebalance.gains.imbalance_before:.0f} % -> {remains:.0f} %"
    )
    stuck = _worse(uneven, rebalance.gains.uneven_after())
    return _completed(rebalance, len(left.finished), moved, remains, stuck, sentence)


def _postponed(rebalance: RebalanceView, left: Residual, why: str) -> Decision:
    postponed = facts.RebalancePutOff(
        rebalance.id, why, done_moves=len(left.finished), done_bytes=sum(m.bytes for m in left.finished)
    )
    return record(f"{_name(rebalance)}: planning again, {why}", postponed)


def _completed(
    rebalance: RebalanceView, moves: int, size: int, imbalance: float, left: Deviations, said: str
) -> Decision:
    completed = facts.RebalanceCompleted(
        rebalance.id, rebalance.progress.done_moves + moves, rebalance.progress.done_bytes + size, imbalance, dict(left)
    )
    return record(f"{_name(rebalance)} is over: {said}", completed)


def _dropped(rebalance: RebalanceView, kafka: observed.KafkaSnapshot, moves: int, size: int) -> Decision:
    """A person wants no more of it: throttles first, then the word."""
    if kafka.throttles.any and not kafka.moving():
        return act(f"{_name(rebalance)}: {rebalance.cancelled}, clearing the throttles", ClearThrottles())
    abandoned = facts.RebalanceAbandoned(
        rebalance.id, rebalance.cancelled, rebalance.progress.done_moves + moves, rebalance.progress.done_bytes + size
    )
    return record(f"{_name(rebalance)} ends here: {rebalance.cancelled}", abandoned)


def _startable(
    situation: Situation, rebalance: RebalanceView, plan: DrainPlan, left: Residual, kafka: observed.KafkaSnapshot
) -> list[Move]:
    """What of the batch in hand starts now: only in a whole cluster, and only onto brokers that may receive."""
    if situation.view.moves.stuck.is_taking_back(rebalance.id, rebalance.planning.tries):
        return []  # some of it hung: what was taken back begins with the next plan
    begun = {m.name for n, m in enumerate(plan.moves) if stretch_of(plan, n) <= rebalance.progress.batch}
    receivers = takers(situation.view, rebalance) & kafka.live_brokers()
    ready = [
        m for m in left.valid_next if m.name in begun and set(m.added) <= receivers and _gate(situation, kafka, m).open
    ]
    if not ready or not _whole(situation, kafka).open:
        return []
    return starting_now(plan, left, kafka, ready, share=share_of(situation.view))


def _gate(situation: Situation, kafka: observed.KafkaSnapshot, move: Move) -> Gate:
    return may_move(kafka.by_name[move.name], move.after, allow_unavailable=situation.excused_topics)


def _whole(situation: Situation, kafka: observed.KafkaSnapshot) -> Gate:
    return cluster_is_whole(kafka, expected_brokers(situation.view), excepted=frozenset())


def _report(
    situation: Situation, rebalance: RebalanceView, plan: DrainPlan, left: Residual, kafka: observed.KafkaSnapshot
) -> Decision:
    pace = paced(situation, plan, kafka, left.running, (), batch=rebalance.id)
    steady = pace.throttle.seen == kafka.throttles
    sentence = _with(_sentence(situation, rebalance, plan, left, kafka), pace.said)
    effects = () if steady else throttle_effects(pace.throttle)
    return wait(WaitReason.REBALANCE_MOVES, sentence, *effects, patience_s=3600)


def _sentence(
    situation: Situation, rebalance: RebalanceView, plan: DrainPlan, left: Residual, kafka: observed.KafkaSnapshot
) -> str:
    moving_s = situation.seconds_since(rebalance.progress.moving_at) if rebalance.progress.moving_at else 0.0
    share, traffic = share_of(situation.view), situation.seen.traffic
    progress = progress_of(plan, left, kafka, moving_s=moving_s, traffic=traffic, share=share)
    ending = f" (no batch follows: {rebalance.cancelled})" if rebalance.cancelled else ""
    gone = gone_for_good(situation)
    sentence = (
        f"{_name(rebalance)}: batch {rebalance.progress.batch + 1} of {len(plan.checkpoints)}{ending}, "
        f"{len(left.finished)} of {len(plan.moves)} moves done, {len(left.running)} running, "
        f"{held_up(left.running, kafka, gone) or progress}"
    )
    return _with(sentence, kept_waiting(left.running, kafka, gone))


def _is_settling(move: Move, kafka: observed.KafkaSnapshot) -> bool:
    """Between a move's end and the metadata that says so a partition shows old and new replicas, and no move."""
    now = kafka.by_name.get(move.name)
    if now is None or now.is_moving or now.replicas in (move.before, move.after, move.sourced):
        return False
    return set(now.replicas) == {*move.before, *move.after}


def _by_policy(situation: Situation) -> Decision | None:
    """The spec's own policy, for a cluster at rest: well above the threshold, and above what the last one left."""
    view = situation.view
    policy = view.document.spec.balance if view.document else None
    if policy is None or not policy.continuous or view.roll.converged != view.generation:
        return None
    # What is slow has no leaders for now: no imbalance to mend. Whom a person demoted stays so, and is left out of it.
    if demoted_as_slow(view) or not heals(view, Kind.GOAL_VIOLATION, situation.now):
        return None
    last = view.moves.last_rebalance
    if last is not None and situation.seconds_since(last.ended_at) < REST_S:
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or kafka.moving() or not _whole(situation, kafka).open:
        return None
    hot = situation.seen.background.hot
    if hot is not None and hot.spread and is_young(situation, hot) and heals(view, Kind.HOT_BROKER, situation.now):
        asked = asked_by_heat(view, hot.reason)
        return record(f"rebalancing: {asked.reason}", asked)
    found = _uneven_now(situation, kafka)
    left = left_over(view, found)
    over = over_edge(found, float(policy.threshold_percent), left)
    if not over:
        return None
    asked = asked_by_policy(view, over, left)
    return record(f"rebalancing: {asked.reason}", asked)


def _uneven_now(situation: Situation, kafka: observed.KafkaSnapshot) -> Deviations:
    """By goal, percent, by the figures a plan would be made on."""
    seen, view = situation.seen, situation.view
    cpu = seen.background.cpu
    load = known_load(view, kafka, seen.traffic, cpu.young(situation.now) if cpu is not None else {})
    return unevenness(view, kafka, load)


def _is_even_enough(rebalance: RebalanceView, before: float, uneven: Deviations) -> bool:
    """Whether the plan's own figures call for no rebalance. Jobs of an earlier release tell the worst alone."""
    threshold = rebalance.terms.threshold_percent
    return not over_edge(uneven, threshold) if uneven and threshold else before < threshold


def _worse(one: Deviations, other: Deviations) -> dict[str, float]:
    return {goal: max(one.get(goal, 0.0), other.get(goal, 0.0)) for goal in sorted({*one, *other})}


def _name(rebalance: RebalanceView) -> str:
    return f"rebalance ({rebalance.cause}){rebalance.onto}"


def _with(sentence: str, correction: str) -> str:
    return f"{sentence}; {correction}" if correction else sentence


def _whole_number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"a plan's figure should be a whole number, not {value!r}")
    return value


def _uneven(result: Mapping[str, object], when: str) -> Deviations:
    found = result.get(f"uneven_{when}")
    return {str(goal): float(percent) for goal, percent in found.items()} if isinstance(found, dict) else {}


def _number(result: Mapping[str, object], when: str) -> float:
    value = result[f"imbalance_{when}"]
    if not isinstance(value, int | float):
        raise TypeError(f"a plan's imbalance should be a number, not {value!r}")
    return float(value)
