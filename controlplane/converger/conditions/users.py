"""The condition `UsersDegraded`: users that are not as declared and why, by name. They never block their cluster."""

from controlplane.cluster.view import ClusterView
from events import facts

USERS_DEGRADED = "UsersDegraded"

_NAMED = 5


def users_degraded(view: ClusterView) -> facts.ConditionChanged:
    """From what is recorded of each user."""
    troubles = [trouble for _, trouble in sorted(view.users.troubles.items())]
    if not troubles:
        return facts.ConditionChanged(USERS_DEGRADED, False, "Free", "")
    sentences = "; ".join(f"{t.name}: {t.reason}: {t.message}" for t in troubles[:_NAMED])
    more = f"; and {len(troubles) - _NAMED} more" if len(troubles) > _NAMED else ""
    reasons = {t.reason for t in troubles}
    reason = reasons.pop() if len(reasons) == 1 else "Several"
    message = f"{sentences}{more}. Next: kedge users list {view.name}"
    return facts.ConditionChanged(USERS_DEGRADED, True, reason, message)
