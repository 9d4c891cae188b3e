"""Handover: the successor's VM first, then the old process stops, then id, volume and (controllers) address pass.

    successor reports -> gate -> fence old -> release (run) -> bind (run) -> serve again -> retire old

Where a VM gets a node's address or disk only when it is made (`Handover.DELETE_FIRST`), the successor has no VM yet:

    gate -> fence old -> release, which deletes the old VM -> bind, which makes the new one -> serve again -> retire old

Controllers always go this way, brokers where the strategy is `reattach`, and lost ones whose disk is there where
`healing.lostDisk` is `reattach`. One node at a time: the next gate opens only when the quorum has caught up, or every
replica is back in its ISR. With three voters the swap runs on two.
"""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.seats import lacks_majority, must_leave_first, voter_change_due
from controlplane.converger.questions.rolls import handover_pairs, stale_stops, stop_gates
from controlplane.converger.questions.rolls.lost_disks import is_given_up
from controlplane.converger.questions.services.agent_evidence import lost_directories
from controlplane.converger.questions.services.service_reports import has_reported
from controlplane.converger.questions.unavailability import may_go_away
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.departures import request_retire
from controlplane.converger.steps.rolls.levels import successor_is_beyond_its_reach
from controlplane.kafka.gates import Gate
from events import facts
from events.ids import intent_id
from planner.observed import KafkaSnapshot
from planner.rollout.desired import desired_nodes

_COPYING_S = 6 * 3600.0
"""A new disk is filled at the speed of replication that nobody throttles; longer than this is told as stuck."""


def handover_step(situation: Situation) -> Decision | None:
    """Looks after nodes that are being handed over; a node whose holder is gone comes first."""
    handovers = [
        h
        for node in sorted({i.node for i in situation.view.alive()})
        if (h := handover_pairs.handover_pair(situation, node))
    ]
    waiting: Decision | None = None
    arrives = False
    for olds, new in sorted(handovers, key=lambda h: not any(handover_pairs.is_gone(situation, i) for i in h[0])):
        if arrives and any(i.phase is Phase.JOINED for i in olds):
            continue
        decision = _hand_over(situation, olds, new)
        if decision is None and new.phase is Phase.LAUNCHED:
            arrives = True  # it may need those to join whose predecessors have stopped; nobody else is stopped for it
            continue
        if decision is None or decision.wait is None:
            return decision
        waiting = waiting or decision
    if arrives:
        return None
    if (kept := _retire_unneeded(situation)) is not None:
        return kept
    # A gate that waits for somebody dead waits for ever, unless that one gets its successor first.
    lost = handover_pairs.is_orphaned(situation) or any(
        new.phase is Phase.JOINED and (new.lost or is_given_up(situation.view, new)) for _, new in handovers
    )
    return None if lost or handover_pairs.is_to_be_replaced_first(situation) else waiting


def _hand_over(situation: Situation, olds: list[InstanceView], new: InstanceView) -> Decision | None:
    """`olds` are all earlier instances of the node: one that failed to join may hold the volume now."""
    given_up = is_given_up(situation.view, new)
    if not new.awaits_bind and not given_up and not has_reported(situation, new):
        return wait(
            WaitReason.SUCCESSOR_SILENT, f"{new.key} runs; waiting for its agent before {olds[0].key} is touched"
        )
    holder = next((i for i in olds if i.bound), None)
    if holder is not None:
        return _take_from(situation, holder, new)
    if not new.bound:
        intent = intent_id(situation.view.uid, "bind", new.key, 1)
        return record(f"binding volume and address of {new.node} to {new.key}", facts.BindRequested(intent, new.key))
    if new.phase is Phase.JOINED:
        released = [i for i in olds if i.phase is Phase.RELEASED]
        fills = bool(new.planned.new_dirs) and not new.lost and not given_up
        if fills and (left := _left_to_copy(situation, new)):
            return wait(WaitReason.COPIES_MISSING, f"{new.key} fills its new disk: {left}", patience_s=_COPYING_S)
        retained = next((i for i in released if _keeps_a_disk(i, new)), None)
        if retained is not None and (left := _not_elsewhere(situation, retained)):
            return wait(
                WaitReason.COPIES_MISSING,
                f"{retained.key} keeps the disk nobody took over: {left}",
                patience_s=_COPYING_S,
            )
        has = "stands for" if given_up else "has taken over"
        return request_retire(situation, released, f"{new.key} {has} {new.planned.service} {new.service_id}")
    return None


