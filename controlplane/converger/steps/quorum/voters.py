"""The quorum's voters: whoever has caught up gets its vote, whoever leaves loses it first. One change at a time.

    grow:        observer caught up -> voter.add_requested -> voter.added -> joined
    shrink:      voter.remove_requested -> voter.removed -> stopped -> retired
    lost volume: volume.lost -> stopped -> voter.remove_requested -> voter.removed -> its successor with an empty disk
                 -> voter.add_requested -> voter.added -> joined

What is to change, and whether it may now, says `controlplane.kafka.voters`.
"""

from collections.abc import Sequence

from agent.wire import DIRECTORY_LOST
from controlplane.cluster.cohosted_zookeeper import voting_on
from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.quorum import VoterChangeView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.quorum_ports import quorum_port
from controlplane.converger.questions.quorum.seats import (
    address_of_seat,
    foreign_voter_among,
    knowing_too_few,
    seats,
    voter_change_due,
)
from controlplane.converger.questions.services.service_reports import service_report, start_id
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import AddVoter, RemoveVoter
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate, is_following
from controlplane.kafka.voters import Seat, VoterStep, may_add, may_remove
from events import facts
from events.ids import intent_id
from planner.observed import KafkaSnapshot

_ASKED_S = 30.0
"""What Kafka was asked longer ago is over."""

_KEPT_OUT_S = 60.0
"""Longer than an agent takes to start a server that ended again, or a VM to boot."""


def volume_step(situation: Situation) -> Decision | None:
    """Believes an agent that looked: the volume is there, and empty or another one's. Silence proves nothing.

    A quorum that has no majority without it is left to people: what it held may be the only copy.
    """
    view = situation.view
    if _is_between(situation):
        return None
    for instance in view.controllers():
        said = _says_lost(situation, instance)
        if said is None or view.is_broken(instance):
            continue
        volume = instance.planned.volumes[0]
        if len(view.quorum.voters) < 3:
            sentence = (
                f"{said}; it may be the only copy of the cluster's metadata, so nothing is formatted: bring the volume "
                "back as it was"
            )
            return wait(WaitReason.METADATA_LOST, sentence, next_command=f"kedge describe {view.name}", patience_s=0)
        lost = facts.VolumeLost(instance.key, volume.key, volume.directory_id, "agent", said)
        what = "directory" if instance.hosted else "disk"
        return record(f"{instance.service_key} has lost its {what}: {said}", lost)
    return None


def voter_step(situation: Situation) -> Decision | None:
    """Sees the change in hand through, gives votes to those who arrive, and stops those without one.

    None where a gate is closed: what closes it may be mended by the steps below, which say what is waited for.
    """
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    if view.quorum.founding is None or kafka is None or is_shared(view) or _is_between(situation):
        return None
    if view.quorum.change is not None:
        return _follow(situation, kafka, view.quorum.change)
    found = _found_voting(view, kafka)
    if found is not None:
        return record(f"controller {found.id} has a vote already", found)
    step = voter_change_due(view, kafka)
    dismissed = [i for i in view.controllers() if i.departure.drained and i.phase is Phase.JOINED]
    halfway = bool(dismissed) and sum(m.is_voter for m in kafka.quorum.members) % 2 == 0
    if step is not None and step.gate.open and (not step.leaves or halfway or _is_dead(situation, kafka, step)):
        return begin_voter_change(view, step)
    if dismissed:
        keys = tuple(i.key for i in dismissed)
        return record(
            f"stopping {', '.join(keys)}: no voters any more", facts.FenceRequested(keys, "no voter any more")
        )
    return None


def _is_dead(situation: Situation, kafka: KafkaSnapshot, step: VoterStep) -> bool:
    """Whether who is to leave is a server on a broker's VM that serves nobody: its vote only keeps others out. Where
    brokers count on its coming back it stays until they were told of others, or somebody was long kept out by it."""
    view, seat = situation.view, step.seat
    voters = [m for m in kafka.quorum.members if m.is_voter and (m.id, m.directory_id) == (seat.id, seat.directory_id)]
    if not seat.hosted or any(is_following(m) for m in voters):
        return False
    filled = {i.service_id for i in view.in_phase(Phase.LINGERING) if kafka.hosted_by(i.service_id)}
    is_needed = bool(knowing_too_few(view, {seat.id}, filled=filled))
    return not is_needed or any(_is_kept_out(situation, s) for s in seats(view))


