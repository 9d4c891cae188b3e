"""What DNS should say of one cluster, and of one pair. Pure: from the folded view to addresses by name.

A name is in one of three states: addresses it must have, none (its node or cluster is gone), or not in the answer:
then nobody serves under it at the moment, and whatever it says stays until its replacement serves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.cluster.endpoints import listed_brokers
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.fleet.failovers.view import PairView

Names = Mapping[str, frozenset[str]]
"""Name -> its addresses; empty: the name is to go."""


def wanted_names(view: ClusterView) -> Names:
    """The bootstrap name of a cluster and `<node>.<bootstrap name>` for each of its nodes; nothing without a name."""
    bootstrap = bootstrap_name(view)
    if bootstrap is None:
        return MappingProxyType({})
    nodes = {i.node for i in view.instances.values()}
    if view.deleted:
        return MappingProxyType(dict.fromkeys([bootstrap, *(f"{n}.{bootstrap}" for n in sorted(nodes))], frozenset()))
    found: dict[str, frozenset[str]] = {}
    if serving := _for_clients(view):
        found[bootstrap] = serving
    for node in sorted(nodes):
        here = _of_node(view, node)
        if here is not None:
            found[f"{node}.{bootstrap}"] = here
    return MappingProxyType(found)


def bootstrap_name(view: ClusterView) -> str | None:
    """The DNS name a spec gives its cluster, lower case, None without one."""
    if view.document is None or view.document.spec.bootstrap.dns is None:
        return None
    return str(view.document.spec.bootstrap.dns).lower().rstrip(".")


@dataclass(frozen=True, slots=True)
class PairWanted:
    """What the name of a pair is to say; no addresses: it is to go."""

    name: str
    addresses: frozenset[str]
    ttl_s: int


def wanted_of_pair(view: PairView, clusters: Mapping[str, ClusterView]) -> PairWanted | None:
    """The name of a pair at the brokers of the cluster it leads to; None: whatever it says stays. `clusters` by uid.

    A withdrawal changes nothing for clients: the name goes on leading where it led. It would be worse frozen than
    gone, since addresses of retired brokers may be another cluster's one day. It goes with that cluster.
    """
    name, declared = pair_name(view), view.declaration
    cluster = clusters.get(view.names_lead_to)
    if name is None or declared is None or cluster is None:
        return None
    ttl_s = declared.document.spec.bootstrap.ttl
    if cluster.deleted:
        return PairWanted(name, frozenset(), ttl_s) if view.is_withdrawn else None
    serving = _for_clients(cluster)
    return PairWanted(name, serving, ttl_s) if serving else None


def pair_name(view: PairView) -> str | None:
    """The DNS name of a pair, lower case; None of one without a document and of one that stands still. One that was
    withdrawn lets its name go all the same, to whoever is declared with it."""
    stands_still = view.unreadable or (view.missed and not view.is_withdrawn)
    if stands_still or not view.name or view.declaration is None:
        return None
    return str(view.declaration.document.spec.bootstrap.dns).lower().rstrip(".")


def _for_clients(view: ClusterView) -> frozenset[str]:
    return frozenset(view.address_of(i) for i in listed_brokers(view))


def _of_node(view: ClusterView, node: str) -> frozenset[str] | None:
    alive = view.of_node(node)
    if not alive:
        return frozenset()
    serving = [i for i in alive if _serves(i)]
    # The newest: while an old broker is emptied its successor is already the node.
    return frozenset({view.address_of(serving[-1])}) if serving else None


def _serves(instance: InstanceView) -> bool:
    return instance.phase is Phase.JOINED and bool(instance.address) and not instance.lost
