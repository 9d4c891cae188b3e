"""Changes of git that a policy reserves: proposed once, and let through at the poll after somebody agreed.

The poll judges everything else anew: what the binding may do, what is in force, the policies. An approval counts for
the very change it was given for, while whoever gave it still may.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from controlplane.fleet.proposals.fold import ProposalState, ProposalView
from controlplane.fleet.proposals.stream import ProposalFold
from events import proposal_facts as facts
from events.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class GitChange:
    """A file of a source as it would come into force. `digest` pins that and what is in force now."""

    source: str
    path: str
    commit: str
    author: str
    clusters: tuple[str, ...]
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class GitProposals:
    """`may_approve`: whether who agreed to a proposal still may."""

    fold: ProposalFold
    may_approve: Callable[[ProposalView], bool]
    clock: Clock

    def approval(self, change: GitChange) -> str:
        """The id of the proposal by which this very change may pass, "" without one."""
        for known in self._of(change):
            is_meant = known.state is ProposalState.APPROVED and known.made.digest == change.digest
            if not is_meant or known.is_expired(self.clock()):
                continue
            if self.may_approve(known):
                return known.id
            self._void(known, "who agreed to it may not any more")
        return ""

    def propose(self, change: GitChange, reasons: Sequence[str]) -> ProposalView:
        """Records it, once; what an earlier commit asked for is void then. A rejected one is not asked for again."""
        earlier = self._of(change)
        for known in earlier:
            is_open = known.state in (ProposalState.OPEN, ProposalState.APPROVED)
            if is_open and known.made.digest != change.digest:
                self._void(known, "the file is another one by now, or what is in force")
        for known in earlier:
            is_decided = known.state is ProposalState.REJECTED and known.made.commit == change.commit
            is_waiting = known.state is ProposalState.OPEN and not known.is_expired(self.clock())
            if known.made.digest == change.digest and (is_decided or is_waiting):
                return known

        def made(number: str, expires_at: datetime) -> facts.ProposalMade:
            return facts.ProposalMade(
                id=number,
                change="apply",
                clusters=change.clusters,
                topic="",
                text=change.text,
                file=change.path,
                message="",
                digest=change.digest,
                reasons=tuple(reasons),
                author=change.source,
                claimed=change.author,
                source=change.source,
                via=change.source,
                commit=change.commit,
                expires_at=expires_at,
            )

        key = f"{change.path} {change.commit} {change.digest} {len(earlier)}"
        return self.fold.propose(made, actor=change.source, key=key)

    def done(self, number: str, source: str) -> None:
        """It is in force."""
        self.fold.decide(number, facts.ProposalExecuted(number, "in force by a poll of its source"), actor=source)

    def _void(self, known: ProposalView, why: str) -> None:
        self.fold.decide(known.id, facts.ProposalVoided(known.id, why), actor=known.made.source)

    def _of(self, change: GitChange) -> list[ProposalView]:
        every = self.fold.view().by_id.values()
        return [p for p in every if (p.made.source, p.made.file) == (change.source, change.path)]
