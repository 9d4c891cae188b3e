"""The condition `CloudDrift`: somebody changed by hand what Kedge made. Told; Kedge does nothing about it by itself."""

from controlplane.converger.verdict import Situation
from controlplane.drift.record import audited_places
from events import facts

CLOUD_DRIFT_FOUND = "CloudDrift"
_NAMED = 3


def drift_told(situation: Situation) -> facts.ConditionChanged | None:
    """From the last audits. Without one that ended well the condition stays as it is."""
    if not situation.seen.drift:
        return None
    view = situation.view
    audits = audited_places(view, situation.seen.drift)
    drifts = [drift for noted in audits.values() for drift in noted.drifts]
    if not drifts:
        is_known = any(noted.at is not None for noted in audits.values())
        return facts.ConditionChanged(CLOUD_DRIFT_FOUND, False, "Free", "") if is_known else None
    more = f"; and {len(drifts) - _NAMED} more" if len(drifts) > _NAMED else ""
    message = (
        f"changed by hand in the cloud: {'; '.join(d.sentence for d in drifts[:_NAMED])}{more}. Kedge leaves it as it "
        "is, and no run of its own puts it back. Put it back by hand, or have the node made anew (`kedge replace`), "
        f"then `kedge drift {view.name} --now`. Next: kedge drift {view.name}"
    )
    reason = "Gone" if any(d.is_gone for d in drifts) else "ChangedByHand"
    return facts.ConditionChanged(CLOUD_DRIFT_FOUND, True, reason, message)
