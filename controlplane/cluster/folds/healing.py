"""The fold of cures: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from events import facts
from planner.healing import Cure, PastCure

REMEMBERED = 50
"""Cures of a cluster that are remembered: far more than count for the next one."""


def requested(view: ClusterView, e: facts.HealingRequested, at: datetime) -> ClusterView:
    """Adds a cure to the past of its node."""
    if e.key not in view.instances:
        raise ValueError(f"instance {e.key} is not known")
    cures = (*view.vms.cures, PastCure(e.node, e.finding, Cure(e.cure), at, e.service))
    return replace(view, vms=replace(view.vms, cures=cures[-REMEMBERED:]))


RULES: Rules = {
    facts.HealingRequested: requested,
}
