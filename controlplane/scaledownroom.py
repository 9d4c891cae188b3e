"""Does a scale-down leave room for what the brokers that go hold? Asked by plan, by apply, and before each drain."""

from collections.abc import Sequence
from dataclasses import replace

from controlplane.converger.replacements import pending_changes
from controlplane.evacuationroom import room_without
from controlplane.kafka.gates import Gate
from controlplane.view import ClusterView
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change, NodeChange


def room_after(view: ClusterView, document: KafkaClusterDocument, kafka: KafkaSnapshot) -> Gate:
    """Closed, with the numbers, when the brokers the document removes hold what the others have no place for.

    Open while brokers are to be made as well: how large their disks will be nobody has told.
    """
    changes = pending_changes(replace(view, document=document))
    removed = _brokers(changes, Change.REMOVE)
    if not removed or any(c.change is Change.CREATE and c.service == "broker" for c in changes):
        return Gate(True, "no broker is taken away")
    staying = [i.service_id for i in view.receivers() if i.service_id not in removed]
    gate = room_without(kafka, removed, staying, racks_stay=False)
    named = ", ".join(map(str, sorted(removed)))
    return Gate(gate.open, f"brokers {named} leave: {gate.reason}")


def _brokers(changes: Sequence[NodeChange], change: Change) -> set[int]:
    return {c.incumbent.service_id for c in changes if c.change is change and c.incumbent and c.service == "broker"}
