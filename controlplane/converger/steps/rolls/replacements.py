"""New work: which nodes to make, replace or remove next, and whether it may begin."""

from collections.abc import Callable, Collection, Sequence

from controlplane.cluster.healing_switches import is_being_cured, why_not
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.evacuation_room import room_without, successors_have_room
from controlplane.converger.questions.quorum import controller_moves
from controlplane.converger.questions.rolls import drain_requests
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.decision import Decision, SurgeAsk, Wait, record, wait
from controlplane.converger.situation.situation import Situation, SurgeShare
from controlplane.converger.steps.quorum.voters import leave_step
from controlplane.converger.steps.rolls import levels, succession
from controlplane.converger.steps.rolls.images import withdrawn_first
from controlplane.converger.steps.rolls.refusals import refusal_left_step
from controlplane.converger.steps.rolls.surge import surge
from events import facts
from planner.anomalies.kinds import Kind
from planner.rollout.diff import Change, NodeChange
from planner.rollout.order import Work, first_nodes, next_work, who_leads

MAX_JOIN_FAILURES = 2
"""New VMs in a row that may fail to join before the cluster waits for a person."""


def replacement_step(situation: Situation) -> Decision | None:
    """The next piece of work, what is lost before what is merely outdated. None when every node is as it should be."""
    changes = controller_moves.beside_controller_moves(situation.view, pending_changes(situation.view))
    if situation.repairs_only:
        changes = tuple(c for c in changes if _is_repair(situation, c))
    mends = any(c.incumbent and c.incumbent.to_mend for c in changes)
    unhealthy = () if mends else succession.that_others_wait_for(situation, changes)
    work = _next(situation, unhealthy or changes)
    pairs = succession.superseded(situation.view)
    handed = succession.drain_lost(situation, [p for p in pairs if p[0].lost], changes)
    if handed is None and not mends:
        handed = succession.drain_replaced(situation, [p for p in pairs if not p[0].lost])
    # A drain that waits for a whole cluster would wait for ever for who took over a disk that is of no use.
    mended_first = unhealthy or (mends and situation.view.reattaches_lost)
    if handed is not None and not (mended_first and handed.wait is not None):
        return handed
    return _work_on(situation, work, changes, mends=mends, unhealthy=bool(unhealthy)) if work is not None else None


def lost_controllers_step(situation: Situation) -> Decision | None:
    """Those of the quorum whose VM is gone, and nobody else. None when none has to be made."""
    keys = {i.key for i in situation.view.controllers() if i.lost and i.phase is Phase.JOINED}
    return _mend(situation, lambda c: c.incumbent is not None and c.incumbent.key in keys)


def made_beside(situation: Situation, nodes: Collection[str]) -> Decision | None:
    """Makes the successors of these nodes beside what is in hand, as those of lost ones: who they succeed goes any
    moment, whoever else is away. None when none has to be made."""
    return _mend(situation, lambda c: c.node in nodes)


def _mend(situation: Situation, is_asked: Callable[[NodeChange], bool]) -> Decision | None:
    changes = controller_moves.beside_controller_moves(situation.view, pending_changes(situation.view))
    work = _next(situation, [c for c in changes if c.change is Change.REPLACE and is_asked(c)])
    return _work_on(situation, work, changes, mends=True) if work is not None else None


def _work_on(
    situation: Situation, work: Work, changes: Sequence[NodeChange], *, mends: bool, unhealthy: bool = False
) -> Decision:
    held = _held_back(situation, work, mends=mends, unhealthy=unhealthy)
    if held is not None:
        return held
    if work.change is Change.REPLACE:
        share = situation.allowance.repair if mends else situation.allowance.upgrade
        if not share.vms:
            return _ask_for_surge(work, share, mends=mends)
        work = first_nodes(work, share.vms)
    if situation.view.roll.recycling != situation.view.generation:
        return _begin(situation, changes, work)
    small = _small_disks(situation, work)
    if small is not None:
        return small
    if work.change is Change.REMOVE:
        return _remove(situation, work)
    return surge(situation, work)


