"""Brokers that serve beside the one that was made in their place: what they have goes to it, the lost ones' first."""

from collections.abc import Collection, Sequence
from typing import TypeAlias

from controlplane.cluster.external_brokers import expected_brokers
from controlplane.cluster.healing_switches import is_being_cured
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.blocked_moves import in_the_way
from controlplane.converger.questions.rolls.drain_requests import request_drain
from controlplane.converger.questions.rolls.lost_disks import who_takes_over
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change, Incumbent, NodeChange

Pair: TypeAlias = tuple[InstanceView, InstanceView]
"""A broker, and the one that was made in its place."""


def superseded(view: ClusterView) -> list[Pair]:
    """Brokers that serve beside a newer instance of their node, with that one; one pair a node, lost ones first."""
    pairs: dict[str, Pair] = {}
    for node in sorted({i.node for i in view.brokers()}):
        serving = [i for i in view.of_node(node) if i.phase is Phase.JOINED]
        # Whoever has the successor's own id gives it up by a handover.
        others = [i for i in serving[:-1] if i.service_id != serving[-1].service_id]
        if not others or serving[-1].lost:
            continue
        successor = serving[-1]
        olds = sorted(others, key=lambda i: (not i.lost, i.key not in view.requests.to_replace))
        # A successor that is itself to be replaced takes nothing over but what is lost, unless it is unhealthy; among
        # its elders it goes first.
        if successor.key not in view.requests.to_replace or (
            olds[0].lost and not is_being_cured(view, node, successor.key)
        ):
            pairs[node] = (olds[0], successor)
    return list(pairs.values())


def drain_lost(situation: Situation, pairs: Sequence[Pair], changes: Sequence[NodeChange]) -> Decision | None:
    """What lost brokers had goes to their successors. Another one that is lost and shares partitions with them gets its
    own successor first, and that one its disk, or goes in the same drain where it is to get none."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    if not pairs or kafka is None:
        return drain_replaced(situation, pairs)
    way = _in_their_way(situation, kafka, [old.service_id for old, _ in pairs])
    # By node: of a lost one whose successor is lost too it is the successor that is replaced.
    replaced = {c.node for c in changes if c.change is Change.REPLACE and c.incumbent and c.incumbent.lost}
    if any(i.node in replaced for i in way):
        return None
    found = ((i, who_takes_over(view, i)) for i in way)
    passing = next(((lost, successor) for lost, successor in found if successor is not None), None)
    if passing is not None:
        sentence = f"not draining {pairs[0][0].key}: {passing[1].key} takes over the disk of {passing[0].key} first"
        return wait(WaitReason.INSTANCE_JOINS, sentence)
    # What a lost one had is copied though a failed disk keeps another out of sync: that one waits for this.
    gone = [i.service_id for i in view.brokers() if i.lost or has_failed_disk(view, i.node, i.key)]
    return drain_replaced(situation, pairs, beside=way, excepted=gone)


def _in_their_way(situation: Situation, kafka: KafkaSnapshot, outgoing: Sequence[int]) -> list[InstanceView]:
    """And who is in the way of those, as they are emptied in the same drain: else that one would be put off at once,
    and asked for again, at every tick."""
    found: list[InstanceView] = []
    while more := in_the_way(situation, kafka, [*outgoing, *(i.service_id for i in found)]):
        found += more
    return found


def drain_replaced(
    situation: Situation,
    pairs: Sequence[Pair],
    *,
    beside: Sequence[InstanceView] = (),
    excepted: Sequence[int] = (),
) -> Decision | None:
    """What was replaced is emptied, and those `beside` in the same drain; brokers `excepted` may be away meanwhile."""
    if not pairs:
        return None
    successors = {old.service_id: new.service_id for old, new in pairs}
    gate = is_whole(situation, [*excepted, *successors])
    if not gate.open:
        return wait(WaitReason.BROKER_DOWN, f"not draining {pairs[0][0].key}: {gate.reason}")
    keys = [*(old.key for old, _ in pairs), *(i.key for i in beside)]
    reason = f"replaced by {', '.join(new.key for _, new in pairs)}"
    drain = request_drain(situation, keys, successors, round_number=1, reason=reason)
    return record(f"draining {', '.join(drain.keys)}: {reason}", drain)


def drain_beside(situation: Situation, keys: Collection[str]) -> Decision | None:
    """Those of them that were replaced are emptied, whoever was lost: each copy more is one that is there when they go.
    None where nobody was lost, a drain is in hand, or who is lost has a copy of all they have: no such move would end.
    """
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    pairs = [(old, new) for old, new in superseded(view) if old.key in keys and not old.lost]
    lost = [i.service_id for i in view.brokers() if i.lost]
    if not pairs or not lost or kafka is None or view.moves.drain is not None:
        return None
    movable = [(old, new) for old, new in pairs if _has_more_than(kafka, old.service_id, lost)]
    if in_the_way(situation, kafka, [old.service_id for old, _ in movable]):
        return None
    drained = drain_replaced(situation, movable, excepted=lost)
    return drained if drained is not None and drained.wait is None else None


def _has_more_than(kafka: KafkaSnapshot, broker: int, lost: Collection[int]) -> bool:
    """Whether it holds a partition that none of the lost ones does."""
    return any(set(lost).isdisjoint(p.replicas) for p in kafka.hosted_by(broker))


def that_others_wait_for(situation: Situation, changes: Sequence[NodeChange]) -> tuple[NodeChange, ...]:
    """Brokers to be replaced for a disk that failed, or that do not serve: their copies are out of sync until they are,
    so everything else that needs a whole cluster would wait for them. And successors that are unhealthy themselves, to
    whom what a lost one had is not brought: it counts as down until the next successor has it."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    if not view.requests.to_replace:
        return ()
    serving = kafka.live_brokers() if kafka is not None else None

    def is_waited_for(old: Incumbent) -> bool:
        is_down = serving is not None and old.service == "broker" and old.service_id not in serving
        is_unhealthy = has_failed_disk(view, old.node, old.key) or _is_unhealthy_successor_of_lost(
            view, old.node, old.key
        )
        return is_unhealthy or (is_down and old.key in view.requests.to_replace)

    return tuple(c for c in changes if c.change is Change.REPLACE and c.incumbent and is_waited_for(c.incumbent))


def is_whole(situation: Situation, excepted: Sequence[int]) -> Gate:
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return Gate(False, "Kafka's metadata cannot be read")
    return cluster_is_whole(
        kafka, [b for b in expected_brokers(situation.view) if b not in excepted], excepted=frozenset(excepted)
    )


def has_failed_disk(view: ClusterView, node: str, key: str) -> bool:
    asked = view.requests.to_replace.get(key)
    return asked is not None and (bool(asked.disks) or (asked.new_disk and is_being_cured(view, node, key)))


def _is_unhealthy_successor_of_lost(view: ClusterView, node: str, key: str) -> bool:
    """Whether a broker of the node is lost, and what it had is not brought to this one, which is to be cured itself."""
    elders = (i for i in view.of_node(node) if i.phase is Phase.JOINED and i.key != key)
    return is_being_cured(view, node, key) and any(i.lost for i in elders)
