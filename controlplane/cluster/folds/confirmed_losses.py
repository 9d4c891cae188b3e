"""The fold of VMs that are said to be gone: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.confirmed_losses import LossesView
from events import facts


def _doubted(view: ClusterView, e: facts.LossesDoubted, at: datetime) -> ClusterView:
    known = view.vms.losses
    if not e.keys:
        # What was confirmed and is not recorded as lost was shown again: another day it has to be said anew.
        gone = frozenset(k for k in known.confirmed if k in view.instances and view.instances[k].lost)
        return _with(view, LossesView(confirmed=gone))
    since = known.doubted_at if known.doubted else None
    return _with(view, replace(known, doubted=e.keys, racks=e.racks, doubted_at=since or at))


def _confirmed(view: ClusterView, e: facts.LossesConfirmed, at: datetime) -> ClusterView:
    known = view.vms.losses
    left = tuple(k for k in known.doubted if k not in e.keys)
    return _with(view, replace(known, doubted=left, confirmed=known.confirmed.union(e.keys)))


def _with(view: ClusterView, losses: LossesView) -> ClusterView:
    return replace(view, vms=replace(view.vms, losses=losses))


RULES: Rules = {
    facts.LossesDoubted: _doubted,
    facts.LossesConfirmed: _confirmed,
}
