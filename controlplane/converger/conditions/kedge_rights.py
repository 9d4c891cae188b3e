"""The condition `KedgeRightsMissing`: Kedge lacks rights that it works with, and cannot give them to itself."""

from controlplane.cluster.wait_reasons import NEXT
from controlplane.converger.situation.situation import Situation
from events import facts
from events.quantities import named

KEDGE_RIGHTS_MISSING = "KedgeRightsMissing"


def kedge_rights_missing(situation: Situation) -> facts.ConditionChanged | None:
    """What others took away is put right before anybody hears of it; this is where that does not help. None where Kedge
    works without ACLs, and while brokers do not answer."""
    view, look = situation.view, situation.seen.access.kedge_rights
    if look is None:
        return None
    seen, waits = look.seen, "; nothing is done in the cluster until then" if look.seen.is_blind else ""
    if seen.denied:
        message = (
            f"ACLs for everybody deny Kedge what it works with: {named([str(acl) for acl in seen.denied])}{waits}. "
            f"{NEXT}delete them, or name whom they are meant for (kedge acls list {view.name})"
        )
        return facts.ConditionChanged(KEDGE_RIGHTS_MISSING, True, "Denied", message)
    if (seen.lacking or seen.surplus) and look.problem:
        what = named([str(acl) for acl in (*seen.lacking, *seen.surplus)])
        message = (
            f"Kedge's own ACLs cannot be put right ({what}): {look.problem}{waits}. It is tried again at each look"
        )
        return facts.ConditionChanged(KEDGE_RIGHTS_MISSING, True, "CannotBeMade", message)
    return facts.ConditionChanged(KEDGE_RIGHTS_MISSING, False, "Held", "")
