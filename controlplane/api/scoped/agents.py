"""Upgrades of agents as one caller may see and steer them: they are the installation's, clusters are whose they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.background.agent_upgrades.service import AgentReleaseStatus, Agents, Offered

_WHAT = "agents"


@dataclass(frozen=True, slots=True)
class ScopedAgents:
    """See Agents. `readable` are the names of clusters the caller may read, `without_others` takes other names out."""

    service: Agents
    rights: Rights
    readable: Callable[[], frozenset[str]]
    without_others: Callable[[str], str]

    def status(self) -> AgentReleaseStatus:
        every = self.service.status()
        if self.rights.may_everywhere(Verb.READ):
            return every
        shown = self.readable()
        clusters = tuple(c for c in every.clusters if c.name in shown)
        return replace(every, clusters=clusters, waits=self.without_others(every.waits))

    def publish(self, version: str, builds: Sequence[Offered], *, notes: str, actor: str, command_id: str) -> str:
        """See Agents. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, _WHAT)
        return self.service.publish(version, builds, notes=notes, actor=actor, command_id=command_id)

    def withdraw(self, version: str, *, reason: str, actor: str, command_id: str) -> str:
        """See Agents. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, _WHAT)
        return self.service.withdraw(version, reason=reason, actor=actor, command_id=command_id)

    def resume(self, *, reason: str, actor: str, command_id: str) -> str:
        """See Agents. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, _WHAT)
        return self.service.resume(reason=reason, actor=actor, command_id=command_id)
