"""After an abort: the replacement in hand is taken back while nothing has been drained, and finished once it has.

    successor | its predecessor | what becomes of it
    on the way (a broker) | serves | waited for: only one that has joined, or failed, can be stopped for certain
    not bound (a controller) | serves | retired: it never held anything, or was never made
    joined, empty | serves | fenced, unregistered, retired
    joined, holds replicas | serves | drained back first, then the same
    any | is being drained, stopped, released | finished by the steps that began it
    a broker | is gone, or the server beside it is | kept: it is needed, and its drain begins after the resume

New nodes (a scale-up) stay: they replace nobody. Then the cluster is paused in its mixed state until a person resumes.
"""

from collections.abc import Sequence

from controlplane.cluster.external_brokers import expected_brokers
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.drain_requests import request_drain
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.quorum.voters import dismiss_members
from controlplane.converger.steps.rolls.departures import request_retire
from controlplane.kafka.gates import broker_is_empty
from events import facts
from planner.observed import KafkaSnapshot

Pair = tuple[InstanceView, InstanceView]
"""(predecessor that serves on, successor to be taken back)"""


def abort_step(situation: Situation) -> Decision | None:
    """Takes successors back whose predecessors serve unharmed. None when nobody aborted, or nothing is left to do."""
    if not situation.view.requests.aborting:
        return None
    pairs = revertible(situation.view)
    unbound = [new for _, new in pairs if not new.bound and (new.awaits_bind or new.phase is Phase.LAUNCHED)]
    if unbound:
        return request_retire(situation, unbound, f"the roll was aborted: {situation.view.requests.aborting}")
    brokers = [(old, new) for old, new in pairs if new.is_broker and new.phase is Phase.JOINED]
    return _take_back(situation, brokers) if brokers else None


def revertible(view: ClusterView) -> list[Pair]:
    """Successors beside an unharmed predecessor whose drain or handover has not begun, by node."""
    pairs: list[Pair] = []
    for node in sorted({i.node for i in view.alive()}):
        present = view.of_node(node)
        first = present[0]
        if first.phase is not Phase.JOINED or first.lost or (first.is_broker and view.is_broken(first)):
            continue
        pairs += [(first, i) for i in present[1:] if not i.lost and not (i.bound and not i.is_broker)]
    known = {new.key for _, new in pairs}
    moved = (
        (view.instances[k], successor)
        for k, successor in sorted(view.controller_moves().items())
        if successor.key not in known
    )
    return [*pairs, *((o, h) for o, h in moved if o.phase is Phase.JOINED and not o.lost and not h.bound)]


def _take_back(situation: Situation, pairs: Sequence[Pair]) -> Decision:
    keys = ", ".join(new.key for _, new in pairs)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"aborted: {keys} goes again; Kafka's metadata cannot be read")
    filled = [(old, new) for old, new in pairs if kafka.hosted_by(new.service_id)]
    if filled:
        return _drain_back(situation, filled, kafka)
    live = [new for _, new in pairs if new.service_id in kafka.live_brokers()]
    closed = [g for new in live if not (g := broker_is_empty(kafka, new.service_id)).open]
    if closed:
        return wait(WaitReason.LOG_DIRS_NOT_EMPTY, f"aborted: {closed[0].reason}")
    if (leaves := dismiss_members(situation, [new for _, new in pairs])) is not None:
        return leaves
    fence = facts.FenceRequested(tuple(new.key for _, new in pairs), "the roll was aborted before its drain")
    return record(f"aborted: {keys} holds nothing and goes again", fence)


def _drain_back(situation: Situation, pairs: Sequence[Pair], kafka: KafkaSnapshot) -> Decision:
    leaving = {new.service_id for _, new in pairs}
    serving = expected_brokers(situation.view)
    gate = cluster_is_whole(kafka, [b for b in serving if b not in leaving], excepted=frozenset(leaving))
    keys = [new.key for _, new in pairs]
    if not gate.open:
        return wait(WaitReason.BROKER_DOWN, f"aborted: not draining {keys[0]} back: {gate.reason}")
    successors = {new.service_id: old.service_id for old, new in pairs}
    reason = f"the roll was aborted: back to {', '.join(old.key for old, _ in pairs)}"
    drain = request_drain(situation, keys, successors, round_number=1, reason=reason)
    return record(f"draining {', '.join(keys)}: {reason}", drain)
