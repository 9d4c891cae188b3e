"""The latency brake, beside whatever else a tick decides: it records, and the step whose moves they are sets the rate.

brake.armed    moves are about to begin: what brokers told until now is what they are held to, and the share of the
               plan's rate they begin with
brake.changed  pressed, or let go by one step
"""

from dataclasses import fields
from datetime import timedelta

from controlplane.cluster.latency_brake import batch_of, brake_of, is_braking, is_of_disks
from controlplane.converger.questions.moves.latency_brake import beginning, judgement_of, plan_of, planned_bytes_per_s
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.latency_brake import RESERVOIR, BrokerLoad

USUAL = timedelta(hours=6)
"""So long figures of before one batch count for the next ones, where nothing rests between them."""


def with_brake(situation: Situation, decision: Decision) -> Decision:
    """The decision, or what is to be recorded of the brake before it."""
    view = situation.view
    if decision.events or view.history.unreadable or view.requests.held or view.deleted:
        return decision
    if not batch_of(view) or not is_braking(view):
        return decision
    return _armed(situation) or _changed(situation) or decision


def _armed(situation: Situation) -> Decision | None:
    """Once for each batch, with the figures of before its first move: of later ones nobody could tell what is usual.
    Right after other moves they would be what those made of them: then those of before these still count."""
    batch, last, loads = batch_of(situation.view), situation.view.moves.brake, situation.seen.loads
    planless = is_of_disks(situation.view) or situation.view.topics.replication is not None
    has_plan = situation.view.moves.drain is not None or not planless
    if last.batch == batch or (has_plan and plan_of(situation) is None):
        return None
    before = {b: load for b, load in loads.at_rest.items() if load.has_figures}
    old = [load for load in last.before.values() if situation.now - load.at <= USUAL]
    if old and loads.moved_at is not None and situation.now - loads.moved_at <= RESERVOIR:
        before = dict(last.before)
    if not before:
        return None
    figures = {str(b): _figures(load) for b, load in sorted(before.items())}
    share, why = beginning(situation)
    armed = facts.BrakeArmed(batch, figures, max(load.at for load in before.values()), share, why)
    softly = f", which begin at {share:.0%} of the plan: {why}" if share < 1 else ""
    return record(f"what {len(figures)} brokers told before the moves is noted{softly}", armed)


def _changed(situation: Situation) -> Decision | None:
    kafka, brake = situation.seen.fresh_kafka(situation.now), brake_of(situation.view)
    now = judgement_of(situation, kafka) if kafka is not None else None
    if kafka is None or now is None or now.share == brake.share:
        return None
    batch, share, planned = batch_of(situation.view), round(now.share, 4), planned_bytes_per_s(situation, kafka)
    if now.worst is None or share > brake.share:
        reason = brake.reason if brake.is_soft and share < 1 else "all figures are well below their limits"
        eased = facts.BrakeChanged(batch, share, "", -1, reason, planned)
        return record(f"moves go at {share:.0%} of the plan: {reason}", eased)
    pressed = facts.BrakeChanged(batch, share, str(now.worst.figure), now.worst.broker, str(now.worst), planned)
    return record(f"moves are slowed to {share:.0%} of the plan: {pressed.reason}", pressed)


def _figures(load: BrokerLoad) -> dict[str, float]:
    names = [f.name for f in fields(load) if f.name != "at"]
    found = {name: getattr(load, name) for name in names}
    return {name: round(float(value), 4) for name, value in found.items() if value is not None}
