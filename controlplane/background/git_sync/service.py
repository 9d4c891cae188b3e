"""What people ask of sources: how they stand, look again, accept a rewritten history."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from controlplane.background.git_sync.fold import SourceFold, read_source_fold, record
from controlplane.background.git_sync.signing import Signature
from controlplane.background.git_sync.status import HELD_BY_LEADER, SourceStatus, SourceStatuses
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.spec_source import binding_of
from controlplane.cluster.views.source import API
from events import facts
from events.store import EventStore


class SourceNotFound(LookupError):
    """No binding has that name. What now: correct the name, or add the binding to the settings."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no git source {name!r}")
        self.name = name


@dataclass(frozen=True, slots=True)
class SourceService:
    """Any server may answer; only the leader polls. `ring` asks it for a look, False where this server cannot.

    `reaches_leader`: `polled` are the leader's own and `ring` comes to it, though this process leads nothing.
    """

    polled: SourceStatuses
    store: EventStore
    ring: Callable[[str], bool]
    reaches_leader: bool = False

    def statuses(self, *, leads: bool = True) -> list[SourceStatus]:
        """Every source. A server that does not lead knows of them what was recorded, and no more."""
        knows = leads or self.reaches_leader
        return [status if knows else self._recorded(status) for status in self.polled.all()]

    def status(self, name: str) -> SourceStatus:
        """Raises SourceNotFound."""
        found = self.polled.of(name)
        if found is None:
            raise SourceNotFound(name)
        return found

    def refuse_unknown(self, source: str) -> None:
        """Raises SourceNotFound unless it is `api` or the source of a binding."""
        if source != API and self.polled.of_source(source) is None:
            raise SourceNotFound(binding_of(source) or source)

    def accept(self, name: str, commit: str, *, reason: str, actor: str) -> str:
        """A person says that a commit is meant which does not descend from the one applied. Returns what comes of it.

        Raises SourceNotFound, CommandRefused, StreamConflict.
        """
        self.status(name)
        fold = read_source_fold(self.store, SourceFold(name))
        if fold.accepted == commit:
            return f"{commit[:7]} is accepted already"
        if not fold.rewritten or fold.rewritten != commit:
            asked = f"it asks about {fold.rewritten}" if fold.rewritten else "it asks about none"
            then = f"kedge sources accept {name} --commit {fold.rewritten}" if fold.rewritten else "kedge sources"
            raise CommandRefused("not-asked", f"git:{name} asks nobody about the commit {commit}: {asked}", then)
        record(self.store, fold, facts.SourceAccepted(commit, reason or "accepted"), actor=actor)
        self.ring(name)
        return f"{commit[:7]} of git:{name} comes into force at the next poll"

    def _recorded(self, status: SourceStatus) -> SourceStatus:
        applied = read_source_fold(self.store, SourceFold(status.binding.name)).applied
        recorded = SourceStatus(status.binding, reason=HELD_BY_LEADER, message="another server leads and polls")
        if applied is None:
            return recorded
        signature = Signature(applied.signed_by)
        return replace(
            recorded, applied=applied.commit, author=applied.author, signature=signature, clusters=applied.clusters
        )
