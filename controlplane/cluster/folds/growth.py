"""The fold of disks that grow, and of what they are found to do: part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, close_intent, frozen, open_intent
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.vms import VolumeLimitView
from events import facts
from events.spec.model import KafkaClusterDocument


def size_of(view: ClusterView, volume: facts.PlannedVolume) -> int:
    """GiB a volume has, or is being given."""
    return view.vms.volume_sizes.get(volume.key, volume.size_gib)


def _requested(view: ClusterView, e: facts.GrowthRequested, at: datetime) -> ClusterView:
    there = {v.key for v in view.instances[e.key].planned.volumes}
    unknown = sorted(e.sizes.keys() - there)
    if unknown:
        raise ValueError(f"{e.key} has no volume {unknown[0]}")
    # From here on it is rendered and told with its new size: a run that was killed may have grown it already.
    limits = {key: limit for key, limit in view.vms.volume_limits.items() if key not in e.sizes}
    sizes = {**view.vms.volume_sizes, **e.sizes}
    view = replace(view, vms=replace(view.vms, volume_sizes=frozen(sizes), volume_limits=frozen(limits)))
    view = _grown_at(view, e.sizes, at)
    return open_intent(view, e.intent, "grow", (e.key,), at, tuple(sorted(e.sizes)))


def _completed(view: ClusterView, e: facts.GrowthCompleted, at: datetime) -> ClusterView:
    opened = view.intents.get(e.intent)
    view = _grown_at(view, opened.volumes if opened is not None else (), at)
    return close_intent(view, e.intent)


def _limit_found(view: ClusterView, e: facts.VolumeLimitFound, at: datetime) -> ClusterView:
    limits = {key: limit for key, limit in view.vms.volume_limits.items() if key != e.volume}
    if e.bytes_per_s:
        limits[e.volume] = VolumeLimitView(e.bytes_per_s, at)
    return replace(view, vms=replace(view.vms, volume_limits=frozen(limits)))


def _grown_at(view: ClusterView, volumes: Iterable[str], at: datetime) -> ClusterView:
    grown = {**view.vms.volumes_grown_at, **dict.fromkeys(volumes, at)}
    return replace(view, vms=replace(view.vms, volumes_grown_at=frozen(grown)))


def _decided(view: ClusterView, e: facts.GrowthDecided, at: datetime) -> ClusterView:
    return replace(view, vms=replace(view.vms, grown_pools=frozen({**view.vms.grown_pools, e.pool: e.size_gib})))


def declared(view: ClusterView, document: KafkaClusterDocument) -> ClusterView:
    """The view once this is the spec: what disks of a pool grew to is forgotten with the pool, or with their kind. A
    pool that gets the same name later begins with what its spec says."""
    kept = {pool.name for pool in document.spec.pools if pool.disk.kind == "persistent"}
    if view.vms.grown_pools.keys() <= kept:
        return view
    grown = {name: gib for name, gib in view.vms.grown_pools.items() if name in kept}
    return replace(view, vms=replace(view.vms, grown_pools=frozen(grown)))


RULES: Rules = {
    facts.GrowthRequested: _requested,
    facts.GrowthCompleted: _completed,
    facts.VolumeLimitFound: _limit_found,
    facts.GrowthDecided: _decided,
}
