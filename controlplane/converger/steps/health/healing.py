"""What is done by itself about what agents find wrong inside services that run, and of brokers that lost a directory.

    a finding that lasts -> healing.requested + restart.requested       (the gate of a restart, that one excepted)
                         -> healing.requested + node.replace_requested  (the machine of a roll does the rest)

It begins before anything of a roll does, since an unhealthy service keeps a roll from beginning; never while something
is in hand. Which cure, and how often, is `planner.healing`'s to say.
"""

from controlplane.cluster.cohosted_zookeeper import named_service
from controlplane.cluster.holds import hold_on
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.health.cure_gates import cure_gate
from controlplane.converger.questions.health.node_replacements import DISK_FAILED, healing_of, replacing_unhealthy
from controlplane.converger.questions.health.prescriptions import health_of
from controlplane.converger.questions.moves.other_controller import is_unsettled
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.breakdown import BreakdownKind
from planner.cure_table import CONTROLLER_STUCK
from planner.healing import Cure, Prescription


def healing_step(situation: Situation) -> Decision | None:
    """Begins one cure: the first whose gate is open. None when nobody is unhealthy, nothing is to be done about it, or
    all gates are closed: what keeps them closed may well be mended by the steps after this one."""
    begun = (_begin(situation, prescription) for prescription in health_of(situation).prescriptions)
    return next((decision for decision in begun if decision is not None), None)


def _begin(situation: Situation, prescription: Prescription) -> Decision | None:
    ailment, words = prescription.ailment, _words(prescription)
    event = facts.HealingRequested(
        ailment.key, ailment.node, ailment.finding, str(prescription.cure), words, ailment.service
    )
    if prescription.cure is Cure.REPLACE:
        replacing = replacing_unhealthy(situation, ailment)
        return record(f"replacing {ailment.key} ({words})", event, replacing)
    gate = cure_gate(situation, ailment)
    if not gate.open:
        return None
    unhealthy = named_service(situation.view, ailment.key, ailment.service)
    request = facts.RestartRequested(
        key=ailment.key,
        generation=situation.view.generation,
        start=unhealthy.start.count + 1,
        config={},
        told={},
        canary=False,
        reason=healing_of(ailment),
        service=ailment.service,
    )
    return record(f"restarting {ailment.whose} ({words}): {gate.reason}", event, request)


def unstuck(situation: Situation) -> Decision | None:
    """The restart of an active controller that decides nothing: what waits for metadata waits for that, too. None where
    none is known to, its gate is closed, anything comes, goes or restarts, or a person holds the cluster."""
    stuck = (p for p in health_of(situation).prescriptions if p.ailment.finding == CONTROLLER_STUCK)
    due = next((p for p in stuck if p.cure is Cure.RESTART), None)
    if due is None or is_unsettled(situation.view) or hold_on(situation.view, situation.now) is not None:
        return None
    return _begin(situation, due)


def lost_disk_first(situation: Situation) -> Decision | None:
    """Asks for what stands in for a disk that failed, so that nodes that are handed over need not wait for ever for a
    broker that cannot start, or cannot be in sync. None where none did, or a person holds the cluster."""
    replacing = (p for p in health_of(situation).prescriptions if p.cure is Cure.REPLACE)
    due = next((p for p in replacing if p.ailment.finding.startswith((*DISK_FAILED, *BreakdownKind))), None)
    return None if due is None or hold_on(situation.view, situation.now) is not None else _begin(situation, due)


def restart_first(situation: Situation) -> Decision | None:
    """Begins the restart of a broker that is there and that Kafka is without, so that what is in hand need not wait for
    ever until it serves. None where none is due, its gate is closed, or a person holds the cluster."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or situation.view.settings.restarts or hold_on(situation.view, situation.now) is not None:
        return None
    instances, live = situation.view.instances, kafka.live_brokers()
    restarts = (p for p in health_of(situation).prescriptions if p.cure is Cure.RESTART and not p.ailment.service)
    away = (p for p in restarts if instances[p.ailment.key].is_broker)
    due = next((p for p in away if instances[p.ailment.key].service_id not in live), None)
    return None if due is None else _begin(situation, due)


def healing_left_step(situation: Situation) -> Decision | None:
    """Says what a cure waits for, once nothing else is to be done."""
    prescription = next(iter(health_of(situation).prescriptions), None)
    if prescription is None:
        return None
    gate = cure_gate(situation, prescription.ailment)
    sentence = f"restart of {prescription.ailment.whose} ({_words(prescription)}) waits: {gate.reason}"
    return wait(WaitReason.HEALING_GATE, sentence, patience_s=60)


def _words(prescription: Prescription) -> str:
    ailment = prescription.ailment
    whose = f"{ailment.service}: " if ailment.service else ""
    return f"{whose}{ailment.finding}: {ailment.message}; {prescription.reason}"
