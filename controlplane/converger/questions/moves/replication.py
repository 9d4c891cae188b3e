"""Whether a batch of replicas may begin."""

from controlplane.cluster.bandwidth import CLIENTS_KEEP, usable_bytes_per_s
from controlplane.cluster.external_brokers import expected_brokers
from controlplane.cluster.offline_brokers import given_up
from controlplane.cluster.tls_limits import tls_limits
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.placement_work import ground_of
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from events.quantities import MIB
from planner.observed import KafkaSnapshot


def others_are_whole(view: ClusterView, kafka: KafkaSnapshot) -> bool:
    """Whether all serve and are in sync but for brokers that nobody has, or a person gave up, which only new replicas
    mend, those with failed log directories that are given up, and whom a drain empties. Asked before a batch begins,
    and of a batch that has not begun yet."""
    ground = ground_of(view, kafka)
    unplaced = {r for p in kafka.under_replicated() for r in p.replicas} - ground.racks.keys()
    failed = {b for brokers in ground.offline.values() for b in brokers}
    leaving = view.moves.drain.outgoing if view.moves.drain is not None else ()
    expected = set(expected_brokers(view)) - given_up(view, kafka)
    return cluster_is_whole(kafka, expected, excepted=frozenset((*unplaced, *failed, *leaving))).open


def copy_rate_bytes_per_s(view: ClusterView) -> int:
    """What the slowest machine may give to copies beside its clients, under the spec's own throttle."""
    spec = view.document.spec if view.document else None
    cap = spec.rollout.throttle_mib_per_s if spec else None
    clouds = {p.name: p.place.cloud for p in spec.pools} if spec else {}
    shapes = {(clouds.get(i.planned.pool, ""), i.planned.shape) for i in view.brokers()}
    slowest = min(usable_bytes_per_s(cloud, shape, cap, view.declaration.machines) for cloud, shape in shapes)
    slowest = min(slowest, int(min(tls_limits(view).into.values(), default=slowest)))
    rate = int(slowest * (1 - CLIENTS_KEEP))
    return min(rate, cap * MIB) if cap else rate