def _left_to_copy(situation: Situation, successor: InstanceView) -> str:
    """What keeps the disks that its new ones stand in for: a replica that is not in sync yet. "" once all are."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return "Kafka's metadata cannot be read"
    hosted = [p for p in kafka.hosted_by(successor.service_id) if successor.service_id in p.target]
    behind = [p for p in hosted if successor.service_id not in p.isr]
    return f"{len(behind)} of {len(hosted)} partitions are not in sync there yet" if behind else ""


def _keeps_a_disk(old: InstanceView, successor: InstanceView) -> bool:
    """Whether a disk of its broker is still there that its successor begins anew: the failed one."""
    passed = {v.key for v in successor.planned.volumes}
    return old.is_broker and any(v.key not in passed for v in old.planned.volumes)


def _not_elsewhere(situation: Situation, broker: InstanceView) -> str:
    """What its disks may be the last copy of: partitions that no broker has in sync which serves. "" where there is
    none. A successor that was lost before it had filled its new disk may have left the failed one as the only one
    there."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return "Kafka's metadata cannot be read"
    gone = {i.service_id for i in situation.view.brokers() if i.lost}
    live, hosted = kafka.live_brokers() - gone, kafka.hosted_by(broker.service_id)
    only = [p for p in hosted if live.isdisjoint(p.isr)]
    return f"{len(only)} of {len(hosted)} partitions have no copy in sync elsewhere" if only else ""


def _retire_unneeded(situation: Situation) -> Decision | None:
    """A VM that was let go of and kept as long as its failed disk might have been needed, beside a broker of another id
    by now: it goes once all it held is elsewhere."""
    for old in situation.view.in_phase(Phase.RELEASED):
        there = [i for i in situation.view.of_node(old.node) if i.phase is not Phase.RETIRING]
        others = all(i.service_id != old.service_id for i in there if i.key != old.key)
        serves = there[-1].phase is Phase.JOINED and not there[-1].lost
        if old.is_broker and others and serves and not _not_elsewhere(situation, old):
            return request_retire(situation, [old], f"all that broker {old.service_id} held is elsewhere")
    return None


def _take_from(situation: Situation, holder: InstanceView, new: InstanceView) -> Decision | None:
    if holder.phase is Phase.JOINED and not _gets_what_is_there(situation.view, holder, new):
        return request_retire(
            situation, [new], "a disk it was to take over was lost meanwhile: the next VM gets a new one"
        )
    if holder.phase is Phase.JOINED:
        return stop_for(situation, holder, new)
    if holder.phase is Phase.FENCED and must_leave_first(situation.view, new):
        kafka = situation.seen.fresh_kafka(situation.now)
        step = voter_change_due(situation.view, kafka) if kafka else None
        reason = step.gate.reason if step else "Kafka's metadata cannot be read"
        return wait(
            WaitReason.QUORUM_GATE, f"handover of {new.node}: its lost directory leaves the quorum first: {reason}"
        )
    if holder.phase is Phase.FENCED:
        intent = intent_id(situation.view.uid, "release", holder.key, 1)
        with_vm = new.awaits_bind or holder.departure.unheard
        gone_too = ", with its VM" if with_vm else ""
        sentence = f"releasing the volume and the address of {holder.key}{gone_too}"
        return record(sentence, facts.ReleaseRequested(intent, holder.key, with_vm=with_vm))
    return None


def _gets_what_is_there(view: ClusterView, holder: InstanceView, successor: InstanceView) -> bool:
    """Whether it was made when those disks of its predecessor were known that nobody can take over."""
    asked, planned = view.requests.to_replace.get(holder.key), successor.planned
    if asked is None or planned.new_disk or successor.bound:
        return True
    return not asked.new_disk and set(asked.disks) <= set(planned.new_dirs)


def _between_two_vms(situation: Situation, old: InstanceView) -> InstanceView | None:
    """A broker of another rack that stopped for its successor a moment ago: who is down all the same may be back by
    itself before that one is, and would be kept from it."""
    if not old.is_broker:
        return None
    there = (i for i in situation.view.in_phase(Phase.FENCED) if i.is_broker and not i.lost and i.node != old.node)
    others = (i for i in there if i.planned.rack != old.planned.rack)
    return next((i for i in others if handover_pairs.handover_pair(situation, i.node) is not None), None)


