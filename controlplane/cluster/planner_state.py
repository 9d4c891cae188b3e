"""A cluster of ours as a state file: the metadata last read, with what the machine catalogue says of its VMs."""

from datetime import datetime
from typing import Any

from controlplane.cluster.bandwidth import CLIENTS_KEEP, nic_bytes_per_s
from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.hardware import hardware_sources, volume_sources
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic, read_by_partition
from controlplane.cluster.tls_limits import tls_limits
from controlplane.cluster.view import ClusterView
from events.quantities import GIB, MIB
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource, resolve
from planner.drain.model.observed import ObservationPolicy, brokers_of, dead_brokers, measured_disks, observed_document
from planner.observed import KafkaSnapshot


def cluster_document(
    view: ClusterView, snapshot: KafkaSnapshot, *, traffic: Traffic = UNKNOWN, now: datetime | None = None
) -> dict[str, Any]:
    """The state file; figures of brokers that nobody knows, and write rates that `traffic` lacks, are left out of it.

    Brokers of the drain in hand are outgoing, with their successors as destinations. Raises RacksMissing.
    """
    drain = view.moves.drain
    outgoing = drain.outgoing if drain else ()
    successors = drain.successors if drain else {}
    capacity = resolve(
        brokers_of(snapshot) - dead_brokers(snapshot),
        [measured_disks(snapshot), catalogue_capacity(view), *hardware_sources(view), *volume_sources(view)],
    )
    live = snapshot.live_brokers()
    policy = ObservationPolicy(
        racks={i.service_id: i.planned.rack for i in view.brokers()},
        outgoing=outgoing,
        destinations={old: (new,) for old, new in successors.items() if new in live},
        write_bytes_per_s=traffic.write_bytes_per_s,
        write_rates_from=traffic.words(now or snapshot.at),
        read_bytes_per_s=read_by_partition(traffic, snapshot),
        sets=broker_sets(view),
    )
    return observed_document(snapshot, capacity, policy)


def catalogue_capacity(view: ClusterView) -> FigureSource:
    """The disk a pool asks for and what moves may use of the NIC of its machines, or of what its brokers copy by TLS:
    what the clients leave, under the spec's own throttle, which is a wish about moves and changes no capacity
    (`hardware_sources`).

    What the catalogue does not know of a machine stays unknown, but for the spec's own throttle.
    """
    document = view.grown(view.document)
    spec = document.spec if document else None
    pools = {pool.name: pool for pool in spec.pools} if spec else {}
    cap = spec.rollout.throttle_mib_per_s if spec else None
    tls, found = tls_limits(view), dict[int, Capacity]()
    for instance in view.brokers():
        pool = pools.get(instance.planned.pool)
        nic = nic_bytes_per_s(pool.place.cloud, instance.planned.shape, view.declaration.machines) if pool else None
        broker = instance.service_id
        found[broker] = Capacity(
            disk_bytes=pool.disk.total_gib * GIB if pool else None,
            ingress_bytes_per_s=_rate(nic, tls.into.get(broker), cap) if pool else None,
            egress_bytes_per_s=_rate(nic, tls.out.get(broker), cap) if pool else None,
        )
    words = "; ".join((_words(cap), *tls.told))
    return FigureSource(origin=FigureOrigin.CATALOGUE, by_broker=found, by_broker_words=words)


def _rate(nic: int | None, encrypted: float | None, cap_mib_per_s: int | None) -> float | None:
    """What brokers encrypt says nothing of a network that nobody knows."""
    cap = cap_mib_per_s * MIB if cap_mib_per_s else None
    if nic is None:
        return cap
    rate = min(nic, encrypted if encrypted is not None else nic) * (1 - CLIENTS_KEEP)
    return min(rate, cap) if cap else rate


def _words(cap_mib_per_s: int | None) -> str:
    words = f"as the machine catalogue and the spec say, {CLIENTS_KEEP:.0%} of the NIC left to clients"
    return f"{words}, at most rollout.throttleMibPerS = {cap_mib_per_s} MiB/s" if cap_mib_per_s else words
