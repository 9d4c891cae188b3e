"""What the machines of a cluster are made of, as its spec says or their cloud publishes: the network of each broker,
whatever clients use of it and whatever moves are allowed to. What neither says is unknown.
"""

from collections.abc import Iterable

from controlplane.cluster.bandwidth import nic_bytes_per_s
from controlplane.cluster.view import ClusterView
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource
from providers.given_machines import GivenMachine

_WORDS = {
    FigureOrigin.SPEC: "as the spec says of the machine (machineFigures)",
    FigureOrigin.CATALOGUE: "as the catalogue says of the machine",
}


def hardware_sources(view: ClusterView) -> tuple[FigureSource, FigureSource]:
    """(what the spec says, what the catalogue says), by broker. A figure of the spec counts where the catalogue has no
    such machine (`providers.given_machines`), so no figure is in both.
    """
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    found: dict[FigureOrigin, dict[int, Capacity]] = {FigureOrigin.SPEC: {}, FigureOrigin.CATALOGUE: {}}
    for instance in view.brokers():
        cloud, machine = clouds.get(instance.planned.pool, ""), instance.planned.shape
        for origin, given in ((FigureOrigin.CATALOGUE, ()), (FigureOrigin.SPEC, view.declaration.machines)):
            nic = _nic(cloud, machine, given)
            if nic is not None:
                found[origin][instance.service_id] = Capacity(nic_in_bytes_per_s=nic, nic_out_bytes_per_s=nic)
                break
    return _source(FigureOrigin.SPEC, found), _source(FigureOrigin.CATALOGUE, found)


def _source(origin: FigureOrigin, found: dict[FigureOrigin, dict[int, Capacity]]) -> FigureSource:
    return FigureSource(origin=origin, by_broker=found[origin], by_broker_words=_WORDS[origin])


def _nic(cloud: str, machine: str, given: Iterable[GivenMachine]) -> float | None:
    known = nic_bytes_per_s(cloud, machine, given)
    return None if known is None else float(known)
