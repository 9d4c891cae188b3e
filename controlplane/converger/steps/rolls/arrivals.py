"""Instances that come, and instances that vanish: joined, never joined, lost. Outcomes read off the observation."""

from controlplane.cluster.cohosted_zookeeper import voting_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.producer_ids import first_producer_id
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.health.cure_evidence import start_progress
from controlplane.converger.questions.quorum.protocol import target_of
from controlplane.converger.questions.quorum.quorum_ports import quorum_port
from controlplane.converger.questions.quorum.seats import foreign_voter_among, voter_change_due
from controlplane.converger.questions.rolls.founding import (
    founding_members,
    founding_members_wanted,
    is_unfounded,
    lacks_founding_members,
)
from controlplane.converger.questions.rolls.lost_disks import has_disks_of_lost, is_bound_in_vain
from controlplane.converger.questions.rolls.plan_ahead import foreseen_drain, plan_job_id
from controlplane.converger.questions.services.service_reports import (
    has_reported,
    refusal_of,
    service_report,
    state_of,
    was_seen_started,
)
from controlplane.converger.questions.services.serving import follows_without_vote, serves
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.effects import ReadConsole, StartPlanning
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.health.doubted_losses import NOT_THERE, doubt_of, doubt_step, is_contradicted
from controlplane.converger.steps.quorum.ensemble import ensemble_step
from controlplane.converger.steps.users.kedge_rights import born_with_least_rights
from controlplane.kafka.zookeeper.migration import Knows
from events import facts
from events.ids import kafka_uuid


def loss_step(situation: Situation) -> Decision | None:
    """Records VMs the cloud itself declared gone, though nobody of us asked."""
    inventory = situation.seen.inventory
    if inventory is None:
        return None
    going = {k for intent in situation.view.intents.values() if intent.with_vm for k in intent.keys}
    vanished = [i for i in situation.view.alive() if i.key not in going and _vanished(i, inventory)]
    doubt = doubt_of(situation, vanished, inventory)
    # An agent that has reported since knows better than the listing: the next one will agree, or is wrong again.
    lost = [i for i in vanished if i.key not in doubt.keys and not is_contradicted(situation, i, inventory)]
    if not lost:
        return doubt_step(situation, vanished, doubt)
    events: list[object] = []
    for instance in lost:
        events.append(facts.InstanceLost(instance.key, "the cloud says it is gone"))
        if instance.phase is Phase.LAUNCHED and _is_given_up(situation, instance):
            events.append(facts.TakeoverFailed(instance.key, "the disk of its node did not come to its VM"))
        elif instance.phase is Phase.LAUNCHED:
            events.append(facts.JoinFailed(instance.key, "the VM died before its service served"))
        if instance.phase is Phase.FENCING:
            events.append(facts.NodeFenced(instance.key, "inventory", was_seen_started(situation, instance)))
    return record(f"{', '.join(i.key for i in lost)} gone without being asked", *events)


def _is_given_up(situation: Situation, successor: InstanceView) -> bool:
    """Whether its VM was ended by us: the disk of the lost one it follows did not come to it."""
    intents = (i for i in situation.view.intents.values() if i.kind == "bind" and successor.key in i.keys)
    return any(is_bound_in_vain(situation, i) for i in intents)


def _overdue(situation: Situation, late: InstanceView) -> facts.JoinFailed | facts.TakeoverFailed:
    """What is recorded of one that has not joined in time. Another VM would be given the same disk: where others have
    what is on it, that is copied from here on."""
    if late.bound and has_disks_of_lost(situation.view, late):
        return facts.TakeoverFailed(late.key, _why_late(situation, late))
    return facts.JoinFailed(late.key, _why_late(situation, late))


def _vanished(instance: InstanceView, inventory: InventorySeen) -> bool:
    if instance.lost or instance.departure.deleted or instance.phase in NOT_THERE:
        return False
    return instance.key in inventory.gone


def founding_step(situation: Situation) -> Decision | None:
    """Fixes the first quorum once every founding controller's address is known."""
    view = situation.view
    if is_unfounded(view) and _awaits_sole_founder(situation):
        return None
    if view.in_zookeeper_mode:
        return ensemble_step(situation)
    ready = founding_members(view)
    if not is_unfounded(view) or view.document is None or len(ready) < founding_members_wanted(view):
        return None
    voters = tuple(
        facts.FoundingVoter(
            i.node,
            i.service_id,
            view.seat_address(i),
            quorum_port(view),
            i.planned.volumes[0].directory_id,
        )
        for i in ready
    )
    level = target_of(view.document)
    first_id = first_producer_id(view.uid, situation.taken_producer_ids)
    founded = facts.QuorumFounded(kafka_uuid("kafka", view.uid), level, voters, first_id)
    begun = born_with_least_rights(view)
    return record(f"the quorum is founded with {len(voters)} controllers at level {level}", *begun, founded)


