"""Whether a cluster has work: the question that decides how closely and how often it is looked at."""

from controlplane.cluster.client_quotas import quotas_wait
from controlplane.cluster.external_brokers import external_brokers
from controlplane.cluster.folds.images import awaits_image
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.runtime.once import once


@once
def has_work(view: ClusterView) -> bool:
    """Whether anything is in hand or to be done: such a cluster is looked at closely and often."""
    return is_worked_on(view) or (bool(view.requests.chaos) and not view.deleted and view.document is not None)


@once
def is_worked_on(view: ClusterView) -> bool:
    """The same, but for faults on purpose: while one lasts, what ails is as unhealthy as if nobody had asked."""
    if view.deleted or view.document is None:
        return False
    if (
        view.roll.converged != view.generation
        or view.roll.recycling
        or view.intents
        or view.moves.drain
        or view.requests.tombstone
    ):
        return True
    if view.settings.change is not None or view.settings.restarts or view.moves.rebalance is not None:
        return True
    if view.topics.has_work or view.users.has_work or quotas_wait(view) or view.requests.disk_moves:
        return True
    if (
        view.requests.rolling_restart is not None
        or view.requests.to_replace
        or view.is_evacuating()
        or view.moves.stuck.cancelling
    ):
        return True
    if view.vms.authority_change is not None and not view.vms.authority_change.is_reached:
        return True
    if view.quorum.change is not None or view.quorum.migration is not None or awaits_image(view):
        return True
    if any(b.stopped_at is not None for b in external_brokers(view).values()):
        return True
    if any(d.ended or d.done_at is None for d in view.requests.demotions.values()):
        return True
    return any(i.phase is not Phase.JOINED or i.lost or view.is_broken(i) for i in view.alive())
