"""The fold of rebalances: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds import windows as windowfold
from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views import rebalances
from controlplane.cluster.views.plans import PlanView, ProgressView
from events import facts
from planner.rebalancing.choice import BalanceChoice


def newcomer(view: ClusterView, key: str) -> ClusterView:
    """A broker joined that replaces nobody, in a cluster that was whole without it: it may be due a share."""
    instance = view.instances[key]
    if not view.roll.converged or not instance.is_broker or instance.planned.replaces or key in view.moves.newcomers:
        return view
    return replace(view, moves=replace(view.moves, newcomers=(*view.moves.newcomers, key)))


def forgiven(view: ClusterView) -> ClusterView:
    """A person lets it go on: failed plans are tried again at once."""
    found = view.moves.rebalance
    return view if found is None else _with(view, replace(found, planning=found.planning.forgiven(), round=1))


def given_up(view: ClusterView, reason: str) -> ClusterView:
    """An abort ends a rebalance, too."""
    found = view.moves.rebalance
    return view if found is None else _with(view, replace(found, cancelled=found.cancelled or reason))


def _requested(view: ClusterView, e: facts.RebalanceRequested, at: datetime) -> ClusterView:
    if view.moves.rebalance is not None:
        raise ValueError(f"the rebalance {view.moves.rebalance.id} is not over")
    asked = rebalances.RebalanceView(
        e.rebalance,
        e.cause,
        e.reason,
        at,
        rebalances.RebalanceTerms(
            e.new_brokers,
            e.threshold_percent,
            e.per_day_bytes,
            e.throttle_mib_per_s,
            BalanceChoice(e.goals, e.exclude_topics, e.exclude_brokers),
        ),
    )
    return replace(view, moves=replace(view.moves, rebalance=asked, rebalances=view.moves.rebalances + 1))


def _planned(view: ClusterView, e: facts.RebalancePlanned, at: datetime) -> ClusterView:
    found = _in_hand(view, e.rebalance)
    planned = replace(
        found,
        plan=PlanView(e.plan_sha256, e.engine, e.moves, e.bytes, e.batches),
        progress=found.progress.at_start(),
        begun_bytes=0,
        gains=rebalances.RebalanceGains(
            e.imbalance_before, e.imbalance_after, frozen(dict(e.goals)), frozen(dict(e.uneven))
        ),
        planning=found.planning.forgiven(),
    )
    return _with(view, planned)


def _plan_failed(view: ClusterView, e: facts.RebalancePlanFailed, at: datetime) -> ClusterView:
    found = _in_hand(view, e.rebalance)
    return _with(view, replace(found, planning=found.planning.failed_again(e.reason, at)))


def _batch(view: ClusterView, e: facts.RebalanceBatchStarted, at: datetime) -> ClusterView:
    found = _in_hand(view, e.rebalance)
    begun = replace(found, progress=found.progress.begun(e.batch, at), begun_bytes=found.begun_bytes + e.bytes)
    spent = rebalances.with_spent(view.moves.rebalance_spent, at, e.bytes)
    return replace(view, moves=replace(view.moves, rebalance=begun, rebalance_spent=spent))


def _postponed(view: ClusterView, e: facts.RebalancePutOff, at: datetime) -> ClusterView:
    found = _in_hand(view, e.rebalance)
    again = replace(
        found,
        round=found.round + 1,
        planning=replace(found.planning, tries=found.planning.tries + 1),
        plan=PlanView(engine=found.plan.engine),
        progress=ProgressView(
            done_moves=found.progress.done_moves + e.done_moves, done_bytes=found.progress.done_bytes + e.done_bytes
        ),
        begun_bytes=0,
    )
    return _with(view, again)


def _cancelled(view: ClusterView, e: facts.RebalanceCancelRequested, at: datetime) -> ClusterView:
    return _with(view, replace(_in_hand(view, e.rebalance), cancelled=e.reason or "cancelled"))


def _completed(view: ClusterView, e: facts.RebalanceCompleted, at: datetime) -> ClusterView:
    _in_hand(view, e.rebalance)
    left = None if e.left is None else frozen(dict(e.left))
    return _ended(view, rebalances.LastRebalance(at, e.imbalance, left))


def _abandoned(view: ClusterView, e: facts.RebalanceAbandoned, at: datetime) -> ClusterView:
    """What it left is not known: as much as it began with, so that nothing is tried again at once."""
    found = _in_hand(view, e.rebalance)
    return _ended(view, rebalances.LastRebalance(at, found.gains.imbalance_before, found.gains.uneven_before()))


def _ended(view: ClusterView, last: rebalances.LastRebalance) -> ClusterView:
    after = view if view.roll.recycling else windowfold.over(view)
    return replace(after, moves=replace(after.moves, rebalance=None, last_rebalance=last))


def _with(view: ClusterView, rebalance: rebalances.RebalanceView) -> ClusterView:
    return replace(view, moves=replace(view.moves, rebalance=rebalance))


def _in_hand(view: ClusterView, rebalance: str) -> rebalances.RebalanceView:
    if view.moves.rebalance is None or view.moves.rebalance.id != rebalance:
        raise ValueError(f"rebalance {rebalance} is not the one in hand")
    return view.moves.rebalance


RULES: Rules = {
    facts.RebalanceRequested: _requested,
    facts.RebalancePlanned: _planned,
    facts.RebalancePlanFailed: _plan_failed,
    facts.RebalanceBatchStarted: _batch,
    facts.RebalancePutOff: _postponed,
    facts.RebalanceCancelRequested: _cancelled,
    facts.RebalanceCompleted: _completed,
    facts.RebalanceAbandoned: _abandoned,
}
