"""What the API says of proposals and policies."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.specs import PlanOut
from controlplane.fleet.proposals.fold import ProposalView


class ProposalOut(Message):
    """A change that waits for a second person, or did."""

    id: str
    state: str = Field(description="open, approved, executed, rejected or void")
    change: str = Field(description="apply, delete, delete-topic or rebalance")
    clusters: list[str]
    topic: str
    author: str
    claimed: str = Field(description="whom a commit names as its author; nobody checked that")
    source: str
    message: str
    reasons: list[str]
    at: datetime
    expires_at: datetime
    decided_by: str
    decided_at: datetime | None
    note: str
    told: str = Field(description="what came of it, or why nothing did")


class ProposalDetailOut(ProposalOut):
    """The same with its spec, and what applying it would do now."""

    digest: str
    file: str
    text: str
    may_approve: bool
    still_that_plan: bool = Field(description="whether the plan is still the one that was proposed")
    plans: list[PlanOut]
    topics: list[str]
    problems: list[str]


class DecisionIn(Message):
    """A yes or a no, and why."""

    note: str = Field(default="", max_length=500)


class PolicyOut(Message):
    """A policy in force."""

    name: str
    tests: int


class PoliciesOut(Message):
    """The policies in force. `fault` says why the files as they are now are not; administrators are told."""

    policies: list[PolicyOut]
    is_good: bool = Field(description="false: nothing that makes sense was ever read, every change is refused")
    fault: str


def proposal_out(proposal: ProposalView) -> ProposalOut:
    """One proposal in short."""
    return ProposalOut.model_validate(proposal_fields(proposal))


def proposal_fields(proposal: ProposalView) -> dict[str, object]:
    """The fields both shapes have."""
    made = proposal.made
    return {
        "id": proposal.id,
        "state": proposal.state.value,
        "change": made.change,
        "clusters": list(made.clusters),
        "topic": made.topic,
        "author": made.author,
        "claimed": made.claimed,
        "source": made.source,
        "message": made.message,
        "reasons": list(made.reasons),
        "at": proposal.at,
        "expires_at": made.expires_at,
        "decided_by": proposal.decided_by,
        "decided_at": proposal.decided_at,
        "note": proposal.note,
        "told": proposal.outcome,
    }
