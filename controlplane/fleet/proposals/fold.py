"""The fold of the stream `proposals`. Pure and total, as that of networks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from events import codec, envelope, errors, proposal_facts as facts


class ProposalState(StrEnum):
    """Where a proposal stands. Only `OPEN` and `APPROVED` still can become anything."""

    OPEN = "open"
    APPROVED = "approved"
    EXECUTED = "executed"
    REJECTED = "rejected"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class ProposalView:
    """One proposal. `decided_by` approved or rejected it; `told` says what came of it, or why nothing did."""

    made: facts.ProposalMade
    at: datetime
    state: ProposalState = ProposalState.OPEN
    decided_by: str = ""
    decided_at: datetime | None = None
    note: str = ""
    outcome: str = ""

    @property
    def id(self) -> str:
        return self.made.id

    def is_expired(self, now: datetime) -> bool:
        """Whether its time was up before anything came of it."""
        return self.state in (ProposalState.OPEN, ProposalState.APPROVED) and now >= self.made.expires_at


@dataclass(frozen=True, slots=True)
class ProposalsView:
    """All there ever were, by id. `unreadable` says why nothing more is done, "" when all was read."""

    version: int = 0
    by_id: Mapping[str, ProposalView] = field(default_factory=lambda: MappingProxyType({}))
    unreadable: str = ""


def evolve(view: ProposalsView, recorded: envelope.Recorded) -> ProposalsView:
    """The view after one event. Total: what cannot be placed sets `unreadable`, and nothing is approved any more."""
    if view.unreadable:
        return replace(view, version=recorded.version)
    try:
        changed = _changed(view, codec.decode(recorded), recorded.recorded_at)
    except (errors.EventsError, LookupError, TypeError) as error:
        reason = f"event {recorded.position} ({recorded.type}): {type(error).__name__}: {error}"
        return replace(view, version=recorded.version, unreadable=reason)
    by_id = MappingProxyType({**view.by_id, changed.id: changed})
    return replace(view, version=recorded.version, by_id=by_id)


def _changed(view: ProposalsView, event: object, at: datetime) -> ProposalView:
    match event:
        case facts.ProposalMade():
            return ProposalView(event, at)
        case facts.ProposalApproved(number, by, note):
            known = view.by_id[number]
            return replace(known, state=ProposalState.APPROVED, decided_by=by, decided_at=at, note=note)
        case facts.ProposalRejected(number, by, note):
            known = view.by_id[number]
            return replace(known, state=ProposalState.REJECTED, decided_by=by, decided_at=at, note=note)
        case facts.ProposalVoided(number, why):
            return replace(view.by_id[number], state=ProposalState.VOID, outcome=why)
        case facts.ProposalExecuted(number, outcome):
            return replace(view.by_id[number], state=ProposalState.EXECUTED, outcome=outcome)
    raise TypeError(f"{type(event).__name__} is not a fact of proposals")
