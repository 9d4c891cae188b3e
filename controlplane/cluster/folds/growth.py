"""The fold of disks that grow, and of what they are found to do: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, close_intent, frozen, open_intent
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.vms import VolumeLimitView
from events import facts


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
    return open_intent(view, e.intent, "grow", (e.key,), at, tuple(sorted(e.sizes)))


def _completed(view: ClusterView, e: facts.GrowthCompleted, at: datetime) -> ClusterView:
    return close_intent(view, e.intent)


def _limit_found(view: ClusterView, e: facts.VolumeLimitFound, at: datetime) -> ClusterView:
    limits = {key: limit for key, limit in view.vms.volume_limits.items() if key != e.volume}
    if e.bytes_per_s:
        limits[e.volume] = VolumeLimitView(e.bytes_per_s, at)
    return replace(view, vms=replace(view.vms, volume_limits=frozen(limits)))


RULES: Rules = {
    facts.GrowthRequested: _requested,
    facts.GrowthCompleted: _completed,
    facts.VolumeLimitFound: _limit_found,
}
