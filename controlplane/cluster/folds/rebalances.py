"""The fold of rebalances: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds import windows as windowfold
from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views import rebalances
from controlplane.cluster.views.plans import PlanView, ProgressView
from events import facts


def newcomer(view: ClusterView, key: str) -> ClusterView:
    """A broker joined that replaces nobody, in a cluster that was whole without it: it may be due a share."""
    instance = view.instances[key]
    if not view.converged or not instance.is_broker or instance.planned.replaces or key in view.newcomers:
        return view
    return replace(view, newcomers=(*view.newcomers, key))


def forgiven(view: ClusterView) -> ClusterView:
    """A person lets it go on: failed plans are tried again at once."""
    if view.rebalance is None:
        return view
    return replace(view, rebalance=replace(view.rebalance, planning=view.rebalance.planning.forgiven(), round=1))


def given_up(view: ClusterView, reason: str) -> ClusterView:
    """An abort ends a rebalance, too."""
    if view.rebalance is None:
        return view
    return replace(view, rebalance=replace(view.rebalance, cancelled=view.rebalance.cancelled or reason))


def _requested(view: ClusterView, e: facts.RebalanceRequested, at: datetime) -> ClusterView:
    if view.rebalance is not None:
        raise ValueError(f"the rebalance {view.rebalance.id} is not over")
    asked = rebalances.RebalanceView(
        e.rebalance,
        e.cause,
        e.reason,
        at,
        rebalances.RebalanceTerms(e.new_brokers, e.threshold_percent, e.per_day_bytes, e.throttle_mib_per_s),
    )
    return replace(view, rebalance=asked, rebalances=view.rebalances + 1)


def _planned(view: ClusterView, e: facts.RebalancePlanned, at: datetime) -> ClusterView:
    found = _in_hand(view, e.rebalance)
    planned = replace(
        found,
        plan=PlanView(e.plan_sha256, e.engine, e.moves, e.bytes, e.batches),
        progress=found.progress.at_start(),
        begun_bytes=0,
        gains=rebalances.RebalanceGains(e.imbalance_before, e.imbalance_after, frozen(dict(e.goals))),
        planning=found.planning.forgiven(),
    )
    return replace(view, rebalance=planned)


def _plan_failed(view: ClusterView, e: facts.RebalancePlanFailed, at: datetime) -> ClusterView:
    found = _in_hand(view, e.rebalance)
    return replace(view, rebalance=replace(found, planning=found.planning.failed_again(e.reason, at)))


def _batch(view: ClusterView, e: facts.RebalanceBatchStarted, at: datetime) -> ClusterView:
    found = _in_hand(view, e.rebalance)
    begun = replace(found, progress=found.progress.begun(e.batch, at), begun_bytes=found.begun_bytes + e.bytes)
    return replace(view, rebalance=begun, rebalance_spent=rebalances.with_spent(view.rebalance_spent, at, e.bytes))


def _put_off(view: ClusterView, e: facts.RebalancePutOff, at: datetime) -> ClusterView:
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
    return replace(view, rebalance=again)


def _cancelled(view: ClusterView, e: facts.RebalanceCancelRequested, at: datetime) -> ClusterView:
    return replace(view, rebalance=replace(_in_hand(view, e.rebalance), cancelled=e.reason or "cancelled"))


def _completed(view: ClusterView, e: facts.RebalanceCompleted, at: datetime) -> ClusterView:
    _in_hand(view, e.rebalance)
    after = view if view.recycling else windowfold.over(view)
    return replace(after, rebalance=None, last_rebalance=rebalances.LastRebalance(at, e.imbalance))


def _abandoned(view: ClusterView, e: facts.RebalanceAbandoned, at: datetime) -> ClusterView:
    """What it left is not known: as much as it began with, so that nothing is tried again at once."""
    found = _in_hand(view, e.rebalance)
    after = view if view.recycling else windowfold.over(view)
    return replace(after, rebalance=None, last_rebalance=rebalances.LastRebalance(at, found.gains.imbalance_before))


def _in_hand(view: ClusterView, rebalance: str) -> rebalances.RebalanceView:
    if view.rebalance is None or view.rebalance.id != rebalance:
        raise ValueError(f"rebalance {rebalance} is not the one in hand")
    return view.rebalance


RULES: Rules = {
    facts.RebalanceRequested: _requested,
    facts.RebalancePlanned: _planned,
    facts.RebalancePlanFailed: _plan_failed,
    facts.RebalanceBatchStarted: _batch,
    facts.RebalancePutOff: _put_off,
    facts.RebalanceCancelRequested: _cancelled,
    facts.RebalanceCompleted: _completed,
    facts.RebalanceAbandoned: _abandoned,
}
