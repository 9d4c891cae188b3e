"""The fold of permissions to begin outside a window: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from events import facts


def _waived(view: ClusterView, e: facts.WindowWaived, at: datetime) -> ClusterView:
    return replace(view, requests=replace(view.requests, waived=(e.generation, e.reason)))


def over(view: ClusterView) -> ClusterView:
    """What the permission was given for has ended."""
    return view if view.requests.waived is None else replace(view, requests=replace(view.requests, waived=None))


RULES: Rules = {
    facts.WindowWaived: _waived,
}
