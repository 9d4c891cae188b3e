"""The fold of a roll: drains, fences, handovers, retirements, levels. Part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds import (
    controller_moves as controller_move_fold,
    ensemble as ensemblefold,
    images as imagefold,
    nodes as nodefold,
    settings as settingfold,
    spec_order as specorderfold,
    volumes as volumefold,
    windows as windowfold,
)
from controlplane.cluster.folds.steps import (
    Rules,
    change,
    close_intent,
    current_drain,
    frozen,
    move,
    open_intent,
    with_drain,
)
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.plans import PlanView, ProgressView
from events import facts


def _recycle(view: ClusterView, e: facts.RecycleStarted, at: datetime) -> ClusterView:
    return replace(view, roll=replace(view.roll, recycling=e.generation))


def _recycled(view: ClusterView, e: facts.RecycleCompleted, at: datetime) -> ClusterView:
    view = imagefold.reached(windowfold.over(view), at)
    order = specorderfold.reached(view, at)
    return replace(
        view,
        roll=replace(view.roll, recycling=0, converged=e.generation),
        moves=replace(view.moves, newcomers=()),
        declaration=replace(view.declaration, spec_order=order),
    )


def _drain(view: ClusterView, e: facts.DrainRequested, at: datetime) -> ClusterView:
    for key in e.keys:
        view = move(view, key, Phase.DRAINING, at)
    successors = frozen({int(old): new for old, new in e.successors.items()})
    drain = DrainView(
        e.drain,
        e.keys,
        e.outgoing,
        successors,
        e.targets,
        e.round,
        at,
        progress=ProgressView(done_moves=e.done_moves, done_bytes=e.done_bytes),
        stays=e.stays,
    )
    view = nodefold.emptying(view, e.keys)
    return replace(view, moves=replace(view.moves, drain=drain, drains=view.moves.drains + 1))


def _planned(view: ClusterView, e: facts.DrainPlanned, at: datetime) -> ClusterView:
    drain = current_drain(view, e.drain)
    plan = PlanView(e.plan_sha256, e.engine, e.moves, e.bytes, e.batches)
    return with_drain(view, replace(drain, plan=plan, planning=replace(drain.planning, failed="")))


def _plan_failed(view: ClusterView, e: facts.DrainPlanFailed, at: datetime) -> ClusterView:
    drain = current_drain(view, e.drain)
    failed = replace(
        drain,
        planning=drain.planning.failed_again(e.reason, at),
        plan=replace(drain.plan, sha256=""),
        progress=drain.progress.at_start(),
    )
    return with_drain(view, failed)


def _abandoned(view: ClusterView, e: facts.DrainAbandoned, at: datetime) -> ClusterView:
    for key in current_drain(view, e.drain).keys:
        view = move(view, key, Phase.JOINED, at)
    return with_drain(view, None)


def _batch(view: ClusterView, e: facts.BatchStarted, at: datetime) -> ClusterView:
    drain = current_drain(view, e.drain)
    return with_drain(view, replace(drain, progress=drain.progress.begun(e.batch, at)))


def _drained(view: ClusterView, e: facts.NodeDrained, at: datetime) -> ClusterView:
    current_drain(view, e.drain)
    for key in e.keys:
        view = move(view, key, Phase.LINGERING, at)
    share = len(e.keys)
    for index, key in enumerate(e.keys):
        # Several brokers leave in one drain: the first carries what does not divide.
        extra = e.bytes % share if index == 0 else 0
        was = view.instances[key].departure
        size, moves = was.drained_bytes + e.bytes // share + extra, was.drained_moves + e.moves // share
        view = change(view, key, departure=replace(was, drained=True, drained_bytes=size, drained_moves=moves))
    return with_drain(view, None)


def _fence(view: ClusterView, e: facts.FenceRequested, at: datetime) -> ClusterView:
    """What is to stop for good is not restarted any more."""
    for key in e.keys:
        view = settingfold.stopped(move(view, key, Phase.FENCING, at), key)
    return view


def _fenced(view: ClusterView, e: facts.NodeFenced, at: datetime) -> ClusterView:
    # One that its bind made has the disk of its node: others served from that.
    instance = view.instances[e.key]
    unheard = e.proof == "silence" and not instance.planned.handover
    started = volumefold.was_started(view, e)
    departure = replace(instance.departure, fenced_at=at, unheard=unheard, started=started)
    return controller_move_fold.begun(move(view, e.key, Phase.FENCED, at, departure=departure), at)


def _reverted(view: ClusterView, e: facts.FenceReverted, at: datetime) -> ClusterView:
    instance = view.instances[e.key]
    return move(
        view,
        e.key,
        Phase.JOINED,
        at,
        start=replace(instance.start, count=instance.start.count + 1),
        member=replace(instance.member, starts=instance.member.starts + 1),
        departure=replace(instance.departure, fenced_at=None, drained=False, started=None),
    )


def _unregistered(view: ClusterView, e: facts.BrokerUnregistered, at: datetime) -> ClusterView:
    return change(view, e.key, departure=replace(view.instances[e.key].departure, unregistered=True))


def _release(view: ClusterView, e: facts.ReleaseRequested, at: datetime) -> ClusterView:
    return open_intent(view, e.intent, "release", (e.key,), at, with_vm=e.with_vm)


def _released(view: ClusterView, e: facts.ReleaseCompleted, at: datetime) -> ClusterView:
    intent = view.intents[e.intent]
    key = intent.keys[0]
    departure = replace(view.instances[key].departure, deleted=intent.with_vm)
    return move(close_intent(view, e.intent), key, Phase.RELEASED, at, bound=False, departure=departure)


def _bind(view: ClusterView, e: facts.BindRequested, at: datetime) -> ClusterView:
    return open_intent(view, e.intent, "bind", (e.key,), at)


def _bound(view: ClusterView, e: facts.BindCompleted, at: datetime) -> ClusterView:
    key = view.intents[e.intent].keys[0]
    view = close_intent(view, e.intent)
    for made in e.instances:
        view = move(view, made.key, Phase.LAUNCHED, at, cloud_id=made.cloud_id, address=made.address, launched_at=at)
    return change(view, key, bound=True, since=at)


def _retire(view: ClusterView, e: facts.RetireRequested, at: datetime) -> ClusterView:
    view = open_intent(view, e.intent, "retire", e.keys, at, e.volumes)
    for key in e.keys:
        view = move(view, key, Phase.RETIRING, at)
    return view


def _retired(view: ClusterView, e: facts.RetireCompleted, at: datetime) -> ClusterView:
    keys = view.intents[e.intent].keys
    view = nodefold.gone(close_intent(view, e.intent), keys)
    for key in keys:
        view = move(view, key, Phase.RETIRED, at)
    view = replace(_without_addresses_of(view, keys), roll=replace(view.roll, replaced_at=at))
    return ensemblefold.never_served(view)


def _without_addresses_of(view: ClusterView, keys: Collection[str]) -> ClusterView:
    """Before the founding a node's address goes with its VM, and the next one has another: no quorum names it yet."""
    if view.quorum.founding is not None:
        return view
    gone = {view.instances[key].node for key in keys} - view.nodes().keys()
    left = frozen({n: a for n, a in view.vms.node_addresses.items() if n not in gone})
    return replace(view, vms=replace(view.vms, node_addresses=left))


