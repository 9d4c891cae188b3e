"""What is declared by name in a cluster, and is not as declared: topics and users. They never block their cluster."""

from collections.abc import Mapping

from controlplane.cluster.folds.kept import Trouble

_NAMED = 5


def degraded(troubles: Mapping[str, Trouble], then: str) -> tuple[bool, str, str]:
    """Status, reason and message of the condition, from what is recorded of each, by name. `then`: the command that
    shows them."""
    found = [trouble for _, trouble in sorted(troubles.items())]
    if not found:
        return False, "Free", ""
    sentences = "; ".join(f"{t.name}: {t.reason}: {t.message}" for t in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    reasons = {t.reason for t in found}
    reason = reasons.pop() if len(reasons) == 1 else "Several"
    return True, reason, f"{sentences}{more}. Next: {then}"
