"""Which brokers are started anew at once: those of one rack for which it is proved that all may be away together. Pure.

`rollout.maxParallelRestarts` asks for it, `rollout.maxUnavailable` has to leave room for it, and the gate of every
restart is open for each. The proof is this: no partition would have fewer replicas in sync than writes need with all of
them away. Controllers, a first one that is to be watched, one that is unhealthy, and ZooKeeper mode's active controller
go alone, always.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.running.restart_safety import restart_safety
from controlplane.converger.questions.services.registrations import is_marked_misregistered
from controlplane.converger.questions.unavailability import brokers_away, most_away
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import falling_without_all
from planner.observed import KafkaSnapshot
from planner.rollout.diff import NodeChange


@dataclass(frozen=True, slots=True)
class RestartBatch:
    """`changes` begin with the one whose turn it is. `alone` says why no further one joins them, "" where nobody asked
    for more, or no more of the rack are left."""

    changes: tuple[NodeChange, ...]
    alone: str = ""


def restart_batch(situation: Situation, kafka: KafkaSnapshot, order: Sequence[NodeChange]) -> RestartBatch:
    """As many of `order`, which begins with one that may be restarted now, as may be away together."""
    document, first = situation.view.document, order[0]
    most = document.spec.rollout.max_parallel_restarts if document else 1
    others = [c for c in order[1:] if c.service == "broker" and c.rack == first.rack]
    if most < 2 or first.service != "broker" or not others:
        return RestartBatch((first,))
    why = _why_alone(situation, kafka, first)
    if why:
        return RestartBatch((first,), why)
    chosen, room = [first], most_away(situation.view) - len(brokers_away(situation, kafka))
    for change in others:
        if len(chosen) == most:
            break
        if len(chosen) >= room:
            why = why or f"{len(chosen)} at a time may be away, by rollout.maxUnavailable"
            break
        refused = _why_alone(situation, kafka, change) or _why_not_with(situation, kafka, chosen, change)
        if refused:
            why = why or refused
        else:
            chosen.append(change)
    return RestartBatch(tuple(chosen), why)


def _why_alone(situation: Situation, kafka: KafkaSnapshot, change: NodeChange) -> str:
    """Why this one is restarted together with no other, "" where it may be."""
    instance = _instance(situation, change)
    if is_first_of_its_kind(situation, change):
        return f"{instance.key} is the first with new settings, and is watched alone"
    if kafka.controller == instance.service_id:
        return f"{instance.key} is the active controller"
    if (
        instance.lost
        or instance.service_id not in kafka.live_brokers()
        or is_marked_misregistered(situation, kafka, instance)
    ):
        return f"{instance.key} does not serve as it should"
    gate = restart_safety(situation, kafka, instance)
    return "" if gate.is_safe else f"{instance.key}: {gate.gate.reason}"


def is_first_of_its_kind(situation: Situation, change: NodeChange) -> bool:
    """Whether it would be the first of its service to run with what this generation brings: the canary."""
    if not change.is_new_to_it:
        return False
    canary = situation.view.settings.canaries.get(change.service)
    return canary is None or canary.generation != situation.view.generation


def _why_not_with(situation: Situation, kafka: KafkaSnapshot, chosen: Sequence[NodeChange], change: NodeChange) -> str:
    there = [_instance(situation, c) for c in chosen]
    candidate = _instance(situation, change)
    brokers = frozenset(i.service_id for i in (*there, candidate))
    hosted = kafka.hosted_by(candidate.service_id)
    falling = falling_without_all(hosted, brokers, excused=situation.excused_topics)
    if not falling:
        return ""
    short = f"{falling[0].name} (ISR {list(falling[0].isr)}, min {falling[0].min_isr})"
    more = f" and {len(falling) - 1} more" if len(falling) > 1 else ""
    return f"{candidate.key} goes later: {short}{more} would lack replicas without brokers {_ids(brokers)}"


def _ids(brokers: Collection[int]) -> str:
    return ", ".join(str(b) for b in sorted(brokers))


def _instance(situation: Situation, change: NodeChange) -> InstanceView:
    return situation.view.instances[change.incumbent.key if change.incumbent else ""]
