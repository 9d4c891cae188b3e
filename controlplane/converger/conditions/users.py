"""The condition `UsersDegraded`: users, and quotas of everybody, that are not as declared and why, by name."""

from controlplane.cluster.folds.kept import Trouble
from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.kept import degraded
from controlplane.runtime.once import once
from events import facts
from events.user_facts import UserTrouble

USERS_DEGRADED = "UsersDegraded"


@once
def users_degraded(view: ClusterView) -> facts.ConditionChanged:
    """From what is recorded of each user, and of the quotas of the spec."""
    users = view.users.all_troubles
    troubles: dict[str, Trouble] = {**users}
    if refused := view.settings.client_quotas.refused:
        troubles[_QUOTAS] = UserTrouble(_QUOTAS, "Refused", refused)
    then = f"kedge users list {view.name}" if users else f"kedge describe {view.name}"
    return facts.ConditionChanged(USERS_DEGRADED, *degraded(troubles, then))


_QUOTAS = "spec.quotas"
