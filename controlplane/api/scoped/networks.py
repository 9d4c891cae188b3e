"""Networks as one caller may see and change them: they are the installation's, their clusters are whose they are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.cluster.observed.cloud_drift import AuditNoted
from controlplane.cluster.view import ClusterView
from controlplane.fleet.networks.commands import Networks, NetworkStatus
from controlplane.fleet.networks.decide import AddressPool
from providers.base import Place


@dataclass(frozen=True, slots=True)
class ScopedNetworks:
    """See Networks. `readable` are the names of clusters the caller may read."""

    service: Networks
    rights: Rights
    readable: Callable[[], frozenset[str]]

    def pool(self) -> AddressPool:
        return self.service.pool()

    def planned(self, view: ClusterView) -> tuple[str, ...]:
        return self.service.planned(view)

    def statuses(self) -> tuple[NetworkStatus, ...]:
        """See Networks. What failed is told to administrators: it names things of the account."""
        if self.rights.may_everywhere(Verb.ADMINISTER):
            return self.service.statuses()
        shown = self.readable()
        mine = (replace(s, clusters=tuple(c for c in s.clusters if c in shown)) for s in self.service.statuses())
        return tuple(replace(s, sentence=str(s.network.state), error="", audit=None) for s in mine if s.clusters)

    def audits_for(self, view: ClusterView) -> Mapping[Place, AuditNoted | None]:
        """See Networks. Who may read a cluster may know what was changed of the network it is in."""
        return self.service.audits_for(view)

    def remove(
        self, name: str, *, confirm: str, account: str, region: str, reason: str, actor: str, command_id: str
    ) -> str:
        """See Networks. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, "networks")
        return self.service.remove(
            name, confirm=confirm, account=account, region=region, reason=reason, actor=actor, command_id=command_id
        )

    def repair(self, name: str, *, account: str, region: str, reason: str, actor: str, command_id: str) -> str:
        """See Networks. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, "networks")
        return self.service.repair(
            name, account=account, region=region, reason=reason, actor=actor, command_id=command_id
        )
