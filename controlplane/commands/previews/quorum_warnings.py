"""What a person should know before the number of controllers changes, or before an upgrade after it has. Pure."""

from collections.abc import Iterator, Sequence

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.quorum.seats import remembered, size_to_bring_back
from controlplane.kafka.features import metadata_level_of
from planner.rollout.diff import Change, NodeChange


def quorum_warnings(view: ClusterView, nodes: Sequence[NodeChange]) -> Iterator[str]:
    """`view` with the document that is to come into force, `nodes` what it changes."""
    if view.document is None or view.quorum.founding is None:
        return
    leaving = [c for c in nodes if c.change is Change.REMOVE and c.service == view.quorum_service and c.incumbent]
    coming = {c.node for c in nodes if c.change is Change.CREATE}
    ids = ", ".join(str(c.incumbent.service_id) for c in leaving if c.incumbent)
    if leaving and view.document.spec.quorum_size == 1:
        yield (
            f"one controller is left (controllers {ids} leave): the cluster's metadata has one copy then, and nobody "
            "goes on while that controller is away"
        )
    if leaving and not view.in_zookeeper_mode:
        yield (
            f"controllers {ids} leave, and Kafka keeps their registrations: a later upgrade is finalised only once "
            "they are back with its version. Upgrade first where both are wanted"
        )
    target = _level(view.document.spec.kafka.metadata_version or view.document.spec.kafka.version)
    vetoes = [i for i in remembered(view) if i.node not in coming and _level(i.planned.kafka_version) < target]
    if vetoes and any(c.change is Change.REPLACE for c in nodes):
        named = ", ".join(f"{i.service_id} ({i.node}, Kafka {i.planned.kafka_version})" for i in vetoes)
        yield (
            f"controllers that left stay registered: {named}. The roll cannot be finalised before they are back: apply "
            f"it with {size_to_bring_back(view)} controllers"
        )


def _level(version: str) -> int:
    """-1 for a release nobody has levels of: it vetoes nothing here, Kafka will say."""
    try:
        return metadata_level_of(version)
    except ValueError:
        return -1