def _is_kept_out(situation: Situation, seat: Seat) -> bool:
    """Whether its server has long run without the vote it is to have."""
    if not seat.stays or seat.id in situation.view.quorum.voters:
        return False
    there = [i for i in situation.view.controllers() if i.service_id == seat.id]
    reports = (service_report(situation, i) for i in there)
    since = [r.since for r in reports if r is not None and r.state == "running"]
    return any(situation.seconds_since(at) > _KEPT_OUT_S for at in since)


def dismiss_members(situation: Situation, brokers: Sequence[InstanceView]) -> Decision | None:
    """Takes the servers on the VMs of these brokers out of the ensemble, one after the other; None once none of them
    votes. A broker is stopped, and its VM deleted, after that."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    voting = voting_on(view, brokers)
    if not voting:
        return None
    first = voting[0]
    if kafka is None:
        why = situation.seen.why_no_kafka
        return wait(
            WaitReason.KAFKA_UNKNOWN, f"ZooKeeper server {first.service_id} of {first.key} is to leave first: {why}"
        )
    if view.quorum.change is not None:
        change, reason = view.quorum.change, _gate(kafka, view.quorum.change).reason
        return wait(
            WaitReason.QUORUM_GATE,
            f"{first.key} goes after the change of vote {change.voter.id}, which waits: {reason}",
        )
    # Others beside brokers that stay may be to leave, too: this VM does not wait for them.
    step = voter_change_due(view, kafka, only={m.service_id for m in voting})
    if step is not None and step.leaves and step.gate.open:
        return begin_voter_change(view, step)
    if not _has_vote(kafka, first):
        return record(f"the server on {first.key} leaves: it has no vote", of_no_quorum(first))
    foreign = foreign_voter_among(view, kafka)
    reason = foreign or (step.gate.reason if step else "another change comes first")
    return wait(
        WaitReason.QUORUM_GATE, f"{first.key}: ZooKeeper server {first.service_id} keeps its vote for now: {reason}"
    )


def _has_vote(kafka: KafkaSnapshot, instance: InstanceView) -> bool:
    member = (instance.service_id, instance.planned.volumes[0].directory_id)
    return any(m.is_voter and (m.id, m.directory_id) == member for m in kafka.quorum.members)


def _is_between(situation: Situation) -> bool:
    """Whether a quorum of controllers leads, or may, while the servers of the ensemble still vote: nobody's vote is
    changed then."""
    if situation.view.quorum.migration is None:
        return False
    kafka = situation.seen.fresh_kafka(situation.now)
    return kafka is None or kafka.mode != "zookeeper"


def voters_left_step(situation: Situation) -> Decision | None:
    """Nothing else begins while a change of the voters is in hand, but for what mends a loss; and it says why."""
    view = situation.view
    change = view.quorum.change
    if change is None or any(i.lost or (i.bound and view.is_broken(i)) for i in view.alive()):
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    reason = _gate(kafka, change).reason if kafka else "Kafka's metadata cannot be read"
    verb = "vote for" if change.adds else "leave of"
    return wait(WaitReason.QUORUM_GATE, f"{verb} controller {change.voter.id} waits: {reason}")


def begin_voter_change(view: ClusterView, step: VoterStep) -> Decision:
    """The intent to make this change."""
    seat, number = step.seat, view.quorum.changes + 1
    if step.adds:
        change = intent_id(view.uid, "add-voter", f"{seat.id}.{step.directory_id}", number)
        address = address_of_seat(view, seat)
        asked: object = facts.VoterAddRequested(
            change, seat.node, seat.id, address, quorum_port(view), step.directory_id, step.gate.reason
        )
        return record(f"controller {seat.id} ({seat.node}) gets a vote: {step.gate.reason}", asked)
    change = intent_id(view.uid, "remove-voter", f"{seat.id}.{step.directory_id}", number)
    asked = facts.VoterRemoveRequested(change, seat.node, seat.id, step.directory_id, step.leaves, step.gate.reason)
    what = f"controller {seat.id} ({seat.node})" if step.leaves else f"the lost directory of controller {seat.id}"
    return record(f"{what} leaves the quorum: {step.gate.reason}", asked)


def leave_step(situation: Situation, instance: InstanceView) -> Decision:
    """A controller whose node is not wanted any more: its vote goes first, then its process, then its VM."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    if instance.planned.service != view.quorum_service:
        gone = of_no_quorum(instance)
        return record(f"{instance.key} leaves: the migration has left it without work", gone)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"{instance.key} leaves the quorum; Kafka's metadata cannot be read")
    foreign = foreign_voter_among(view, kafka)
    if foreign:
        return wait(WaitReason.UNKNOWN_VOTER, foreign, next_command=f"kedge describe {view.name}", patience_s=0)
    step = voter_change_due(view, kafka)
    if step is not None and not step.gate.open:
        return wait(WaitReason.QUORUM_GATE, f"{step.seat.node} keeps its vote for now: {step.gate.reason}")
    if step is not None:
        return begin_voter_change(view, step)
    return record(f"{instance.key} leaves: it has no vote", of_no_quorum(instance))


