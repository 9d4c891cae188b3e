"""The condition `TopicsDegraded`: topics that are not as declared and why, by name. They never block their cluster."""

from controlplane.cluster.view import ClusterView
from events import facts

TOPICS_DEGRADED = "TopicsDegraded"

_NAMED = 5


def topics_degraded(view: ClusterView) -> facts.ConditionChanged:
    """From what is recorded of each topic."""
    troubles = [trouble for _, trouble in sorted(view.topics.troubles.items())]
    if not troubles:
        return facts.ConditionChanged(TOPICS_DEGRADED, False, "Free", "")
    sentences = "; ".join(f"{t.name}: {t.reason}: {t.message}" for t in troubles[:_NAMED])
    more = f"; and {len(troubles) - _NAMED} more" if len(troubles) > _NAMED else ""
    reasons = {t.reason for t in troubles}
    reason = reasons.pop() if len(reasons) == 1 else "Several"
    message = f"{sentences}{more}. Next: kedge topics {view.name}"
    return facts.ConditionChanged(TOPICS_DEGRADED, True, reason, message)
