"""From the state of a folded cluster to what the API says."""

from datetime import datetime

from controlplane.api.schemas import conditions as condition_api
from controlplane.cluster.holds import hold_on
from controlplane.cluster.latency_brake import brake_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.conditions.changes import BLOCKED
from controlplane.converger.conditions.ticks import TICK_FAILING


def status_word(view: ClusterView, now: datetime) -> str:
    """One word: the first that holds. A pause whose time has run out holds nothing."""
    if view.history.unreadable:
        return "Unreadable"
    if view.requests.held:
        return "Held"
    if view.requests.tombstone:
        return "Deleting"
    if hold_on(view, now) is not None:
        return "Paused"
    conditions = (view.conditions.get(kind) for kind in (BLOCKED, TICK_FAILING))
    if any(condition is not None and condition.status for condition in conditions):
        return "Blocked"
    return "Working" if has_work(view) else "Converged"


def conditions_out(view: ClusterView) -> list[condition_api.ConditionOut]:
    """All of them, by type."""
    return [
        condition_api.ConditionOut(type=t, status=c.status, reason=c.reason, message=c.message, since=c.since)
        for t, c in sorted(view.conditions.items())
    ]


def drain_out(view: ClusterView) -> condition_api.DrainOut | None:
    """The drain in hand, None when there is none."""
    drain = view.moves.drain
    if drain is None:
        return None
    return condition_api.DrainOut.like(
        drain.plan, keys=list(drain.keys), outgoing=list(drain.outgoing), round=drain.round, batch=drain.progress.batch
    )


def brake_out(view: ClusterView) -> condition_api.BrakeOut | None:
    """How far the moves in hand are slowed, None where they never were."""
    brake = brake_of(view)
    if brake.changed_at is None:
        return None
    return condition_api.BrakeOut(
        share=brake.share,
        bytes_per_s=int(brake.planned_bytes_per_s * brake.share),
        planned_bytes_per_s=brake.planned_bytes_per_s,
        reason=brake.reason,
        figure=brake.figure,
        broker=brake.broker,
        since=brake.changed_at,
        is_soft=brake.is_soft,
    )


def rebalance_out(view: ClusterView) -> condition_api.RebalanceOut | None:
    """The rebalance in hand, None when there is none."""
    rebalance = view.moves.rebalance
    if rebalance is None:
        return None
    return condition_api.RebalanceOut.like(
        rebalance,
        onto=list(rebalance.chosen),
        engine=rebalance.plan.engine,
        moves=rebalance.plan.moves,
        bytes=rebalance.plan.bytes,
        bytes_left=max(0, rebalance.plan.bytes - rebalance.begun_bytes),
        batch=rebalance.progress.batch,
        batches=rebalance.plan.batches,
        imbalance_before=rebalance.gains.imbalance_before,
        imbalance_after=rebalance.gains.imbalance_after,
        done_moves=rebalance.progress.done_moves,
        done_bytes=rebalance.progress.done_bytes,
        per_day_bytes=rebalance.terms.per_day_bytes,
        failed=rebalance.planning.failed,
    )
