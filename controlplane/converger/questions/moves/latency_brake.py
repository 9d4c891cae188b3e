"""How hard the latency brake is to be pressed now, whose moves it is about, and what it says. Pure.

What is in force is recorded, so a server that is started anew brakes as the last one did.
"""

from dataclasses import replace
from datetime import timedelta

from controlplane.cluster.hardware import volumes_of
from controlplane.cluster.latency_brake import batch_of, brake_of, first_disk_moves, is_braking, is_of_disks
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.situation import Situation
from planner.drain.plan import DrainPlan
from planner.latency_brake import BrakeLimits, BrakeState, Concerned, Judgement, judged
from planner.observed import KafkaSnapshot
from planner.quantities import brokers_named

SOFT_FROM = timedelta(minutes=2)
"""Moves that take less at the planned rate begin with it: a soft beginning would be half of their time."""

SILENT_LONG = timedelta(minutes=2)
"""Figures that are missing for so long are told where people look."""


def judgement_of(situation: Situation, kafka: KafkaSnapshot) -> Judgement | None:
    """What the newest figures say of the moves in hand; None while none run, or the spec wants no brake."""
    view, brake = situation.view, brake_of(situation.view)
    concerned = _concerned(view, kafka)
    if not batch_of(view) or not concerned or not is_braking(view):
        return None
    loads = situation.seen.loads
    there = concerned & kafka.live_brokers() & loads.recent.keys()
    seen = Concerned({b: loads.recent[b] for b in there}, brake.before)
    state = BrakeState(brake.share, brake.changed_at, brake.is_soft)
    found = judged(state, seen, limits_of(view), situation.now)
    return found if there else replace(found, share=brake.share)


def _concerned(view: ClusterView, kafka: KafkaSnapshot) -> set[int]:
    """Whom what moves now is read from, written to and led by; none while nothing moves."""
    if not is_of_disks(view):
        return {b for p in kafka.moving() for b in (p.leader, *p.replicas)}
    on_their_way = kafka.between_dirs.items()
    leaders = {kafka.by_name[n].leader for _, names in on_their_way for n in names if n in kafka.by_name}
    return {b for b, _ in on_their_way} | leaders


def words_of(situation: Situation) -> str:
    """For the sentence of a tick: what the brake does and why, or that it knows nothing; "" where it does nothing."""
    kafka, brake = situation.seen.fresh_kafka(situation.now), brake_of(situation.view)
    now = judgement_of(situation, kafka) if kafka is not None else None
    silent = _silence(situation, now) if now is not None else ""
    if brake.share >= 1:
        return silent
    over = str(now.worst) if now is not None and now.worst is not None else brake.reason
    verb = "begun at" if brake.is_soft else "braked to"
    return "; ".join(part for part in (f"{verb} {brake.share:.0%} of the plan: {over}", silent) if part)


def plan_of(situation: Situation) -> DrainPlan | None:
    """Of the moves in hand. None: there is none yet, or they are replicas of a topic or of the
    disks of a broker, which need none."""
    moves, plans = situation.view.moves, situation.seen.plans
    if is_of_disks(situation.view):
        return None
    if moves.drain is not None:
        return plans.drain
    if situation.view.topics.replication is not None or plans.rebalance is None:
        return None
    return plans.rebalance.copies


def beginning(situation: Situation) -> tuple[float, str]:
    """The share moves begin with, and why it is below 1: of the volumes they write to nobody knows what they do, and
    there are enough of them for a soft beginning to be worth its time."""
    view, plan = situation.view, plan_of(situation)
    share = view.document.spec.rollout.brake.start_percent / 100 if view.document is not None else 1.0
    if plan is None or share >= 1 or plan.certificate.measures.makespan_s.value < SOFT_FROM.total_seconds():
        return 1.0, ""
    unknown = sorted(plan.into.keys() - volumes_of(view).keys())
    if not unknown:
        return 1.0, ""
    return share, f"what the volumes of {brokers_named(unknown)} can do is not known"


def planned_bytes_per_s(situation: Situation, kafka: KafkaSnapshot) -> int:
    """What the broker that is to take most of what moves now may take by the plan; 0 where no plan says so."""
    moves = first_disk_moves(situation.view)
    if is_of_disks(situation.view):
        return moves[1].bytes_per_s if moves is not None else 0
    plan = plan_of(situation)
    targets = {b for p in kafka.moving() for b in p.adding}
    ports = [plan.into[b].promised_bytes_per_s for b in targets if b in plan.into] if plan is not None else []
    return max(ports, default=0)


def limits_of(view: ClusterView) -> BrakeLimits:
    """Of the spec."""
    if view.document is None:
        return BrakeLimits()
    spec = view.document.spec.rollout.brake
    return BrakeLimits(
        rise=spec.rise_percent / 100,
        produce_p99_ms=float(spec.produce_p99_ms),
        request_queue=float(spec.request_queue),
        handlers_busy=spec.handlers_busy_percent / 100,
        disk_busy=spec.disk_busy_percent / 100,
        disk_wait_ms=float(spec.disk_wait_ms),
        floor=spec.floor_percent / 100,
    )


def silent_brokers(situation: Situation, now: Judgement) -> tuple[int, ...]:
    """Of those nothing fresh is known of: who has told nothing for long, as far as this server has looked."""
    loads = situation.seen.loads
    if loads.since is None or situation.now - loads.since < SILENT_LONG:
        return ()
    since = situation.now - SILENT_LONG
    return tuple(b for b in now.unknown if not any(x.has_figures and x.at >= since for x in loads.recent.get(b, ())))


def _silence(situation: Situation, now: Judgement) -> str:
    silent = silent_brokers(situation, now)
    if not silent:
        return ""
    minutes = SILENT_LONG.total_seconds() / 60
    then = "stays as it is" if brake_of(situation.view).share < 1 else "is the planned one"
    return f"no figures of {brokers_named(silent)} for {minutes:.0f} min: the rate {then}"
