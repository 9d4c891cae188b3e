"""The fold of offsets that people put elsewhere: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.offset_resets import ResetView
from events import facts

MOST = 200
"""Groups whose last reset is kept; the log has all."""


def _requested(view: ClusterView, e: facts.OffsetsResetRequested, at: datetime) -> ClusterView:
    known = {g: r for g, r in view.requests.resets.items() if g != e.group}
    known[e.group] = ResetView(e.reset, e.group, at, e.reason, len(e.offsets))
    return replace(view, requests=replace(view.requests, resets=frozen(dict(list(known.items())[-MOST:]))))


def _answered(view: ClusterView, e: facts.OffsetsReset, at: datetime) -> ClusterView:
    known = view.requests.resets.get(e.group)
    if known is None or known.id != e.reset:
        return view
    return replace(
        view,
        requests=replace(
            view.requests,
            resets=frozen({**view.requests.resets, e.group: replace(known, over=True, refused=dict(e.refused))}),
        ),
    )


RULES: Rules = {
    facts.OffsetsResetRequested: _requested,
    facts.OffsetsReset: _answered,
}
