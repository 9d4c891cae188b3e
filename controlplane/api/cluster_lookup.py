"""The cluster that a route or a page is about, by its name."""

from controlplane.api.services import PortalServices
from controlplane.cluster.commands import ClusterNotFound
from controlplane.cluster.view import ClusterView


def living(services: PortalServices, name: str) -> ClusterView:
    """The living cluster of that name. Raises ClusterNotFound."""
    found = next((v for v in services.fleet.clusters.views() if v.name == name and not v.deleted), None)
    if found is None:
        raise ClusterNotFound(name)
    return found


def known(services: PortalServices, name: str) -> ClusterView:
    """The living cluster of that name, else the last that had it. Raises ClusterNotFound."""
    named = [v for v in services.fleet.clusters.views() if v.name == name]
    if not named:
        raise ClusterNotFound(name)
    return max(
        named,
        key=lambda v: (not v.deleted, v.declaration.declared_at is not None and v.declaration.declared_at.timestamp()),
    )
