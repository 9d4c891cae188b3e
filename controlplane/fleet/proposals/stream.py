"""The stream of proposals: recorded with the version read, so that of two who decide at once one is told so."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from controlplane.cluster.commands import CommandRefused
from controlplane.fleet.proposals.fold import ProposalState, ProposalsView, ProposalView, evolve
from controlplane.fleet.stream_command import recorded_once
from controlplane.storage.streams import PROPOSALS
from events import proposal_facts as facts
from events.clock import Clock
from events.envelope import Origin
from events.ids import derived_id
from events.store import EventStore

LIFE: Final = timedelta(days=7)
"""Nobody agrees to what was asked for so long ago: the fleet is another one by then."""


DECIDED: Final = "proposal-decided"


class ProposalNotFound(LookupError):
    """No proposal has that id, or it is not the caller's to see. What now: correct the id."""

    def __init__(self, number: str) -> None:
        super().__init__(f"there is no proposal {number!r}")
        self.number = number


class ProposalFold:
    """All proposals as they are recorded. Safe to call from many threads and from several servers."""

    def __init__(self, store: EventStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._lock = threading.Lock()
        self._view = ProposalsView()

    def view(self) -> ProposalsView:
        """Everything recorded up to now. Raises StoreUnavailable."""
        with self._lock:
            for recorded in self._store.read_stream(PROPOSALS, self._view.version):
                self._view = evolve(self._view, recorded)
            return self._view

    def get(self, number: str) -> ProposalView:
        """Raises ProposalNotFound."""
        found = self.view().by_id.get(number)
        if found is None:
            raise ProposalNotFound(number)
        return found

    def propose(self, made: Callable[[str, datetime], facts.ProposalMade], *, actor: str, key: str) -> ProposalView:
        """Records one, given its id and when it ends. The same change that is still open is not asked for twice.

        `key` makes a retry safe.
        """
        number = derived_id("proposal", actor, key)[:12]

        def decide(view: ProposalsView) -> object | None:
            wanted = made(number, self._clock() + LIFE)
            same = next((p for p in view.by_id.values() if self._is_same(p, wanted)), None)
            if same is not None or number in view.by_id:
                return None
            return wanted

        self._record(decide, actor, derived_id("propose", number))
        view = self.view()
        if number in view.by_id:
            return view.by_id[number]
        wanted = made(number, self._clock() + LIFE)
        return next(p for p in view.by_id.values() if self._is_same(p, wanted))

    def decide(self, number: str, fact: object, *, actor: str) -> ProposalView:
        """Records what becomes of one. Raises CommandRefused where it is decided already, ProposalNotFound."""

        def decided(view: ProposalsView) -> object:
            known = view.by_id.get(number)
            if known is None:
                raise ProposalNotFound(number)
            _refuse_illegal(known, fact)
            return fact

        self._record(decided, actor, derived_id("proposal", number, type(fact).__name__, actor))
        return self.get(number)

    def _is_same(self, known: ProposalView, wanted: facts.ProposalMade) -> bool:
        of = ("change", "clusters", "topic", "text", "digest", "author", "source")
        is_open = known.state in (ProposalState.OPEN, ProposalState.APPROVED) and not known.is_expired(self._clock())
        return is_open and all(getattr(known.made, name) == getattr(wanted, name) for name in of)

    def _record(self, decide: Callable[[ProposalsView], object | None], actor: str, event_id: str) -> None:
        recorded_once(
            self._store,
            PROPOSALS,
            look=self._look,
            decide=lambda view: (decide(view), None),
            event_id=event_id,
            origin=Origin(actor=actor),
            known=lambda _: None,
        )

    def _look(self) -> ProposalsView:
        view = self.view()
        if view.unreadable:
            raise CommandRefused("history-unreadable", f"the proposals are unreadable: {view.unreadable}")
        return view


_LEGAL = {
    facts.ProposalApproved: {ProposalState.OPEN},
    facts.ProposalRejected: {ProposalState.OPEN},
    facts.ProposalVoided: {ProposalState.OPEN, ProposalState.APPROVED},
    facts.ProposalExecuted: {ProposalState.APPROVED},
}


def _refuse_illegal(known: ProposalView, fact: object) -> None:
    if known.state not in _LEGAL[type(fact)]:
        message = f"proposal {known.id} is {known.state} already"
        raise CommandRefused(DECIDED, message, f"kedge proposal show {known.id}")