def _next(situation: Situation, changes: Sequence[NodeChange]) -> Work | None:
    document = situation.view.document
    if document is None:
        return None
    leaders = who_leads(situation.seen.kafka)
    return next_work(changes, surge=max(1, document.spec.rollout.surge), leaders=leaders)


def _is_repair(situation: Situation, change: NodeChange) -> bool:
    """Whether it takes nothing from anybody that is not gone already: what is lost, unhealthy or down, and what is new.

    A new controller changes the quorum: only one that has a vote, or had it before any roll, is made at any time.
    """
    view, old = situation.view, change.incumbent
    if old is None:
        voted = change.node in {voter.node for voter in view.quorum.voters.values()}
        return change.service == "broker" or view.quorum.founding is None or voted or view.quorum.migration is not None
    if change.change is Change.KEEP or old.to_mend:
        return old.to_mend
    if is_being_cured(view, old.node, old.key):
        return True
    kafka = situation.seen.fresh_kafka(situation.now)
    is_down = kafka is not None and old.service == "broker" and old.service_id not in kafka.live_brokers()
    return is_down and change.change is Change.REPLACE


def _held_back(situation: Situation, work: Work, *, mends: bool, unhealthy: bool) -> Decision | None:
    """Why nothing is begun yet. A successor that arrives may wait for one who is `unhealthy`, so that one waits for no
    successor."""
    view = situation.view
    if view.roll.join_failures >= MAX_JOIN_FAILURES:
        sentence = f"{view.roll.join_failures} tries in a row made no VM that joined; not trying again by itself"
        return wait(WaitReason.REPLACEMENT_FAILED, sentence, next_command=f"kedge resume {view.name}", patience_s=0)
    beyond = levels.beyond_its_reach(situation, work)
    if beyond is not None:
        return beyond
    # A VM that mends is made all the same: with what is in force (`refused_settings`).
    refused = refusal_left_step(situation) if not mends else None
    if refused is not None or work.change is Change.CREATE:
        return refused
    if mends:
        return _grace(situation, work)
    withdrawn = withdrawn_first(situation)
    if withdrawn is not None:
        return withdrawn
    if not situation.allowance.may_roll:
        return wait(WaitReason.FLEET_BRAKE, f"waiting to roll: {situation.allowance.reason}")
    arriving = [i for i in view.in_phase(Phase.REQUESTED, Phase.LAUNCHED) if not controller_moves.is_settled(i)]
    if arriving and not unhealthy:
        return wait(
            WaitReason.INSTANCE_JOINS, f"not starting on {work.nodes[0].node}: {arriving[0].key} is not settled yet"
        )
    return _not_whole(situation, work)


def _ask_for_surge(work: Work, share: SurgeShare, *, mends: bool) -> Decision:
    """The account's budget is spent: the cluster waits its turn, and says who has the VMs."""
    nodes = ", ".join(c.node for c in work.nodes)
    sentence = f"waiting to {'repair' if mends else 'surge'} {nodes}: {share.reason}"
    describe = f"kedge describe {share.holders[0]}" if share.holders else ""
    waiting = Wait(WaitReason.SURGE_BUDGET, describe, ask=SurgeAsk(len(work.nodes), mends))
    return Decision(sentence, wait=waiting)


def _grace(situation: Situation, work: Work) -> Decision | None:
    """A lost VM gets some time to be found again, unless it was to get a successor anyway. Making that destroys
    nothing, so nothing else is asked."""
    view = situation.view
    lost = {i.key: i.lost_at for i in view.alive() if i.lost_at is not None and i.key not in view.requests.to_replace}
    since = [at for c in work.nodes if c.incumbent and (at := lost.get(c.incumbent.key)) is not None]
    left = max((situation.lost_after_s - situation.seconds_since(at) for at in since), default=0.0)
    if left <= 0:
        return _not_healed(situation, work) if since else None
    kept = ", ".join(i.key for i in situation.view.in_phase(Phase.LINGERING) if not i.lost)
    stays = f"; until then {kept}, which is empty, is not stopped" if kept else ""
    sentence = f"{work.nodes[0].node}: its VM is gone; replacing it in {left:.0f} s{stays}"
    return wait(WaitReason.LOSS_GRACE, sentence, patience_s=0)


