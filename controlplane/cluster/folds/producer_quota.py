"""The fold of the quota of producers that is lowered: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.producer_quota import ProducerQuotaView
from events import facts


def _lowered(view: ClusterView, e: facts.ProducerQuotaLowered, at: datetime) -> ClusterView:
    if view.settings.producer_quota is not None:
        raise ValueError("a quota of producers is lowered already: what was there before it would be forgotten")
    return _with(view, ProducerQuotaView(e.bytes_per_s, e.before, e.reason, at))


def _ending(view: ClusterView, e: facts.ProducerQuotaRestoreRequested, at: datetime) -> ClusterView:
    return _with(view, replace(_in_force(view), ending=e.reason))


def _restored(view: ClusterView, e: facts.ProducerQuotaRestored, at: datetime) -> ClusterView:
    _in_force(view)
    return _with(view, None)


def _in_force(view: ClusterView) -> ProducerQuotaView:
    if view.settings.producer_quota is None:
        raise ValueError("no quota of producers is lowered")
    return view.settings.producer_quota


def _with(view: ClusterView, quota: ProducerQuotaView | None) -> ClusterView:
    return replace(view, settings=replace(view.settings, producer_quota=quota))


RULES: Rules = {
    facts.ProducerQuotaLowered: _lowered,
    facts.ProducerQuotaRestoreRequested: _ending,
    facts.ProducerQuotaRestored: _restored,
}