def of_no_quorum(instance: InstanceView) -> facts.VoterRemoved:
    """Its node leaves, and has no vote to lose."""
    directory = instance.planned.volumes[0].directory_id
    return facts.VoterRemoved("", instance.node, instance.service_id, directory, leaves=True)


def _follow(situation: Situation, kafka: KafkaSnapshot, change: VoterChangeView) -> Decision | None:
    voter = change.voter
    votes = any(m.is_voter and (m.id, m.directory_id) == (voter.id, voter.directory_id) for m in kafka.quorum.members)
    if change.adds and votes:
        added = facts.VoterAdded(change.id, voter.node, voter.id, voter.address, voter.port, voter.directory_id)
        return record(f"controller {voter.id} ({voter.node}) has a vote", added)
    if not change.adds and not votes:
        removed = facts.VoterRemoved(change.id, voter.node, voter.id, voter.directory_id, change.leaves)
        return record(f"controller {voter.id} ({voter.node}) has no vote any more", removed)
    if change.adds and (gone := _not_to_be_added(situation, change)):
        return record(f"controller {voter.id} gets no vote: {gone}", facts.VoterChangeDropped(change.id, gone))
    if not _gate(kafka, change).open:
        return None
    if change.adds:
        effect = AddVoter(voter.id, voter.directory_id, voter.address, voter.port)
        return act(f"adding voter {voter.id} ({voter.node})", effect)
    return act(f"removing voter {voter.id} ({voter.node})", RemoveVoter(voter.id, voter.directory_id))


def _not_to_be_added(situation: Situation, change: VoterChangeView) -> str:
    """A directory that nobody runs on any more, nor will: what Kafka was asked before is over by then."""
    seat = next((s for s in seats(situation.view) if s.id == change.voter.id), None)
    if seat is not None and seat.stays and seat.directory_id == change.voter.directory_id:
        return ""
    if situation.seconds_since(change.requested_at) < _ASKED_S:
        return ""
    return f"nothing runs on directory {change.voter.directory_id} any more"


def _gate(kafka: KafkaSnapshot, change: VoterChangeView) -> Gate:
    judge = may_add if change.adds else may_remove
    return judge(kafka.quorum, change.voter.id, change.voter.directory_id)


def _found_voting(view: ClusterView, kafka: KafkaSnapshot) -> facts.VoterAdded | None:
    """A controller of ours that votes though that is not recorded: the history was lost, or a person did it."""
    for seat in seats(view):
        known = view.quorum.voters.get(seat.id)
        votes = any(m.is_voter and (m.id, m.directory_id) == (seat.id, seat.directory_id) for m in kafka.quorum.members)
        if votes and (known is None or known.directory_id != seat.directory_id):
            address = address_of_seat(view, seat)
            return facts.VoterAdded("", seat.node, seat.id, address, quorum_port(view), seat.directory_id)
    return None


def _says_lost(situation: Situation, instance: InstanceView) -> str | None:
    seen, report = situation.seen.reports.get(instance.key), service_report(situation, instance)
    if seen is None or report is None or not instance.bound or instance.lost:
        return None
    if not seen.is_young(situation.now) or report.start_id != start_id(instance):
        return None
    return next((f.message for f in report.findings if f.name == DIRECTORY_LOST), None)