def _nothing_to_pass(situation: Situation, old: InstanceView, successor: InstanceView) -> Decision | None:
    """Its successor could start on empty disks no better. Their cure asks for one that begins them anew."""
    lost = lost_directories(situation, old) - set(successor.planned.new_dirs)
    if successor.planned.new_disk or not lost:
        return None
    names, all_of_it = sorted(lost), lost >= {v.dir for v in old.planned.volumes}
    which = " --new-disk" if all_of_it else "".join(f" --disk {name}" for name in names)
    sentence = f"handover of {old.node}: nothing is on {', '.join(names)} of {old.key}, and nobody can take that over"
    return wait(
        WaitReason.DISK_LOST, sentence, next_command=f"kedge replace {situation.view.name} --node {old.node}{which}"
    )


def _let_go(situation: Situation, successor: InstanceView) -> Decision | None:
    """One that cannot read what is in force is not waited for once the spec asks for another release. Nothing has
    passed to it."""
    document = situation.view.working_spec()
    wanted = {n.node: n.kafka_version for n in desired_nodes(document)} if document is not None else {}
    version = wanted.get(successor.node, "")
    if successor.bound or successor.planned.relieves or version in ("", successor.planned.kafka_version):
        return None
    return request_retire(
        situation, [successor], f"it runs Kafka {successor.planned.kafka_version}, and {version} is wanted"
    )


def _gate_for_its_successor(situation: Situation, kafka: KafkaSnapshot, old: InstanceView) -> Gate:
    """As before any stop; but one that does not serve itself would wait for itself for ever, and its successor is what
    it is cured by: all others must serve and be in sync."""
    if old.service_id in kafka.live_brokers():
        return stop_gates.broker_gate(situation, kafka, old)
    others = stop_gates.others_are_whole(situation, kafka, old, excepted=frozenset({old.service_id}))
    return (
        stop_gates.unhealthy_broker_gate(situation, kafka, old)
        if others.open
        else stop_gates.broker_gate(situation, kafka, old)
    )


def stop_for(situation: Situation, old: InstanceView, new: InstanceView) -> Decision:
    """Stops who serves so that its successor can, once its gate is open; the reason where it is not."""
    if old.lost:
        return record(f"{old.key} is gone already", facts.FenceRequested((old.key,), "its VM is gone"))
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        lost = lacks_majority(situation.view)
        if lost:
            again = f"kedge describe {situation.view.name}"
            return wait(WaitReason.METADATA_LOST, f"handover of {old.node}: {lost}", next_command=again, patience_s=0)
        return wait(WaitReason.KAFKA_UNKNOWN, f"handover of {old.node}: Kafka's metadata cannot be read")
    beyond = successor_is_beyond_its_reach(situation, new)
    if beyond is not None:
        return _let_go(situation, new) or beyond
    empty = _nothing_to_pass(situation, old, new)
    if empty is not None:
        return empty
    room = may_go_away(situation, kafka, old) if old.is_broker else None
    if room is not None and not room.open:
        return wait(WaitReason.MAX_UNAVAILABLE, f"handover of {old.node}: {room.reason}")
    reason = WaitReason.MIN_ISR_GATE if old.is_broker else WaitReason.QUORUM_GATE
    ordered = stale_stops.on_its_way(situation, but=(old.service_key,))
    if ordered:
        return wait(reason, f"handover of {old.node}: {ordered} was told to stop or to start anew, and may yet obey")
    between = _between_two_vms(situation, old)
    if between is not None:
        return wait(reason, f"handover of {old.node}: {between.key} has stopped, and its disk has not passed on yet")
    down = stop_gates.service_down(situation, kafka, old, service=old.planned.service)
    if down:
        return wait(reason, f"handover of {old.node}: {down}")
    gate = (
        _gate_for_its_successor(situation, kafka, old)
        if old.is_broker
        else stop_gates.controller_gate(situation, kafka, old)
    )
    if not gate.open:
        return wait(reason, f"handover of {old.node}: {gate.reason}")
    return record(f"stopping {old.key}: {gate.reason}", facts.FenceRequested((old.key,), f"handover to {new.key}"))
