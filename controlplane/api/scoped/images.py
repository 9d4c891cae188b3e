"""The image catalogue as one caller may see and change it: it is the installation's, clusters are whose they are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.fleet.images.adoption import ClusterAt, RevisionStatus
from controlplane.fleet.images.commands import Images, Published
from events import facts


@dataclass(frozen=True, slots=True)
class ScopedImages:
    """See Images. `readable` are the names of clusters the caller may read, `without_others` takes other names out."""

    service: Images
    rights: Rights
    readable: Callable[[], frozenset[str]]
    without_others: Callable[[str], str]

    def statuses(self) -> tuple[RevisionStatus, ...]:
        every = self.service.statuses()
        if self.rights.may_everywhere(Verb.READ):
            return every
        shown = self.readable()
        return tuple(
            replace(s, on=self._of(shown, s.on), due=self._of(shown, s.due), left=self._of(shown, s.left))
            for s in every
        )

    def publish(self, wanted: facts.ImagePublished, *, actor: str, command_id: str) -> Published:
        """See Images. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, "images")
        return self.service.publish(wanted, actor=actor, command_id=command_id)

    def withdraw(self, name: str, *, reason: str, actor: str, command_id: str) -> str:
        """See Images. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, "images")
        return self.service.withdraw(name, reason=reason, actor=actor, command_id=command_id)

    def _of(self, shown: frozenset[str], clusters: Iterable[ClusterAt]) -> tuple[ClusterAt, ...]:
        return tuple(replace(c, why=self.without_others(c.why)) for c in clusters if c.name in shown)
