"""The nodes a cluster's spec asks for, with what their machines decide where the spec says nothing.

Clusters whose VMs are made from here on are sized by their machines (`planner.rollout.machine_sizes`), but on `local`,
whose machines are promises nobody enforces. A cluster that has VMs of before keeps what it runs with, for its next VMs
too: no release rolls or restarts a fleet by its defaults.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from controlplane.cluster.node_names import security_to_have
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.runtime.once import once
from events.spec.model import KafkaClusterDocument, Pool
from planner.rollout.desired import DesiredNode, desired_nodes
from planner.rollout.machine_sizes import Machine, ServiceSize, service_size
from providers.catalogs import catalog
from providers.errors import PlaceUnknown
from providers.given_machines import GivenMachine, given_by, newest

UNSIZED_CLOUD = "local"


@once
def wanted_nodes(view: ClusterView) -> tuple[DesiredNode, ...]:
    """All nodes of the spec in force, as `planner.rollout.desired.desired_nodes`; () without a spec."""
    spec = view.working_spec()
    if spec is None:
        return ()
    nodes = sized_nodes(spec, view.declaration.machines) if is_sized_by_machine(view) else desired_nodes(spec)
    return tuple(_with_security(view, spec, node) for node in nodes)


def _with_security(view: ClusterView, spec: KafkaClusterDocument, node: DesiredNode) -> DesiredNode:
    """As far as it may be taken on now: all of it but where nodes have to be called otherwise first."""
    now = security_to_have(view, spec, node.service)
    if now == node.listeners.security:
        return node
    return replace(node, listeners=replace(node.listeners, security=now))


def sized_nodes(spec: KafkaClusterDocument, given: Iterable[GivenMachine] = ()) -> tuple[DesiredNode, ...]:
    """All nodes of a spec, sized by their machines. `given`: figures of types that earlier specs gave."""
    known = newest((*given, *given_by(spec)))
    sizes = {pool.name: size for pool in spec.spec.pools if (size := pool_size(pool, known)) is not None}
    return tuple(node.sized(sizes[node.pool]) if node.pool in sizes else node for node in desired_nodes(spec))


@once
def is_sized_by_machine(view: ClusterView) -> bool:
    """Whether new VMs are sized by their machines: those of a cluster that has none of before, off `local`."""
    made = [i for i in view.instances.values() if place_of(view, i).cloud != UNSIZED_CLOUD]
    return not made or any(i.start.size is not None for i in made)


def pool_size(pool: Pool, given: Iterable[GivenMachine]) -> ServiceSize | None:
    """What the nodes of a pool are started with; None on `local`, and where nobody has figures of its machines.

    A node may be made as any machine of the pool: the smallest of them counts.
    """
    if pool.place.cloud == UNSIZED_CLOUD:
        return None
    known = list(_machines(pool, given))
    if not known:
        return None
    return service_size(
        "broker" if pool.is_broker else pool.services[0],
        Machine(min(m.vcpus for m in known), min(m.memory_mib for m in known)),
        disks=pool.disk.count,
        heap_mib=pool.heap_mib or 0,
        member_heap_mib=pool.zookeeper_heap_mib or 0,
        with_member=pool.has_members,
    )


def _machines(pool: Pool, given: Iterable[GivenMachine]) -> Iterator[Machine]:
    """Those of the pool that somebody has figures of: the catalogue, else a spec."""
    try:
        shapes = catalog(pool.place.cloud, given).shapes
    except PlaceUnknown:
        return
    for name in (pool.machine, *pool.alternatives):
        shape = shapes.get(name)
        if shape is not None and shape.vcpus and shape.memory_mib:
            yield Machine(shape.vcpus, shape.memory_mib)
