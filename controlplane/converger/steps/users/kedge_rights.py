"""Kedge's own ACLs, beside whatever else the cluster does.

    born with TLS   security.least_rights_begun and quorum.founded -> every look: what is amiss is put right
    of before       every look: what is amiss is put right -> security.least_rights_begun, once all of them are there

Nobody is restarted for it: who runs is told with its next start, whatever that is for. While some know Kedge's server
as a super user and others by its ACLs, both let it do the same, so that the order makes no difference.
"""

from controlplane.cluster.kedge_rights import has_kedge_rights
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.decision import Decision, act, record
from controlplane.converger.situation.effects import PutKedgeRights
from controlplane.converger.situation.situation import Situation
from events import facts


def born_with_least_rights(view: ClusterView) -> tuple[facts.LeastRightsBegun, ...]:
    """What is recorded before a quorum is founded: none of its services was started yet."""
    if not has_kedge_rights(view) or view.settings.least_rights:
        return ()
    return (facts.LeastRightsBegun("the cluster is founded: its ACLs are made before Kedge asks for anything"),)


def with_kedge_rights(situation: Situation, decision: Decision) -> Decision:
    """The decision, with what is done about Kedge's own ACLs beside it."""
    if decision.events:
        return decision
    found = kedge_rights_decision(situation)
    return decision if found is None else decision.and_beside(found)


def kedge_rights_decision(situation: Situation) -> Decision | None:
    """What is to be recorded or made now. None where there is nothing, or it cannot be told."""
    view, look = situation.view, situation.seen.access.kedge_rights
    if look is None or view.history.unreadable or view.requests.held or view.deleted or view.requests.tombstone:
        return None
    if look.seen.lacking or look.seen.surplus:
        return act("making Kedge's own ACLs as they are to be", PutKedgeRights())
    if look.seen.denied or view.settings.least_rights:
        return None
    begun = facts.LeastRightsBegun("the ACLs that Kedge works with are there")
    return record("Kedge's server has rights of its own, and need not be a super user any more", begun)
