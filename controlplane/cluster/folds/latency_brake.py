"""The fold of the latency brake: part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.latency_brake import LatencyBrakeView
from events import facts
from planner.latency_brake import BrokerLoad

_FIGURES = {f.name for f in fields(BrokerLoad)} - {"at"}


def _armed(view: ClusterView, e: facts.BrakeArmed, at: datetime) -> ClusterView:
    before = {int(broker): _load(figures, e.at) for broker, figures in e.before.items()}
    brake = view.moves.brake if view.moves.brake.batch == e.batch else LatencyBrakeView(e.batch)
    if e.share < 1:
        brake = replace(brake, share=e.share, changed_at=at, reason=e.reason, is_soft=True)
    return replace(view, moves=replace(view.moves, brake=replace(brake, before=frozen(before))))


def _changed(view: ClusterView, e: facts.BrakeChanged, at: datetime) -> ClusterView:
    before = view.moves.brake if view.moves.brake.batch == e.batch else LatencyBrakeView(e.batch)
    brake = replace(
        before,
        share=e.share,
        changed_at=at,
        figure=e.figure,
        broker=e.broker,
        reason=e.reason,
        planned_bytes_per_s=e.planned_bytes_per_s,
        is_soft=before.is_soft and not e.figure,
    )
    return replace(view, moves=replace(view.moves, brake=brake))


def _load(figures: Mapping[str, float], at: datetime) -> BrokerLoad:
    """A figure that a newer release recorded is passed over."""
    known = {name: value for name, value in figures.items() if name in _FIGURES}
    counts = {name: int(known.pop(name, 0)) for name in ("lagging", "endangered")}
    return BrokerLoad(at=at, lagging=counts["lagging"], endangered=counts["endangered"], **known)


RULES: Rules = {facts.BrakeArmed: _armed, facts.BrakeChanged: _changed}
