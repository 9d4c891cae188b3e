"""The brokers that alone receive in a rebalance where a person chose some: who may be chosen, who still takes. Pure.

A broker that was chosen and has left takes nothing any more, and nobody takes its place: another one was not agreed to.
"""

from collections.abc import Sequence

from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.demotions import demoted_brokers
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.rebalances import RebalanceView
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change, NodeChange


def removed_brokers(changes: Sequence[NodeChange]) -> set[int]:
    """Ids of the brokers that the spec has no node for any more."""
    gone = (c for c in changes if c.change is Change.REMOVE and c.service == "broker")
    return {c.incumbent.service_id for c in gone if c.incumbent}


def takers(view: ClusterView, rebalance: RebalanceView) -> frozenset[int]:
    """Ids of the brokers that a rebalance may give anything to now; none where all that were chosen have left."""
    able = frozenset(i.service_id for i in view.receivers()) - set(rebalance.terms.choice.exclude_brokers)
    if not rebalance.chosen:
        return able
    return (able & frozenset(rebalance.chosen)) - demoted_brokers(view)


def chosen_brokers(view: ClusterView, targets: Sequence[int], kafka: KafkaSnapshot | None) -> tuple[int, ...]:
    """Those a person names, each once, in order. Raises CommandRefused for one that may receive nothing, and where
    no broker is left to send."""
    if not targets:
        return ()
    able = {i.service_id for i in view.receivers()} - demoted_brokers(view) - _replaced_or_removed(view)
    chosen = sorted(set(targets))
    for broker in chosen:
        if broker not in able:
            choice = ", ".join(map(str, sorted(able)))
            then = f"Choose among: {choice}." if choice else f"Nobody can be chosen now: kedge describe {view.name}"
            raise CommandRefused("not-a-target", f"broker {broker} cannot receive: {_why(view, broker, kafka)}", then)
    if {i.service_id for i in view.receivers()} <= set(chosen):
        message = f"every broker of {view.name} that may receive was chosen: no broker is left to send"
        raise CommandRefused("nobody-gives", message, "Choose fewer; or none, to spread replicas over all of them.")
    return tuple(chosen)


def _why(view: ClusterView, broker: int, kafka: KafkaSnapshot | None) -> str:
    found = next((i for i in view.brokers() if i.service_id == broker), None)
    if found is None:
        known = kafka is not None and broker in kafka.brokers
        return "it is registered in Kafka, and none of Kedge's" if known else f"{view.name} has no such broker"
    if found.key in view.requests.evacuations:
        return f"{found.key} is kept empty ({view.requests.evacuations[found.key].reason})"
    if found.lost:
        return f"the VM of {found.key} is gone"
    if found.phase is not Phase.JOINED:
        return f"{found.key} is {found.phase}: it is on its way in or out"
    if broker in demoted_brokers(view):
        return f"{found.key} is demoted ({view.requests.demotions[found.key].reason}), it is to lead nothing"
    return f"{found.key} leaves: the spec in force, or a person, has it removed or replaced by another broker"


def _replaced_or_removed(view: ClusterView) -> set[int]:
    """Ids that will be no more: where an id passes on to the next VM, with the disk, it is not among them."""
    changes = pending_changes(view)
    old = (c.incumbent for c in changes if c.change is Change.REPLACE and c.incumbent)
    return {
        *removed_brokers(changes),
        *(i.service_id for i in old if i.service == "broker" and not _passes_on(view, f"{i.node}.g{i.generation}")),
        *(i.service_id for i in view.brokers() if _has_a_successor(view, i)),
    }


def _passes_on(view: ClusterView, key: str) -> bool:
    asked = view.requests.to_replace.get(key)
    if asked is not None and (asked.new_disk or asked.disks):
        return bool(asked.disks)
    return view.document is not None and view.document.spec.rollout.strategy == "reattach"


def _has_a_successor(view: ClusterView, instance: InstanceView) -> bool:
    later = (i for i in view.of_node(instance.node) if i.planned.generation > instance.planned.generation)
    return any(i.service_id != instance.service_id for i in later)
