"""Brokers on their way out after the drain: linger, fence, unregister, retire. Nothing is destroyed on a guess."""

from collections.abc import Sequence

from controlplane.cluster.cohosted_zookeeper import voting_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import by_place
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import members_of
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.blocked_moves import in_the_way
from controlplane.converger.questions.quorum.seats import brokers_to_tell
from controlplane.converger.questions.rolls.drain_requests import request_drain
from controlplane.converger.questions.rolls.founding import is_founding_member
from controlplane.converger.questions.services.service_reports import (
    has_reported,
    service_report,
    start_id,
    was_seen_started,
)
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import Unregister
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.quorum.voters import dismiss_members
from controlplane.kafka.gates import Gate, broker_is_empty, hosts_nothing, is_following, may_stop_broker
from controlplane.kafka.voters import majority
from events import facts
from events.ids import intent_id
from planner.observed import KafkaSnapshot


def departure_step(situation: Situation) -> Decision | None:
    """Looks after instances that linger, are being fenced, or wait to be retired."""
    for step in (_fence_proofs, _linger, _fencing, _leave, _failed):
        decision = step(situation)
        if decision is not None:
            return decision
    return None


def request_retire(situation: Situation, instances: Sequence[InstanceView], reason: str) -> Decision:
    """The intent to delete exactly these VMs, and the volumes that nobody takes over."""
    places = by_place(situation.view, instances)
    asked = (_retire(situation.view, there, reason) for there in places.values())
    return record(f"retiring {_keys(instances)}: {reason}", *asked)


def linger_left_s(situation: Situation) -> float:
    """Seconds until all that linger may be stopped, by the clock; 0 or less once they may, and where none does."""
    lingering, document = situation.view.in_phase(Phase.LINGERING), situation.view.document
    if not lingering or document is None:
        return 0.0
    return max(document.spec.rollout.linger_s - situation.seconds_since(i.since) for i in lingering)


def may_stop_empty(kafka: KafkaSnapshot, instance: InstanceView) -> Gate:
    """Whether a broker that was emptied may stop: it still holds nothing, and nothing depends on it."""
    if instance.service_id in kafka.live_brokers():
        empty = broker_is_empty(kafka, instance.service_id)
        return empty if not empty.open else may_stop_broker(kafka, instance.service_id)
    return hosts_nothing(kafka, instance.service_id)


def _retire(view: ClusterView, instances: Sequence[InstanceView], reason: str) -> facts.RetireRequested:
    """Of VMs of one place: each place has a state, and so a run, of its own."""
    keys = tuple(i.key for i in instances)
    kept = {v.key for i in view.alive() if i.key not in keys for v in i.planned.volumes}
    volumes = tuple(v.key for i in instances for v in i.planned.volumes if v.key not in kept)
    return facts.RetireRequested(intent_id(view.uid, "retire", ",".join(keys), 1), keys, volumes, reason)


def _fence_proofs(situation: Situation) -> Decision | None:
    proofs: list[facts.NodeFenced] = []
    for instance in situation.view.in_phase(Phase.FENCING):
        if instance.lost:
            proofs.append(facts.NodeFenced(instance.key, "inventory", was_seen_started(situation, instance)))
            continue
        report = service_report(situation, instance)
        if not _member_is_stopped(situation, instance):
            continue
        if report and report.state == "stopped" and report.start_id == start_id(instance):
            proofs.append(facts.NodeFenced(instance.key, "agent", report.started))
        elif _never_spoke(situation, instance):
            proofs.append(facts.NodeFenced(instance.key, "silence"))
    if not proofs:
        return None
    return record(f"stopped for certain: {', '.join(f'{p.key} (by {p.proof})' for p in proofs)}", *proofs)


def _member_is_stopped(situation: Situation, instance: InstanceView) -> bool:
    """Of the ZooKeeper server beside a broker, by its agent's word; True where there is none."""
    seen = situation.seen.reports.get(instance.key)
    report = seen.service("zookeeper") if seen is not None and instance.planned.member is not None else None
    return report is None or report.state == "stopped"


def _never_spoke(situation: Situation, instance: InstanceView) -> bool:
    """A VM made by its bind, or a first member of the quorum, that nobody ever heard of, and whose service Kafka does
    not count on: deleting it with its release ends what may run there, so nobody has to prove before that it stopped.
    """
    kafka, view = situation.seen.fresh_kafka(situation.now), situation.view
    first = (
        instance.planned.service == view.quorum_service and not instance.planned.handover and not view.quorum.migration
    )
    if not (instance.planned.deferred or first) or kafka is None or has_reported(situation, instance):
        return False
    if instance.is_broker:
        return instance.service_id not in kafka.live_brokers()
    return not any(m.id == instance.service_id and is_following(m) for m in kafka.quorum.members)


