"""What a plan says of data that moves once its steps are done: new brokers are due a share of what is there. Pure."""

from collections.abc import Sequence

from controlplane.cluster.data_size import bytes_by_broker
from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.view import ClusterView
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes
from planner.rollout.diff import Change, NodeChange


def shares_of_newcomers(
    view: ClusterView, document: KafkaClusterDocument, nodes: Sequence[NodeChange], snapshot: KafkaSnapshot | None
) -> tuple[str, ...]:
    """A sentence where a rebalance follows brokers that are added; how much it copies is an even share, the true figure
    is its plan's, made once they have joined."""
    brokers = [c for c in nodes if c.service == "broker" and c.desired is not None and not c.beside]
    new = sum(c.change is Change.CREATE for c in brokers)
    if not new or new == len(brokers):
        return ()
    added = f"{new} new broker{'s' if new > 1 else ''}"
    if is_shared(view):
        return ()
    if document.spec.balance.after == "never":
        return (f"{added} get no replica of what is there (spec.balance.after is never): `kedge rebalance` moves some",)
    amount = "their share of what is there"
    if snapshot is not None:
        held = sum(bytes_by_broker(snapshot).values())
        amount = f"about {human_bytes(held * new // len(brokers))} of the {human_bytes(held)} that are there"
    most = document.spec.balance.per_day_gib
    slowly = f", at most {most} GiB a day (spec.balance.perDayGib)" if most else ""
    return (f"once they have joined, {added} get {amount} by a rebalance{slowly}",)
