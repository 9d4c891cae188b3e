"""The condition `UsersDegraded`: users that are not as declared and why, by name."""

from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.kept import degraded
from events import facts

USERS_DEGRADED = "UsersDegraded"


def users_degraded(view: ClusterView) -> facts.ConditionChanged:
    """From what is recorded of each user."""
    return facts.ConditionChanged(USERS_DEGRADED, *degraded(view.users.troubles, f"kedge users list {view.name}"))
