"""ZooKeeper servers that share the VMs of one pool: which brokers are told anew before one leaves, and how all of them
leave for a pool of their own.

    an emptied VM lingers, and the server on it votes -> brokers elsewhere that would know too few of the others are
    started anew, one at a time -> voter.removed -> both services of the VM stop

Kafka's ZooKeeper client asks only the addresses it was started with. Each such VM brings another address, so without
this a roll would take the last server such a broker knows. They are told late, when the next VM's server votes
already: so one start is enough for several VMs.
"""

from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum import seats
from controlplane.converger.questions.running.restart_safety import restart_safety
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.quorum.voters import begin_voter_change
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.steps.running.restart_lock import lock_first
from events import facts
from events.quantities import counted


def server_list_restart_step(situation: Situation) -> Decision | None:
    """The next broker to tell; where none can be started anew now, what keeps it from that is mended first, and
    nothing else begins. None when all know enough."""
    view = situation.view
    brokers = seats.brokers_to_tell(view)
    if not brokers:
        return None
    restarts = _tell(situation, brokers)
    if restarts.wait is None or restarts.effects:
        return restarts
    return replacement_step(replace(situation, repairs_only=True)) or restarts


def server_move_step(situation: Situation) -> Decision | None:
    """Servers beside brokers leave, one at a time, where the spec has them in a pool of their own and those vote. None
    when none is to leave; `restart_step` has told every broker of the others before."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    leaving = seats.members_to_leave(view)
    if not leaving:
        return None
    first = leaving[0]
    if kafka is None:
        why = situation.seen.why_no_kafka
        return wait(WaitReason.KAFKA_UNKNOWN, f"ZooKeeper server {first.service_id} of {first.key} is to leave: {why}")
    step = seats.voter_change_due(view, kafka, only={m.service_id for m in leaving})
    if step is not None and step.leaves and step.gate.open:
        return begin_voter_change(view, step)
    reason = seats.foreign_voter_among(view, kafka) or (
        step.gate.reason if step else "Kafka does not count it among the voters"
    )
    return wait(
        WaitReason.QUORUM_GATE, f"{first.key}: ZooKeeper server {first.service_id} keeps its vote for now: {reason}"
    )


def _tell(situation: Situation, brokers: tuple[InstanceView, ...]) -> Decision:
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    first, why = brokers[0], _why(view, len(brokers))
    if view.settings.restart_refusal is not None:
        key, reason = view.settings.restart_refusal
        again = f"kedge resume {view.name} to try again"
        return wait(WaitReason.RESTART_REVERTED, f"{key} was {reason}; {why}", next_command=again, patience_s=0)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"not restarting {first.key}: {situation.seen.why_no_kafka}")
    # The active controller last, as everywhere: one election is enough.
    first = min(brokers, key=lambda i: (i.service_id == kafka.controller, i.planned.rack, i.key))
    safety = restart_safety(situation, kafka, first)
    if safety.waits is not None:
        return Decision(f"restart of {first.key}: {safety.gate.reason}; {why}", wait=safety.waits)
    locked = lock_first(situation, f"{counted(len(brokers), 'broker')} of {view.name} to restart: {why}")
    if locked is not None:
        return locked
    request = facts.RestartRequested(
        key=first.key,
        generation=view.generation,
        start=first.start.count + 1,
        config={},
        told={},
        canary=False,
        reason=why,
    )
    return record(f"restarting {first.key} ({why}): {safety.gate.reason}", request)


def _why(view: ClusterView, brokers: int) -> str:
    leaving = ", ".join(i.key for i in view.in_phase(Phase.LINGERING) if i.planned.member is not None)
    others = "it is to know" if brokers == 1 else f"{brokers} brokers are to know"
    return f"the server on {leaving} leaves, and {others} the others first"
