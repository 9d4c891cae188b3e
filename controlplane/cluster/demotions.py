"""Brokers that are to lead nothing: as they are slow, or as a person said so."""

from controlplane.cluster.view import ClusterView


def demoted_brokers(view: ClusterView) -> frozenset[int]:
    """Ids of those that are demoted now."""
    return frozenset(d.broker for d in view.requests.demotions.values() if not d.ended)


def demoted_as_slow(view: ClusterView) -> bool:
    """Whether some demotion, in force or on its way out, is the cure of a slow broker, not a person's word."""
    return any(not d.by_person for d in view.requests.demotions.values())
