"""Brokers a person wants empty and kept empty: drained by the drain's own machine, but they stay.

    evacuation.requested -> drain.requested (stays) -> ... -> evacuation.completed, the broker serves on, empty
                                  ^------ a new topic put a replica on it: drained again ------+

Moves of anybody else's drain never go to such a broker. Below 4.3 Kafka itself may still place new topics
there; from then on the broker is cordoned (`cordons`).
"""

from collections.abc import Sequence

from controlplane.cluster.external_brokers import expected_brokers
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.drain_requests import request_drain
from controlplane.converger.questions.rolls.handover_pairs import is_to_be_replaced_first
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.observed import KafkaSnapshot


def evacuation_step(situation: Situation) -> Decision | None:
    """Begins to empty what is to be empty and is not. None when nothing is to be done, or what is lost goes first."""
    view = situation.view
    there = [
        i for k in sorted(view.requests.evacuations) if (i := view.instances[k]).phase is Phase.JOINED and not i.lost
    ]
    if not there or any(i.lost for i in view.alive()):
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        why = situation.seen.why_no_kafka
        return wait(WaitReason.KAFKA_UNKNOWN, f"evacuation of {_keys(there)}: {why}") if view.is_evacuating() else None
    filled = [i for i in there if kafka.hosted_by(i.service_id)]
    if filled:
        return _empty(situation, kafka, _alike(situation.view, filled))
    fresh = tuple(i.key for i in there if view.requests.evacuations[i.key].empty_at is None)
    if not fresh:
        return None
    return record(f"{', '.join(fresh)} held no replica anyway", facts.EvacuationCompleted("", fresh, 0, 0))


def _empty(situation: Situation, kafka: KafkaSnapshot, filled: Sequence[InstanceView]) -> Decision | None:
    """None where somebody down gets a new VM first: nobody would make it while this waits for him."""
    view, ids = situation.view, frozenset(i.service_id for i in filled)
    if not situation.allowance.may_roll:
        return wait(WaitReason.FLEET_BRAKE, f"waiting to evacuate {_keys(filled)}: {situation.allowance.reason}")
    gate = cluster_is_whole(kafka, set(expected_brokers(view)) - ids, excepted=ids)
    if not gate.open and is_to_be_replaced_first(situation):
        return None
    if not gate.open:
        return wait(WaitReason.BROKER_DOWN, f"not evacuating {_keys(filled)}: {gate.reason}")
    reason = f"to be empty, {view.requests.evacuations[filled[0].key].reason}"
    if view.roll.recycling != view.generation:
        started = facts.RecycleStarted(
            view.generation, create=(), replace=(), remove=(), reason=f"{_keys(filled)} {reason}"
        )
        return record(f"working towards generation {view.generation}: {started.reason}", started)
    drain = request_drain(situation, [i.key for i in filled], {}, round_number=1, reason=reason, stays=True)
    return record(f"draining {_keys(filled)}: {reason}", drain)


def _alike(view: ClusterView, filled: Sequence[InstanceView]) -> list[InstanceView]:
    """Those that may go to the same brokers at the same pace as the first: one drain is of one kind."""
    first = view.requests.evacuations[filled[0].key]
    wanted = (first.targets, first.throttle_mib_per_s)
    requests = [(i, view.requests.evacuations[i.key]) for i in filled]
    return [i for i, kept in requests if (kept.targets, kept.throttle_mib_per_s) == wanted]


def _keys(instances: Sequence[InstanceView]) -> str:
    return ", ".join(i.key for i in instances)