def _linger(situation: Situation) -> Decision | None:
    lingering = situation.view.in_phase(Phase.LINGERING)
    document = situation.view.document
    if not lingering or document is None:
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"{_keys(lingering)} linger; Kafka's metadata cannot be read")
    filled = [i for i in lingering if kafka.hosted_by(i.service_id)]
    # Whoever lingers with a server that votes does so for as long as another VM is gone: that may be minutes.
    kept = bool(voting_on(situation.view, filled)) and _is_one_gone(situation.view)
    if filled and (kept or in_the_way(situation, kafka, [i.service_id for i in filled])):
        return None  # a broker that died is replaced first
    if filled:
        again = _drain_again(situation, filled, kafka)
        return record(f"{_keys(filled)}: {again.reason}", again)
    left = linger_left_s(situation)
    if left > 0:
        sentence = f"{_keys(lingering)} empty; lingering {left:.0f} s more so that clients refresh"
        return wait(WaitReason.LINGER, sentence, patience_s=document.spec.rollout.linger_s + 30)
    if _two_racks_lost(situation.view) and not all(i.lost for i in lingering):
        return None  # whatever struck them: their successors are made and filled before anybody else is stopped
    closed = [g for i in lingering if not (g := may_stop_empty(kafka, i)).open]
    if closed:
        return wait(WaitReason.MIN_ISR_GATE, closed[0].reason)
    if situation.view.settings.restarts or brokers_to_tell(situation.view):
        return None  # `server_list_restart_step` has them started anew first, and each is seen through
    if (leaves := dismiss_members(situation, lingering)) is not None:
        # A server that is needed is needed because another one is gone: that one's VM is replaced first.
        return None if leaves.wait is not None and _is_one_gone(situation.view) else leaves
    return record(f"fencing {_keys(lingering)}", facts.FenceRequested(tuple(i.key for i in lingering), "drained"))


def _is_one_gone(view: ClusterView) -> bool:
    """Whether a VM is gone, or what the server on it had, and its broker is not emptied yet."""
    there = (i for i in view.brokers() if i.phase in (Phase.JOINED, Phase.DRAINING))
    return any(i.lost or view.is_broken(i) for i in there)


def _two_racks_lost(view: ClusterView) -> bool:
    """Whether brokers of more than one rack are gone and not emptied yet."""
    there = (i for i in view.brokers() if i.phase in (Phase.JOINED, Phase.DRAINING))
    return len({i.planned.rack for i in there if i.lost}) > 1


def _fencing(situation: Situation) -> Decision | None:
    fencing = situation.view.in_phase(Phase.FENCING)
    if not fencing:
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is not None:
        refilled = [i for i in fencing if i.departure.drained and kafka.hosted_by(i.service_id)]
        if refilled:
            return _take_back(refilled, kafka, "it was not heard to have stopped, and has")
    states = [f"{i.key} ({_last_word(situation, i)})" for i in fencing]
    return wait(WaitReason.FENCING, f"waiting for proof that {', '.join(states)} stopped", patience_s=90)


def _last_word(situation: Situation, instance: InstanceView) -> str:
    if instance.key in situation.view.vms.revoked:
        return "revoked, nobody hears its agent: power its VM off in the cloud, whose word is proof"
    report = service_report(situation, instance)
    return report.state if report else "silent"


def _leave(situation: Situation) -> Decision | None:
    dismissed = [
        i for i in situation.view.in_phase(Phase.FENCED, Phase.RELEASED) if i.departure.drained and not i.is_broker
    ]
    if dismissed:
        return request_retire(situation, dismissed, "stopped, and no voter any more")
    fenced = [i for i in situation.view.in_phase(Phase.FENCED) if i.is_broker and not situation.view.hands_over(i)]
    if not fenced:
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or any(i.departure.fenced_at and kafka.at <= i.departure.fenced_at for i in fenced):
        return wait(WaitReason.KAFKA_UNKNOWN, f"waiting for metadata newer than the stop of {_keys(fenced)}")
    named = [i for i in fenced if kafka.hosted_by(i.service_id)]
    if named:
        return _take_back(named, kafka, "metadata newer than its stop still names it for")
    gone = [i for i in fenced if not i.departure.unregistered and i.service_id not in kafka.brokers]
    if gone:
        left = [facts.BrokerUnregistered(i.key, i.service_id) for i in gone]
        return record(f"broker {', '.join(str(i.service_id) for i in gone)} is no longer registered", *left)
    registered = [i for i in fenced if not i.departure.unregistered]
    if registered:
        return _unregister(registered, kafka)
    return request_retire(situation, fenced, "empty, stopped and unregistered")