def _measured(situation: Situation, instance: InstanceView) -> dict[str, facts.MeasuredVolume]:
    """By key, its volumes whose figures are no news of an earlier one."""
    heard, keys = situation.seen.reports.get(instance.key), {v.dir: v.key for v in instance.planned.volumes}
    service = next((s for s in heard.report.services if s.name == instance.planned.service), None) if heard else None
    known = situation.view.vms.measured_volumes
    return {
        keys[d.name]: facts.MeasuredVolume(d.write_bytes_per_s, d.read_bytes_per_s)
        for d in (service.log_dirs if service else ())
        if d.name in keys and keys[d.name] not in known and d.write_bytes_per_s and d.read_bytes_per_s
    }


def _awaits_sole_founder(situation: Situation) -> bool:
    """A quorum of one waits for its agent: nobody could replace the only voter, should its VM never boot. Of three the
    others are a majority without it."""
    return founding_members_wanted(situation.view) == 1 and not all(
        has_reported(situation, i) for i in founding_members(situation.view)
    )


def arrival_step(situation: Situation) -> Decision | None:
    """Sees new instances in: joined, still on the way, or given up at their deadline."""
    arriving = [i for i in situation.view.in_phase(Phase.LAUNCHED) if not i.lost and not _stands_by(situation, i)]
    if not arriving:
        return None
    joined = [i for i in arriving if i.bound and serves(situation, i, newer_than=i.since) and _in(situation, i)]
    if joined:
        events = [facts.InstanceJoined(i.key, i.service_id, _measured(situation, i)) for i in joined]
        return record(f"{', '.join(i.key for i in joined)} joined", *events)
    late = [i for i in arriving if _is_overdue(situation, i)]
    if late:
        failed = [_overdue(situation, i) for i in late]
        sentence = f"{', '.join(i.key for i in late)} did not join in time"
        return Decision(sentence, tuple(failed), tuple(ReadConsole(i.key) for i in late))
    if lacks_founding_members(situation.view):
        return None  # nobody can join before the quorum is founded: who is to be made for that is not waited for
    refused = [i for i in arriving if refusal_of(situation, i)]
    waited_for = [i for i in arriving if i.bound and i not in refused and not _vote_waits_for_a_cure(situation, i)]
    if not waited_for or _quorum_needs_another(situation):
        return None
    if refused and situation.seen.fresh_kafka(situation.now) is None:
        return None  # the others wait for those: `refusal_left_step` says what for
    states = ", ".join(f"{i.key} ({_arrival_words(situation, i)})" for i in waited_for)
    sentence = f"waiting for {states} to join"
    return wait(WaitReason.INSTANCE_JOINS, sentence, *_plan_ahead(situation), patience_s=situation.join_deadline_s)


def _in(situation: Situation, broker: InstanceView) -> bool:
    """Whether the ZooKeeper server on its VM is in, too; True where there is none."""
    member = member_of(broker)
    return member is None or serves(situation, member, newer_than=broker.since)


def _stands_by(situation: Situation, instance: InstanceView) -> bool:
    """A controller that has arrived, and that nobody has told to serve: the migration it is for does, or does not."""
    view = situation.view
    if instance.is_broker or instance.planned.service == view.quorum_service or not has_reported(situation, instance):
        return False
    return (
        view.quorum.migration is None
        or view.quorum.migration.last_sent("controller", instance.service_id) is Knows.STOPPED
    )


def _quorum_needs_another(situation: Situation) -> bool:
    """Nobody can join while the quorum is lost: then another controller that is down must not wait for this one."""
    if situation.seen.fresh_kafka(situation.now) is not None:
        return False
    newest = [situation.view.of_node(node)[-1] for node in {i.node for i in situation.view.controllers()}]
    return any(i.lost or not i.bound or i.phase in (Phase.FENCED, Phase.RELEASED) for i in newest)


