"""The fold of quotas that specs declare: part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.client_quotas import ClientQuotasView, QuotaChangeView
from events import facts


def _requested(view: ClusterView, e: facts.QuotasChangeRequested, at: datetime) -> ClusterView:
    known = view.settings.client_quotas
    if known.change is not None:
        raise ValueError(f"the change {known.change.id} of quotas is still in hand")
    change = QuotaChangeView(e.change, MappingProxyType({one.entity: one.values for one in e.quotas}), at)
    return _with(view, replace(known, change=change, changes=known.changes + 1))


def _changed(view: ClusterView, e: facts.QuotasChanged, at: datetime) -> ClusterView:
    known = view.settings.client_quotas
    if e.change and (known.change is None or known.change.id != e.change):
        raise ValueError(f"the change {e.change} of quotas is not the one in hand")
    owned = MappingProxyType({one.entity: _set(one.values) for one in e.quotas})
    change = None if e.change else known.change
    return _with(view, replace(known, owned=owned, change=change, refused=e.refused))


def forgiven(view: ClusterView) -> ClusterView:
    """What was refused is to be tried again at once: another spec, or a person, says so."""
    known = view.settings.client_quotas
    return _with(view, replace(known, refused="")) if known.refused else view


def _set(values: Mapping[str, int | None]) -> Mapping[str, int]:
    return {key: value for key, value in values.items() if value is not None}


def _with(view: ClusterView, quotas: ClientQuotasView) -> ClusterView:
    return replace(view, settings=replace(view.settings, client_quotas=quotas))


RULES: Rules = {
    facts.QuotasChangeRequested: _requested,
    facts.QuotasChanged: _changed,
}
