"""An order that was not heard in time is given again once it is safe, one at a time.

asked -> gate -> told -> not heard within 30 s: kept back (`stale_stops`) -> heard again, gate -> order.renewed
                                                        +--> somebody died meanwhile: that one's successor first
"""

from dataclasses import replace
from math import inf

from controlplane.cluster.folds.orders import HOLDS_FOR
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.health.cure_gates import healing_gate
from controlplane.converger.questions.rolls.stale_stops import on_its_way, stale_orders
from controlplane.converger.questions.rolls.stop_gates import controller_gate, others_are_whole, service_down
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.departures import may_stop_empty
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.kafka.gates import Gate
from events import facts
from planner.observed import KafkaSnapshot

REPEATED_FOR_S = 120.0
"""Whose agent is silent for longer is told once it is heard again: else a VM that nobody hears for days would fill the
history with an order each half minute."""


def stale_order_step(situation: Situation) -> Decision | None:
    """Gives an order again that was not heard in time. None where none can be given now."""
    stale = stale_orders(situation)
    kafka = situation.seen.fresh_kafka(situation.now) if stale else None
    if kafka is None or on_its_way(situation, but={service.service_key for service in stale}):
        return None
    for service in stale:
        gate = cure_gate(situation, kafka, service)
        if gate.open:
            renewed = facts.OrderRenewed(service.key, gate.reason, service.beside)
            return record(f"telling {service.service_key} again what it did not hear: {gate.reason}", renewed)
    return None


def beside_stale_orders(situation: Situation, decision: Decision) -> Decision:
    """What waits for a service to obey says why it is not told now, and gives way: its gate may wait for somebody
    dead, who gets a successor first."""
    stale = stale_orders(situation) if decision.wait is not None else ()
    if not stale:
        return decision
    for mended in (handover_step(situation), replacement_step(replace(situation, repairs_only=True))):
        if mended is not None and mended.wait is None:
            return mended
    kafka = situation.seen.fresh_kafka(situation.now)
    gates = [cure_gate(situation, kafka, s) if kafka else Gate(False, "Kafka's metadata cannot be read") for s in stale]
    why = "; ".join(
        f"{s.service_key} did not hear of it within {HOLDS_FOR.total_seconds():.0f} s and is told again once it is "
        f"safe: {'another order is on its way' if g.open else g.reason}"
        for s, g in zip(stale, gates, strict=True)
    )
    return replace(decision, sentence=f"{decision.sentence}; {why}")


def cure_gate(situation: Situation, kafka: KafkaSnapshot, service: InstanceView) -> Gate:
    """That of a cure: what was asked of it had a gate of its own before, so what it is itself like says nothing."""
    seen = situation.seen.reports.get(service.key)
    silent_s = situation.seconds_since(seen.received_at) if seen is not None else inf
    is_heard = seen is not None and seen.is_young(situation.now)
    if service.is_broker and service.service_id not in kafka.live_brokers() and silent_s <= REPEATED_FOR_S:
        # Whoever is not heard may be counted on again by the time it hears of it.
        whole = others_are_whole(situation, kafka, service, excepted=frozenset({service.service_id}))
        return Gate(True, "Kafka does not count on it") if is_heard or whole.open else whole
    if not is_heard:
        return Gate(False, "its agent is not heard")
    if not service.is_broker:
        return _voter_gate(situation, kafka, service)
    if not kafka.hosted_by(service.service_id):
        return may_stop_empty(kafka, service)
    return healing_gate(situation, kafka, service)


def _voter_gate(situation: Situation, kafka: KafkaSnapshot, service: InstanceView) -> Gate:
    if service.departure.drained or service.planned.service != situation.view.quorum_service:
        return Gate(True, "it has no vote")
    down = service_down(situation, kafka, service, service=service.planned.service)
    return Gate(False, down) if down else controller_gate(situation, kafka, service)
