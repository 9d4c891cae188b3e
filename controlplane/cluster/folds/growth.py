"""The fold of disks that grow: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, close_intent, frozen, open_intent
from controlplane.cluster.view import ClusterView
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
    view = replace(view, vms=replace(view.vms, volume_sizes=frozen({**view.vms.volume_sizes, **e.sizes})))
    return open_intent(view, e.intent, "grow", (e.key,), at, tuple(sorted(e.sizes)))


def _completed(view: ClusterView, e: facts.GrowthCompleted, at: datetime) -> ClusterView:
    return close_intent(view, e.intent)


RULES: Rules = {facts.GrowthRequested: _requested, facts.GrowthCompleted: _completed}