def _vote_waits_for_a_cure(situation: Situation, instance: InstanceView) -> bool:
    """No vote is given while another controller is gone: that one must not wait for this one's vote, then."""
    view = situation.view
    gone = any((i.lost or view.is_broken(i)) and i.node != instance.node for i in view.controllers())
    return gone and follows_without_vote(situation, member_of(instance) or instance)


def _arrival_words(situation: Situation, instance: InstanceView) -> str:
    state, kafka = state_of(situation, instance), situation.seen.fresh_kafka(situation.now)
    member = member_of(instance)
    if member is not None and state == "running":
        state = f"running; its ZooKeeper server: {state_of(situation, member)}"
    if kafka is None or not follows_without_vote(situation, member or instance):
        return state
    step = voter_change_due(situation.view, kafka)
    foreign = foreign_voter_among(situation.view, kafka)
    return f"{state}, no vote yet: {foreign or (step.gate.reason if step else 'it is asked for')}"


def _plan_ahead(situation: Situation) -> tuple[StartPlanning, ...]:
    """The drain that follows is planned while the successor boots, if nobody has begun to."""
    drain = foreseen_drain(situation.view, situation.now)
    if drain is None or situation.seen.fresh_kafka(situation.now) is None:
        return ()
    job = plan_job_id(drain)
    return () if job in situation.seen.jobs else (StartPlanning(drain, job),)


def _is_overdue(situation: Situation, instance: InstanceView) -> bool:
    if refusal_of(situation, instance) or _waits_for_refused_quorum(situation, instance):
        # Another VM would be told the same, and end the same way.
        return False
    if is_unfounded(situation.view) and has_reported(situation, instance):
        # It is told nothing before the quorum is founded, which another one may keep waiting.
        return False
    if not instance.bound and has_reported(situation, instance):
        # A successor that only waits for its node's volume and address.
        return False
    if instance.planned.service == "controller" and situation.view.quorum.migration is not None:
        # Its disk is named in the quorum's first record: only who never spoke is given up for another one.
        return not has_reported(situation, instance) and _waited_s(situation, instance) > situation.join_deadline_s
    if follows_without_vote(situation, member_of(instance) or instance) or _holds_up_the_founding(situation, instance):
        return False
    return _is_late(situation, instance)


def _waits_for_refused_quorum(situation: Situation, instance: InstanceView) -> bool:
    """Whether it is there, and cannot join before a member of the quorum takes a configuration that it refuses."""
    if not has_reported(situation, instance) or situation.seen.fresh_kafka(situation.now) is not None:
        return False
    return any(refusal_of(situation, i) for i in situation.view.controllers() if not i.hosted)


def _is_late(situation: Situation, instance: InstanceView) -> bool:
    report = service_report(situation, instance)
    if situation.seen.fresh_kafka(situation.now) is None and report is not None and report.state == "running":
        # It runs, and nobody can be asked whether it serves: unknown is not dead.
        return False
    if _waited_s(situation, instance) > situation.join_deadline_s and start_progress(situation, instance):
        return False  # it opens the logs of a disk it took over, or catches up: its next VM would begin anew
    return _waited_s(situation, instance) > situation.join_deadline_s


def _holds_up_the_founding(situation: Situation, instance: InstanceView) -> bool:
    """Whether the ensemble was founded with the server on its VM, and no broker has joined yet. To give the VM up would
    take the vote with it, and without a broker nobody is asked for another one. Where none of all comes up, all are
    given up: nobody ever served, so nothing is lost with that ensemble, and the next VMs found another one."""
    brokers = situation.view.brokers()
    if not voting_on(situation.view, (instance,)) or any(i.phase is Phase.JOINED for i in brokers):
        return False
    arriving = (i for i in brokers if i.phase in (Phase.REQUESTED, Phase.LAUNCHED) and not i.lost)
    return any(i.phase is Phase.REQUESTED or not _is_late(situation, i) or _fell_silent(situation, i) for i in arriving)


def _fell_silent(situation: Situation, instance: InstanceView) -> bool:
    """Whether its agent spoke and does so no more: what it started may well serve."""
    seen = situation.seen.reports.get(instance.key)
    if seen is None or not has_reported(situation, instance):
        return False
    return not seen.is_young(situation.now)


def _waited_s(situation: Situation, instance: InstanceView) -> float:
    return situation.seconds_since(instance.since)


def _why_late(situation: Situation, instance: InstanceView) -> str:
    return f"{state_of(situation, instance)} after {situation.join_deadline_s:.0f} s"
