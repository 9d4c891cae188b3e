"""Notices of proposals: a change waits for somebody to approve it, and what became of it."""

from collections.abc import Callable, Iterator

from controlplane.background.notifications.notice import Notice
from controlplane.cluster.condition_severity import Severity
from controlplane.fleet.proposals.fold import ProposalState, ProposalView
from events import envelope
from planner.anomalies.kinds import State

KIND = "proposal"

_OUTCOME = {
    ProposalState.APPROVED: "approved by",
    ProposalState.REJECTED: "rejected by",
}


def proposal_notices(
    proposal: ProposalView, recorded: envelope.Recorded, owner_of: Callable[[str], str]
) -> Iterator[Notice]:
    """One for the event that made it, one for the event that decided it; none for what came of a yes."""
    made = proposal.made
    if proposal.state is ProposalState.EXECUTED or (proposal.state is ProposalState.VOID and proposal.decided_by):
        return
    waits = proposal.state is ProposalState.OPEN
    cluster = made.clusters[0] if made.clusters else "(none)"
    others = f" and {len(made.clusters) - 1} more clusters" if len(made.clusters) > 1 else ""
    what = f"{made.change} {made.topic or cluster}{others}"
    asks = f"{made.author} asks to {what}{f': {made.message}' if made.message else ''}"
    yield Notice(
        id=recorded.event_id,
        cluster=cluster,
        anomaly=f"proposal-{proposal.id}",
        kind=KIND,
        subject=proposal.id,
        state=State.WAITING if waits else State.OVER,
        reason=asks,
        words=_words(proposal) if waits else _outcome_text(proposal),
        found_at=proposal.at,
        at=recorded.recorded_at,
        severity=Severity.WARNING,
        owner=owner_of(cluster),
    )


def _words(proposal: ProposalView) -> str:
    why = "; ".join(proposal.made.reasons)
    until = f"{proposal.made.expires_at:%Y-%m-%d %H:%M} UTC"
    return f"it needs a second person ({why}) until {until}. Next: kedge proposal show {proposal.id}"


def _outcome_text(proposal: ProposalView) -> str:
    who = _OUTCOME.get(proposal.state)
    note = f": {proposal.note}" if proposal.note else ""
    return f"{who} {proposal.decided_by}{note}" if who else proposal.outcome
