"""The fold of the quorum's voters: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.bootstrap_controllers import own_member, successors_to_tell
from controlplane.cluster.folds import security as securityfold, settings as settingfold
from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.quorum import VoterChangeView
from events import facts


def _add(view: ClusterView, e: facts.VoterAddRequested, at: datetime) -> ClusterView:
    voter = facts.FoundingVoter(e.node, e.id, e.address, e.port, e.directory_id)
    return _begin(view, VoterChangeView(e.change, True, voter, False, e.reason, at))


def _added(view: ClusterView, e: facts.VoterAdded, at: datetime) -> ClusterView:
    voter = facts.FoundingVoter(e.node, e.id, e.address, e.port, e.directory_id)
    view = _end(view, e.change)
    return replace(view, quorum=replace(view.quorum, voters=frozen({**view.quorum.voters, e.id: voter})))


def _remove(view: ClusterView, e: facts.VoterRemoveRequested, at: datetime) -> ClusterView:
    known = view.quorum.voters.get(e.id)
    address, port = (known.address, known.port) if known else ("", 0)
    voter = facts.FoundingVoter(e.node, e.id, address, port, e.directory_id)
    return _begin(view, VoterChangeView(e.change, False, voter, e.leaves, e.reason, at))


def _removed(view: ClusterView, e: facts.VoterRemoved, at: datetime) -> ClusterView:
    """A node that leaves is never handed over again; its id stays its own, should it come back."""
    left = {i: v for i, v in view.quorum.voters.items() if (i, v.directory_id) != (e.id, e.directory_id)}
    view = _end(view, e.change)
    view = replace(view, quorum=replace(view.quorum, voters=frozen(left)))
    if not e.leaves:
        return view
    beside = {
        i.key: replace(i, member=replace(i.member, gone=True))
        for i in view.instances.values()
        if i.planned.member is not None and i.planned.member.directory_id == e.directory_id
    }
    if beside:
        return settingfold.left(replace(view, instances=frozen({**view.instances, **beside})), beside)
    gone = {i.key: replace(i, departure=replace(i.departure, drained=True)) for i in view.of_node(e.node)}
    return replace(view, instances=frozen({**view.instances, **gone}))


def _dropped(view: ClusterView, e: facts.VoterChangeDropped, at: datetime) -> ClusterView:
    return _end(view, e.change)


def _volume_lost(view: ClusterView, e: facts.VolumeLost, at: datetime) -> ClusterView:
    if e.key not in view.instances:
        raise ValueError(f"instance {e.key} is not known")
    what = e.directory_id if view.instances[e.key].is_broker else e.volume
    return replace(view, quorum=replace(view.quorum, lost_volumes=frozen({**view.quorum.lost_volumes, what: e.reason})))


def with_lists(before: ClusterView, after: ClusterView) -> ClusterView:
    """Whoever was given a new start by this event was told the voters of now; nobody else knows of them yet."""
    if not after.quorum.voters or (after.instances is before.instances and before.quorum.voters):
        return after
    voters, coming = frozenset(after.quorum.voters), frozenset(successor.key for successor in successors_to_tell(after))
    listed = {
        k: securityfold.started(
            after,
            i,
            replace(
                i.start,
                listed=voters | own_member(i),
                successors=coming,
                protocol=after.quorum.protocol,
            ),
        )
        for k, i in after.instances.items()
        if _starts(before.instances.get(k), i)
    }
    return replace(after, instances=frozen({**after.instances, **listed})) if listed else after


def _starts(old: InstanceView | None, new: InstanceView) -> bool:
    if new.launched_at is None:
        return False
    return (
        new.start.listed is None
        or old is None
        or (old.start.count, old.launched_at) != (new.start.count, new.launched_at)
    )


def _begin(view: ClusterView, change: VoterChangeView) -> ClusterView:
    if view.quorum.change is not None:
        raise ValueError(f"the change {view.quorum.change.id} of voters is not over: never two at once")
    return replace(view, quorum=replace(view.quorum, change=change, changes=view.quorum.changes + 1))


def _end(view: ClusterView, change: str) -> ClusterView:
    if not change:
        return view
    if view.quorum.change is None or view.quorum.change.id != change:
        raise ValueError(f"the change {change} of voters is not the one in hand")
    return replace(view, quorum=replace(view.quorum, change=None))


RULES: Rules = {
    facts.VoterAddRequested: _add,
    facts.VoterAdded: _added,
    facts.VoterRemoveRequested: _remove,
    facts.VoterRemoved: _removed,
    facts.VoterChangeDropped: _dropped,
    facts.VolumeLost: _volume_lost,
}
