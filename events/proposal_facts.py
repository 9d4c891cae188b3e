"""Changes that wait for a second person: facts of the stream `proposals`.

One stream for all of them: a list of what is open is one read, and of two people who decide at once one is told that
the other was first. Proposals are rare; a change that needs nobody leaves nothing here.
"""

from dataclasses import dataclass
from datetime import datetime

from events.registry import fact


@fact("proposal.made", schema=1)
@dataclass(frozen=True, slots=True)
class ProposalMade:
    """A change that a policy reserves. `change` is `apply`, `delete`, `delete-topic` or `rebalance`; `text` the spec
    file, or the order of a rebalance as JSON.

    `digest` pins the plan and what was in force; `author` is who asked, `claimed` whom a commit names besides.
    `source` is `api` or `git:BINDING`; `via` says how the author proved who they are.
    """

    id: str
    change: str
    clusters: tuple[str, ...]
    topic: str
    text: str
    file: str
    message: str
    digest: str
    reasons: tuple[str, ...]
    author: str
    claimed: str
    source: str
    via: str
    commit: str
    expires_at: datetime


@fact("proposal.approved", schema=1)
@dataclass(frozen=True, slots=True)
class ProposalApproved:
    """Intent: `approver`, who is no author of it, said yes. It is executed next."""

    id: str
    approver: str
    note: str


@fact("proposal.rejected", schema=1)
@dataclass(frozen=True, slots=True)
class ProposalRejected:
    """Somebody said no, or its author took it back. Nothing comes of it."""

    id: str
    by: str
    note: str


@fact("proposal.voided", schema=1)
@dataclass(frozen=True, slots=True)
class ProposalVoided:
    """Nothing comes of it: the plan is another one by now, rights are gone, or time was up."""

    id: str
    why: str


@fact("proposal.executed", schema=1)
@dataclass(frozen=True, slots=True)
class ProposalExecuted:
    """Outcome: the change is in force."""

    id: str
    outcome: str
