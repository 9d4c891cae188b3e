"""What a plan says of a quorum of others that is static: who waits for it, and the step that has no way back. Pure."""

from collections.abc import Iterator

from controlplane.cluster.view import ClusterView
from controlplane.converger.steps.quorum.external import DYNAMIC, is_dynamic, why_it_stays_static
from controlplane.kafka.features import KRAFT, is_static
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change
from planner.rollout.steps import RolloutPhase, RolloutStep

NO_WAY_BACK = (
    f"{KRAFT} {DYNAMIC} has no way back in Kafka; until it is raised `quorum: as-found`, applied, takes the wish back. "
    "After it, whoever runs the quorum writes controller.quorum.bootstrap.servers in place of controller.quorum.voters "
    "into the files of their servers; no restart is needed for it"
)
RAISED_S = 5.0
"""What it takes until Kafka shows the level: 0.1 to 1 s on 4.1.1."""


def quorum_phases(
    view: ClusterView, document: KafkaClusterDocument, snapshot: KafkaSnapshot | None
) -> tuple[RolloutPhase, ...]:
    """The phase before everything else, where the document asks for it and it is not known to be done."""
    if not _is_to_be_raised(view, document, snapshot):
        return ()
    why = "no broker of Kedge's joins a static quorum; raised once every voter keeps up and every broker serves"
    how = ("validate only", "raise kraft.version", "voters told with their directories")
    step = RolloutStep(Change.KEEP, "quorum", "", "metadata", why, how, 0, RAISED_S)
    title = "make the quorum of others dynamic, kraft.version 1 (no way back after this step)"
    return (RolloutPhase(title, False, (step,)),)


def static_quorum_warnings(
    view: ClusterView, document: KafkaClusterDocument, snapshot: KafkaSnapshot | None
) -> Iterator[str]:
    """What a person should know of it: that there is no way back, or that everything waits, and for what."""
    if document.spec.external is None:
        return
    asked = _is_to_be_raised(view, document, snapshot)
    impossible = why_it_stays_static(snapshot) if snapshot is not None else ""
    joins = bool(document.spec.broker_pools) and not view.brokers()
    if impossible and (asked or joins):
        yield f"the quorum stays static, and no VM is made before it is dynamic: {impossible}"
    elif asked:
        yield NO_WAY_BACK
    elif joins and snapshot is not None and is_static(snapshot):
        yield (
            f"no VM is made before the quorum there is dynamic, and it is static ({KRAFT} 0): write `quorum: dynamic` "
            "under `spec.external`, or have who runs it raise the level"
        )


def _is_to_be_raised(view: ClusterView, document: KafkaClusterDocument, snapshot: KafkaSnapshot | None) -> bool:
    external = document.spec.external
    asks = external is not None and external.quorum == "dynamic" and not is_dynamic(view)
    return asks and (snapshot is None or is_static(snapshot))
