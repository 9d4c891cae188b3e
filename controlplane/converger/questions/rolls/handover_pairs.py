"""Nodes that are being handed over, and nodes whose holder is gone and that nobody takes over."""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.agent_evidence import says_it_is_down
from controlplane.converger.situation.situation import Situation


def handover_pair(situation: Situation, node: str) -> tuple[list[InstanceView], InstanceView] | None:
    present = [i for i in situation.view.of_node(node) if i.phase is not Phase.RETIRING]
    if len(present) < 2 or not present[-1].planned.handover or present[-1].planned.relieves:
        return None
    successor, moves = present[-1], situation.view.controller_moves()
    # A broker of another id beside them is to be emptied: nothing of it passes to the successor; nor of a controller
    # that moves.
    olds = [i for i in present[:-1] if i.service_id == successor.service_id and i.key not in moves]
    in_hand = successor.awaits_bind or successor.phase in (Phase.LAUNCHED, Phase.JOINED)
    return (olds, successor) if olds and in_hand else None


def is_orphaned(situation: Situation) -> bool:
    """Whether a VM, or what was on its disk, is gone, or was stopped for a successor that failed, and nobody is there
    to take over its node."""
    view = situation.view
    stranded = {there[-1].node for there in view.nodes().values() if _is_stranded(view, there[-1])}
    lost = stranded | {i.node for i in view.alive() if is_gone(situation, i)}
    return any(handover_pair(situation, node) is None for node in lost)


def is_to_be_replaced_first(situation: Situation) -> bool:
    """Whether a broker that does not run, or that neither Kafka nor Kedge hears, is to get a new VM, which nobody has
    begun."""
    view, kafka = situation.view, situation.seen.kafka
    away = [i for i in view.brokers() if i.key in view.requests.to_replace]
    lost = [i for i in away if kafka is not None and i.service_id not in kafka.live_brokers()]
    down = (i for i in away if i in lost or says_it_is_down(situation, i))
    return any(i.phase is Phase.JOINED and handover_pair(situation, i.node) is None for i in down)


def _is_stranded(view: ClusterView, newest: InstanceView) -> bool:
    return newest.phase in (Phase.FENCED, Phase.RELEASED) and view.hands_over(newest)


def is_gone(situation: Situation, instance: InstanceView) -> bool:
    return instance.lost or (instance.bound and bool(situation.view.is_broken(instance)))