def _not_healed(situation: Situation, work: Work) -> Decision | None:
    """A person switched it off: a lost VM gets its successor once it is on again, or somebody asks for that one."""
    view, kind = situation.view, Kind.BROKER_FAILURE
    why = why_not(view, kind, situation.now)
    lost = {i.key for i in view.alive() if i.lost}
    if not why or all(
        c.incumbent.key in view.requests.to_replace for c in work.nodes if c.incumbent and c.incumbent.key in lost
    ):
        return None
    sentence = f"{work.nodes[0].node}: its VM is gone and not replaced: {why}"
    next_command = f"kedge healing on {view.name} --kind {kind}"
    return wait(WaitReason.HEALING_OFF, sentence, next_command=next_command, patience_s=0)


def _not_whole(situation: Situation, work: Work) -> Decision | None:
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"not starting on {work.nodes[0].node}: {situation.seen.why_no_kafka}")
    nodes = {c.node for c in work.nodes}
    # What a lost one of these nodes had goes to the very VM that is to be made.
    gone = [i.service_id for i in situation.view.brokers() if i.lost and i.node in nodes]
    gate = succession.is_whole(situation, [*gone, *(c.incumbent.service_id for c in work.nodes if c.incumbent)])
    if gate.open:
        return None
    return wait(WaitReason.BROKER_DOWN, f"not starting on {work.nodes[0].node}: {gate.reason}")


def _begin(situation: Situation, changes: Sequence[NodeChange], work: Work) -> Decision:
    named = {c: tuple(n.node for n in changes if n.change is c) for c in Change}
    started = facts.RecycleStarted(
        generation=situation.view.generation,
        create=named[Change.CREATE],
        replace=named[Change.REPLACE],
        remove=named[Change.REMOVE],
        reason=work.reason,
    )
    counts = f"{len(started.create)} to make, {len(started.replace)} to replace, {len(started.remove)} to remove"
    return record(f"working towards generation {started.generation}: {counts}", started)


def _remove(situation: Situation, work: Work) -> Decision:
    first = next(c.incumbent for c in work.nodes if c.incumbent)
    if first.service != "broker":
        return leave_step(situation, situation.view.instances[first.key])
    keys = [c.incumbent.key for c in work.nodes if c.incumbent]
    crowded = _no_room_for(situation, keys)
    if crowded is not None:
        return crowded
    drain = drain_requests.request_drain(situation, keys, {}, round_number=1, reason=work.reason)
    return record(f"draining {', '.join(keys)}: {work.reason}", drain)


def _small_disks(situation: Situation, work: Work) -> Decision | None:
    """Clients may have written since the spec was applied: nobody is copied to a disk that cannot take it."""
    kafka = situation.seen.fresh_kafka(situation.now)
    room = successors_have_room(kafka, work.nodes) if kafka is not None else None
    if room is None or room.open:
        return None
    next_command = f"kedge apply, with larger disks (cluster {situation.view.name})"
    sentence = f"not replacing {work.nodes[0].node}: {room.reason}"
    return wait(WaitReason.NO_ROOM, sentence, next_command=next_command, patience_s=0)


def _no_room_for(situation: Situation, keys: Sequence[str]) -> Decision | None:
    """A drain that cannot end is not begun: it would fill the others' disks first."""
    kafka, view = situation.seen.fresh_kafka(situation.now), situation.view
    leaving = {view.instances[k].service_id for k in keys}
    if kafka is None:
        return None
    staying = [i.service_id for i in view.receivers() if i.service_id not in leaving]
    empty = [i.service_id for i in view.brokers() if i.key in view.requests.evacuations and i.service_id not in leaving]
    room = room_without(kafka, leaving, staying, racks_stay=False, kept_empty=empty)
    if room.open:
        return None
    sentence = f"not draining {', '.join(keys)}: {room.reason}"
    next_command = f"kedge apply, with more brokers or disk (cluster {view.name})"
    if empty:
        next_command = f"kedge readmit {view.name} --broker {min(empty)}"
    return wait(WaitReason.NO_ROOM, sentence, next_command=next_command, patience_s=0)
