"""/v1/proposals and /v1/policies: what waits for a second person, and what the policies are."""

from collections.abc import Callable

from fastapi import APIRouter, Request

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.approvals import in_force_digest
from controlplane.api.move_proposals import REBALANCE, is_still_so
from controlplane.api.paging import MOST_ON_A_PAGE, After, AfterId, Most, Turning, by_name, following
from controlplane.api.presenters import specs as spec_answers
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Keyed, came_before
from controlplane.api.schemas import proposals as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import PortalServices, Proposals, Services
from controlplane.api.specs import Judged, judge
from controlplane.cluster.commands import CommandRefused
from controlplane.fleet.proposals.fold import ProposalState, ProposalView
from controlplane.fleet.proposals.stream import DECIDED

router = APIRouter(prefix=API_PREFIX, tags=["proposals"])


@router.get("/proposals")
def list_proposals(
    services: Services, turn: Turning, everything: bool = False, after: AfterId = "", limit: Most = MOST_ON_A_PAGE
) -> list[api.ProposalOut]:
    """Those that are open, the newest first; with `everything` also those that are decided."""
    # One that was decided since the page before is still where the next one begins.
    found = following(proposals_of(services).all(), lambda proposal: proposal.id, after)
    shown = [p for p in found if everything or p.state in (ProposalState.OPEN, ProposalState.APPROVED)]
    return [api.proposal_out(p) for p in turn.page(shown, lambda proposal: proposal.id, limit)]


@router.get("/proposals/{number}")
def get_proposal(number: str, services: Services) -> api.ProposalDetailOut:
    """One with its spec, and its plan as it would be now."""
    service = proposals_of(services)
    proposal = service.get(number)
    judged, still = now_of(services, proposal)
    return api.ProposalDetailOut.model_validate(
        {
            **api.proposal_fields(proposal),
            "digest": proposal.made.digest,
            "file": proposal.made.file,
            "text": proposal.made.text,
            "may_approve": proposal.state is ProposalState.OPEN and service.may_approve(proposal),
            "still_that_plan": still,
            "plans": [spec_answers.plan_out(p) for p in judged.plans] if judged else [],
            "topics": list(judged.plan_beside) if judged else [],
            "problems": [str(p) for p in judged.problems if p.is_error] if judged else [],
        }
    )


@router.post("/proposals/{number}/approve", dependencies=[Keyed])
def approve(number: str, body: api.DecisionIn, services: Services, request: Request) -> api.ProposalOut:
    """A yes; the change is done then, if its plan is still that one."""
    service = proposals_of(services)
    return _decided_once(request, service, number, lambda: service.approve(number, body.note))


@router.post("/proposals/{number}/reject", dependencies=[Keyed])
def reject(number: str, body: api.DecisionIn, services: Services, request: Request) -> api.ProposalOut:
    """A no. An author takes their own back."""
    service = proposals_of(services)
    return _decided_once(request, service, number, lambda: service.reject(number, body.note))


@router.get("/policies")
def list_policies(
    services: Services, rights: Caller, turn: Turning, after: After = "", limit: Most = MOST_ON_A_PAGE
) -> api.PoliciesOut:
    """The policies in force by name, and whether their files are still sound."""
    rights.require_somewhere(Verb.READ, "policies")
    known = services.cluster.judge.gate.policies.current()
    fault = known.fault
    if fault and not rights.may_everywhere(Verb.ADMINISTER):
        fault = "the files are invalid; an administrator can see where"
    page = turn.page(
        by_name(known.policies, lambda policy: policy.name, after=after), lambda policy: policy.name, limit
    )
    policies = [api.PolicyOut(name=p.name, tests=len(p.tests)) for p in page]
    return api.PoliciesOut(policies=policies, is_good=known.is_good, fault=fault)


def _decided_once(
    request: Request, service: Proposals, number: str, decide: Callable[[], ProposalView]
) -> api.ProposalOut:
    """What became of it, told again to who decided it by this very request before."""
    try:
        return api.proposal_out(decide())
    except CommandRefused as refused:
        proposal, rights = service.get(number), request.state.rights
        if refused.code != DECIDED or not came_before(request) or proposal.decided_by != rights.subject:
            raise
        if proposal.state is ProposalState.VOID:
            rights.trail.refused = f"proposal {number} is void"
        return api.proposal_out(proposal)


def proposals_of(services: PortalServices) -> Proposals:
    """The proposals as the caller may use them."""
    if services.access.proposals is None:
        raise ApiError(404, "no-proposals", "this server records no proposals")
    return services.access.proposals


def now_of(services: PortalServices, proposal: ProposalView) -> tuple[Judged | None, bool]:
    """What the file of a proposal would do now, and whether that is what was proposed. Of what is over nothing."""
    made = proposal.made
    if proposal.state not in (ProposalState.OPEN, ProposalState.APPROVED):
        return None, False
    if made.change == REBALANCE:
        return None, is_still_so(services, services.cluster.commands.current(made.clusters[0]), proposal)
    if made.change != "apply":
        return None, in_force_digest(services.cluster.commands.current(made.clusters[0]), made.topic) == made.digest
    judged = judge(services, made.text, file=made.file, takes_pairs=True)
    # A git source knows no metadata of Kafka: its digest is of another kind, and is compared at the next poll.
    return judged, made.source != "api" or (judged.ok and judged.digest == made.digest)
