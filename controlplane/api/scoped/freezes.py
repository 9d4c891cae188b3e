"""Freezes as one caller may see, declare and end them: who may steer all of what a freeze names may."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.api.access.bindings import Traits, traits_of
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.cluster.commands import ClusterNotFound
from controlplane.cluster.view import ClusterView
from controlplane.fleet.freezes.commands import FreezeAnswer, Freezes, FreezeStatus, WantedFreeze, not_found
from controlplane.fleet.freezes.fold import DeclaredFreeze
from planner.rollout.windows import Freeze

EVERYTHING = "the whole fleet"


@dataclass(frozen=True, slots=True)
class ScopedFreezes:
    """See Freezes. `views` are the clusters the caller may read, `without_others` takes names of others out.

    A team and a label are judged as such: what is frozen includes clusters that are still to come.
    """

    service: Freezes
    rights: Rights
    views: Callable[[], Sequence[ClusterView]]
    without_others: Callable[[str], str]

    def status(self) -> FreezeStatus:
        """See Freezes. Those that hold nothing the caller may read are left out."""
        every = self.service.status()
        if self.rights.may_everywhere(Verb.READ):
            return every
        return FreezeStatus(
            tuple(self._redacted(f) for f in every.of_settings if self._shows(f)),
            tuple(self._declared(d) for d in every.declared if self._shows(d.freeze)),
        )

    def declare(self, wanted: WantedFreeze, *, actor: str, command_id: str) -> FreezeAnswer:
        """See Freezes. Raises Forbidden."""
        known = {v.name: v for v in self._living()}
        for name in wanted.clusters:
            if name not in known:
                raise ClusterNotFound(name)
        self._judge(wanted.everything, wanted.clusters, wanted.teams, dict(wanted.labels))
        return self.service.declare(wanted, actor=actor, command_id=command_id)

    def thaw(self, name: str, *, reason: str, actor: str, command_id: str) -> FreezeAnswer:
        """See Freezes. Raises Forbidden."""
        found = next((d for d in self.service.status().declared if d.id == name), None)
        if found is None or not (self.rights.may_everywhere(Verb.READ) or self._shows(found.freeze)):
            raise not_found(name)
        fact = found.fact
        self._judge(found.freeze.names_everything, fact.clusters, fact.teams, fact.labels)
        return self.service.thaw(name, reason=reason, actor=actor, command_id=command_id)

    def _judge(
        self, everything: bool, clusters: Sequence[str], teams: Sequence[str], labels: Mapping[str, str]
    ) -> None:
        if everything:
            self.rights.require_everywhere(Verb.STEER, EVERYTHING)
        known = {v.name: v for v in self._living()}
        for name in clusters:
            # A name nobody has any more, or that the caller may not read, is whoever's it will be.
            traits = traits_of(known[name].document) if name in known else Traits(name=name)
            self.rights.require(Verb.STEER, traits, self.without_others(name))
        for team in teams:
            self.rights.require(Verb.STEER, Traits(team), f"clusters of the team {team}")
        if labels:
            said = ", ".join(f"{k}={v}" for k, v in sorted(labels.items()))
            self.rights.require(Verb.STEER, Traits(labels=labels), f"clusters with {said}")

    def _living(self) -> list[ClusterView]:
        return [v for v in self.views() if v.document is not None and not v.deleted]

    def _shows(self, freeze: Freeze) -> bool:
        if freeze.names_everything:
            return True
        traits = [Traits(team) for team in freeze.owners]
        traits += [Traits(labels=freeze.labels)] if freeze.labels else []
        return any(self.rights.may(Verb.READ, t) for t in traits) or any(_holds(freeze, v) for v in self._living())

    def _redacted(self, freeze: Freeze) -> Freeze:
        named = frozenset(self.without_others(name) for name in freeze.clusters)
        return replace(freeze, clusters=named, reason=self.without_others(freeze.reason))

    def _declared(self, declared: DeclaredFreeze) -> DeclaredFreeze:
        fact = declared.fact
        named = tuple(self.without_others(name) for name in fact.clusters)
        told = replace(fact, clusters=named, reason=self.without_others(fact.reason))
        thaw = declared.thaw and replace(declared.thaw, reason=self.without_others(declared.thaw.reason))
        return replace(declared, fact=told, thaw=thaw)


def _holds(freeze: Freeze, view: ClusterView) -> bool:
    if view.document is None:
        return False
    metadata = view.document.metadata
    return freeze.names(metadata.name, metadata.owner, metadata.labels)