def _take_back(named: Sequence[InstanceView], kafka: KafkaSnapshot, why: str) -> Decision:
    """The word to stop: partitions came to a broker that was empty. Whoever hears it late would stop them with it."""
    reason = f"{why} {len(kafka.hosted_by(named[0].service_id))} partitions"
    return record(f"{_keys(named)}: {reason}", *(facts.FenceReverted(i.key, reason) for i in named))


def _unregister(registered: Sequence[InstanceView], kafka: KafkaSnapshot) -> Decision:
    fenced = [i for i in registered if kafka.brokers[i.service_id].fenced]
    if not fenced:
        ids = ", ".join(str(i.service_id) for i in registered)
        return wait(WaitReason.BROKER_STILL_UNFENCED, f"broker {ids} is stopped; the controller has not fenced it yet")
    return act(
        f"unregistering broker {', '.join(str(i.service_id) for i in fenced)}",
        *(Unregister(i.service_id) for i in fenced),
    )


def _failed(situation: Situation) -> Decision | None:
    failed = situation.view.in_phase(Phase.FAILED)
    if not failed:
        return None
    founding = [i for i in failed if is_founding_member(situation.view, i)]
    if founding:
        return request_retire(situation, founding, "it did not come up, and nothing is on its disk before the founding")
    unbound = [i for i in failed if not i.bound]
    if unbound:
        return request_retire(situation, unbound, "never took over its node")
    brokers = [i for i in failed if i.is_broker and not situation.view.hands_over(i)]
    if not brokers:
        return record(f"stopping {_keys(failed)}", facts.FenceRequested(tuple(i.key for i in failed), "did not join"))
    if not any(i.phase is Phase.JOINED for i in situation.view.brokers()):
        # No cluster yet: a broker that never served holds nothing and nobody can ask Kafka about it.
        return request_retire(situation, brokers, "never joined a cluster that does not exist yet")
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"{_keys(brokers)} did not join; Kafka's metadata cannot be read")
    dismissed = [i for i in brokers if not voting_on(situation.view, (i,))]
    if not dismissed:
        return _dismiss_one(situation, brokers, kafka)
    brokers = dismissed
    known = [i for i in brokers if i.service_id in kafka.brokers or kafka.hosted_by(i.service_id)]
    if known:
        return record(f"stopping {_keys(known)}", facts.FenceRequested(tuple(i.key for i in known), "did not join"))
    return request_retire(situation, brokers, "never joined and is not registered")


def _dismiss_one(situation: Situation, failed: Sequence[InstanceView], kafka: KafkaSnapshot) -> Decision | None:
    """Takes a server on the VM of a broker that did not join out of the ensemble. It runs until then. One that is well
    stays until the next VMs' servers vote, while there are no more than the spec asks for: with two voters of three
    the next VM that dies would take the majority along. So do the last ones of a majority, well or not. None leaves
    that to the steps below."""
    view, document = situation.view, situation.view.document
    if document is None or len(view.quorum.voters) <= majority(document.spec.quorum_size):
        return None
    well = {(m.id, m.directory_id) for m in kafka.quorum.members if m.is_voter and is_following(m)}
    kept = {m.key for m in members_of(failed) if (m.service_id, m.planned.volumes[0].directory_id) in well}
    dismissed = (
        failed if len(view.quorum.voters) > document.spec.quorum_size else [i for i in failed if i.key not in kept]
    )
    if not dismissed:
        return None
    leaves = dismiss_members(situation, dismissed)
    return None if leaves is not None and leaves.wait is not None and _is_one_gone(view) else leaves


def _drain_again(situation: Situation, filled: Sequence[InstanceView], kafka: KafkaSnapshot) -> facts.DrainRequested:
    count = sum(len(kafka.hosted_by(i.service_id)) for i in filled)
    successors = {
        i.service_id: h.service_id
        for i in filled
        for h in situation.view.of_node(i.node)
        if h.planned.generation > i.planned.generation and h.phase is Phase.JOINED and not h.lost
    }
    reason = f"{count} partitions came to it after it was empty"
    return request_drain(situation, [i.key for i in filled], successors, round_number=1, reason=reason)


def _keys(instances: Sequence[InstanceView]) -> str:
    return ", ".join(i.key for i in instances)
