"""The condition `TopicsDegraded`: topics that are not as declared and why, by name."""

from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.kept import degraded
from events import facts

TOPICS_DEGRADED = "TopicsDegraded"


def topics_degraded(view: ClusterView) -> facts.ConditionChanged:
    """From what is recorded of each topic."""
    return facts.ConditionChanged(TOPICS_DEGRADED, *degraded(view.topics.troubles, f"kedge topics {view.name}"))
