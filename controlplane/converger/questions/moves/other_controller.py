"""How another controller is had, where the one that leads does not do its work, and whether that is safe now."""

from dataclasses import dataclass

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.rolls.stop_gates import controller_gate, service_down
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate, is_following
from events import facts
from planner.observed import KafkaSnapshot
from planner.quantities import named

_SETTLING = (Phase.REQUESTED, Phase.LAUNCHED, Phase.FENCING, Phase.FENCED, Phase.RELEASED)


@dataclass(frozen=True, slots=True)
class OtherController:
    """What is recorded beside the cure. `key`: whose process is restarted, "" where none is."""

    event: facts.RestartRequested | facts.ControllerElectionRequested
    key: str = ""


def other_controller(situation: Situation, kafka: KafkaSnapshot, why: str) -> OtherController | None:
    """How another controller is had now; None while that could do harm."""
    if is_unsettled(situation.view):
        return None
    if kafka.mode == "zookeeper":
        if not may_reelect(situation, kafka).open:
            return None
        return OtherController(facts.ControllerElectionRequested(kafka.controller, kafka.controller_epoch, why))
    active = _active_controller(situation, kafka)
    return None if active is None else OtherController(_restart(situation, active, why), active.key)


def may_reelect(situation: Situation, kafka: KafkaSnapshot) -> Gate:
    """Open when another broker is there to take over, and the ensemble that elects it is whole."""
    view = situation.view
    if not view.in_zookeeper_mode or view.quorum.migration is not None or is_shared(view):
        return Gate(False, "its metadata is not in an ensemble of Kedge's alone")
    if kafka.controller < 0 or kafka.controller_epoch < 0:
        return Gate(False, "ZooKeeper names no controller now")
    others = kafka.live_brokers() - {kafka.controller}
    if not others:
        return Gate(False, f"no live broker could take over from {kafka.controller}")
    late = [m.id for m in kafka.quorum.members if m.is_voter and not is_following(m)]
    lost = [i.key for i in view.controllers() if i.lost]
    if late or lost:
        return Gate(False, f"the ensemble is not whole: {named(late) if late else named(lost)}")
    return Gate(True, f"the ensemble is whole, {len(others)} brokers could take over from {kafka.controller}")


def is_unsettled(view: ClusterView) -> bool:
    return bool(view.intents or view.settings.restarts or view.in_phase(*_SETTLING))


def _active_controller(situation: Situation, kafka: KafkaSnapshot) -> InstanceView | None:
    """The one to restart; None while the gate of the quorum is closed."""
    view = situation.view
    active = [i for i in view.controllers() if i.service_id == kafka.quorum.leader and i.phase is Phase.JOINED]
    if len(active) != 1 or view.in_zookeeper_mode:
        return None
    (leader,) = active
    if leader.lost or service_down(situation, kafka, leader, service="controller"):
        return None
    return leader if controller_gate(situation, kafka, leader).open else None


def _restart(situation: Situation, controller: InstanceView, why: str) -> facts.RestartRequested:
    return facts.RestartRequested(
        key=controller.key,
        generation=situation.view.generation,
        start=controller.start.count + 1,
        config={},
        told={},
        canary=False,
        reason=f"another controller is to take over: {why}",
    )