def _replaced(view: ClusterView, e: facts.ReplacementCompleted, at: datetime) -> ClusterView:
    return replace(view, roll=replace(view.roll, replaced_at=at))


def _finalising(view: ClusterView, e: facts.FinalisationRequested, at: datetime) -> ClusterView:
    return replace(view, roll=replace(view.roll, finalising=(e.feature, e.level)))


def _finalised(view: ClusterView, e: facts.FeatureFinalised, at: datetime) -> ClusterView:
    finalised = frozen({**view.roll.finalised, e.feature: e.level})
    return replace(view, roll=replace(view.roll, finalising=None, finalised=finalised))


def _quorum_stop(view: ClusterView, e: facts.QuorumStopRequested, at: datetime) -> ClusterView:
    return replace(view, requests=replace(view.requests, quorum_stop_at=at))


def _destroy(view: ClusterView, e: facts.DestroyRequested, at: datetime) -> ClusterView:
    keys = e.vms or tuple(i.key for i in view.alive())
    # Nobody serves from here on, and where no controller was heard of, nothing had told them.
    view = replace(view, requests=replace(view.requests, quorum_stop_at=view.requests.quorum_stop_at or at))
    return open_intent(view, e.intent, "destroy", keys, at)


def _destroyed(view: ClusterView, e: facts.DestroyCompleted, at: datetime) -> ClusterView:
    keys = view.intents[e.intent].keys
    view = close_intent(view, e.intent)
    for key in keys:
        # Wherever it stood in its life: a tombstone ends it there.
        view = change(view, key, phase=Phase.RETIRED, since=at)
    return view


def _deleted(view: ClusterView, e: facts.ClusterDeleted, at: datetime) -> ClusterView:
    return replace(view, requests=replace(view.requests, deleted=True), intents=frozen({}))


RULES: Rules = {
    facts.RecycleStarted: _recycle,
    facts.RecycleCompleted: _recycled,
    facts.DrainRequested: _drain,
    facts.DrainPlanned: _planned,
    facts.DrainPlanFailed: _plan_failed,
    facts.DrainAbandoned: _abandoned,
    facts.BatchStarted: _batch,
    facts.NodeDrained: _drained,
    facts.FenceRequested: _fence,
    facts.NodeFenced: _fenced,
    facts.FenceReverted: _reverted,
    facts.BrokerUnregistered: _unregistered,
    facts.ReleaseRequested: _release,
    facts.ReleaseCompleted: _released,
    facts.BindRequested: _bind,
    facts.BindCompleted: _bound,
    facts.RetireRequested: _retire,
    facts.RetireCompleted: _retired,
    facts.ReplacementCompleted: _replaced,
    facts.FinalisationRequested: _finalising,
    facts.FeatureFinalised: _finalised,
    facts.QuorumStopRequested: _quorum_stop,
    facts.DestroyRequested: _destroy,
    facts.DestroyCompleted: _destroyed,
    facts.ClusterDeleted: _deleted,
}
