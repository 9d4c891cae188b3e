"""Conditions of what somebody changed by hand that Kedge made: `CloudDrift` of a cluster's own things, `NetworkDrift`
of the networks it is in. Told; Kedge does nothing about it by itself."""

from collections.abc import Sequence

from controlplane.cluster.observed.cloud_drift import audited_networks, audited_places
from controlplane.converger.situation.situation import Situation
from events import facts
from providers.audits import Drift

CLOUD_DRIFT_FOUND = "CloudDrift"
NETWORK_DRIFT = "NetworkDrift"
_NAMED = 3


def drift_condition(situation: Situation) -> facts.ConditionChanged | None:
    """From the last audits. Without one that ended well the condition stays as it is."""
    if not situation.seen.background.drift:
        return None
    view = situation.view
    audits = audited_places(view, situation.seen.background.drift)
    drifts = [drift for noted in audits.values() for drift in noted.drifts]
    if not drifts:
        is_known = any(noted.at is not None for noted in audits.values())
        return facts.ConditionChanged(CLOUD_DRIFT_FOUND, False, "Free", "") if is_known else None
    message = (
        f"changed by hand in the cloud: {_named(drifts)}. Kedge leaves it as it "
        "is, and no run of its own puts it back. Restore it by hand, or replace the node (`kedge replace`), "
        f"then `kedge drift {view.name} --now`. Next: kedge drift {view.name}"
    )
    return facts.ConditionChanged(CLOUD_DRIFT_FOUND, True, _reason(drifts), message)


def network_drift_condition(situation: Situation) -> facts.ConditionChanged | None:
    """The same of the networks the cluster is in. It ends with a clean audit, or where none of them is Kedge's."""
    if not situation.seen.background.drift:
        return None
    audits = audited_networks(situation.view, situation.seen.background.drift)
    drifted = {place: noted.drifts for place, noted in audits.items() if noted.drifts}
    if not drifted:
        is_known = not audits or any(noted.at is not None for noted in audits.values())
        return facts.ConditionChanged(NETWORK_DRIFT, False, "Free", "") if is_known else None
    named = "; ".join(f"network {place.network} in {place}: {_named(drifts)}" for place, drifts in drifted.items())
    message = (
        f"changed by hand in the cloud: {named}. Kedge leaves it as it is; a run on that network is refused while a "
        "value differs. Put values back by hand; what is gone is made again by `kedge networks repair "
        f"{next(iter(drifted)).network}`. Next: kedge drift {situation.view.name} --now"
    )
    return facts.ConditionChanged(NETWORK_DRIFT, True, _reason([d for of in drifted.values() for d in of]), message)


def _named(drifts: Sequence[Drift]) -> str:
    more = f"; and {len(drifts) - _NAMED} more" if len(drifts) > _NAMED else ""
    return f"{'; '.join(d.sentence for d in drifts[:_NAMED])}{more}"


def _reason(drifts: Sequence[Drift]) -> str:
    return "Gone" if any(d.is_gone for d in drifts) else "ChangedByHand"
