"""The fold of permissions to begin outside a window: part of `controlplane.cluster.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.folds.edits import Rules
from controlplane.view import ClusterView
from events import facts


def _waived(view: ClusterView, e: facts.WindowWaived, at: datetime) -> ClusterView:
    return replace(view, waived=(e.generation, e.reason))


def over(view: ClusterView) -> ClusterView:
    """What the permission was given for has ended."""
    return view if view.waived is None else replace(view, waived=None)


RULES: Rules = {
    facts.WindowWaived: _waived,
}
