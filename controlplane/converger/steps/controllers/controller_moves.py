"""Controllers that change their place, or are on a cloud whose addresses stay with their VMs: each is moved to a new
VM with the same id, another disk and another address. One at a time.

    newcomer reports -> brokers are told of it -> gate -> old one stopped -> newcomer started, an observer
        -> it has caught up -> voter.remove_requested, voter.removed (the old directory)
        -> voter.add_requested, voter.added (the new one) -> joined -> old one retired, its disk and address with it

The id stays, since Kafka remembers every id for ever. Kafka lets an observer follow under the id of a voter that is
stopped, so the old directory keeps its vote until the new one can take it over: with three voters the quorum is one of
two for a second, not for as long as a VM takes to copy the metadata.
"""

from collections.abc import Sequence

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.controller_moves import elders, is_waiting
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.controller_moves import why_no_controller_move
from controlplane.converger.questions.quorum.seats import thin_list
from controlplane.converger.questions.rolls.handover_pairs import is_orphaned
from controlplane.converger.questions.services.service_reports import has_reported
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.departures import request_retire
from controlplane.converger.steps.rolls.handovers import stop_for

_OVER = (Phase.FENCED, Phase.RELEASED)


def controller_move_step(situation: Situation) -> Decision | None:
    """Looks after controllers that are being moved; one whose VM is gone comes first. None while brokers are still
    to be told of the newcomer: `restart_step` tells them."""
    view = situation.view
    if not view.controller_moves():
        return None
    there = tuple(view.instances.values())
    moves = [
        (elders(there, successor), successor)
        for successor in {h.key: h for h in view.controller_moves().values()}.values()
    ]
    waiting: Decision | None = None
    for olds, successor in sorted(moves, key=lambda one: not any(i.lost for i in one[0])):
        decision = _look_after(situation, olds, successor)
        if decision is not None and decision.wait is None:
            return decision
        waiting = waiting or decision
    # A gate that waits for somebody dead waits for ever, unless that one gets its successor first.
    return None if waiting is None or is_orphaned(situation) else waiting


def _look_after(situation: Situation, olds: Sequence[InstanceView], successor: InstanceView) -> Decision | None:
    if successor.phase is Phase.JOINED and (over := [i for i in olds if i.phase in _OVER]):
        return request_retire(situation, over, f"{successor.key} has taken over controller {successor.service_id}")
    serving = next((i for i in olds if i.phase is Phase.JOINED), None)
    if serving is None or successor.lost or successor.phase is not Phase.LAUNCHED or not is_waiting(successor):
        return None
    return _move_on(situation, serving, successor)


def _move_on(situation: Situation, old: InstanceView, successor: InstanceView) -> Decision | None:
    if not has_reported(situation, successor):
        return wait(
            WaitReason.SUCCESSOR_SILENT, f"{successor.key} runs; waiting for its agent before {old.key} is touched"
        )
    if reason := why_no_controller_move(situation):
        return wait(
            WaitReason.CONTROLLER_STAYS, f"{successor.key} does not take over from {old.key}: {reason}", patience_s=0
        )
    view = situation.view
    if view.settings.restarts or any(_is_unaware(view, broker) for broker in view.brokers()):
        return None
    return stop_for(situation, old, successor)


def _is_unaware(view: ClusterView, broker: InstanceView) -> bool:
    """Whether a broker that is to stay would know too few controllers afterwards."""
    newest = view.of_node(broker.node)[-1].key == broker.key
    return newest and broker.phase is Phase.JOINED and not broker.lost and bool(thin_list(view, broker))
