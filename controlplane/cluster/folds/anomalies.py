"""The fold of healing switches, demotions, brokers given up and moves between disks: part of
`controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import DemotionView, DiskMovesView, OfflineFixView, SwitchView
from events import facts


def switched(view: ClusterView, e: facts.HealingSwitched, at: datetime) -> ClusterView:
    """The switch of all kinds takes those of single kinds back."""
    others = view.requests.switches if e.kind else {}
    return replace(
        view,
        requests=replace(view.requests, switches=frozen({**others, e.kind: SwitchView(e.on, e.until, e.reason, at)})),
    )


def _asked(view: ClusterView, e: facts.DemoteRequested, at: datetime) -> ClusterView:
    if e.key not in view.instances:
        raise ValueError(f"instance {e.key} is not known")
    return replace(
        view,
        requests=replace(
            view.requests,
            demotions=frozen(
                {**view.requests.demotions, e.key: DemotionView(e.broker, e.reason, at, by_person=e.by_person)}
            ),
        ),
    )


def _asked_by_person(view: ClusterView, e: facts.BrokersDemoteRequested, at: datetime) -> ClusterView:
    unknown = [key for key in e.keys if key not in view.instances]
    if unknown:
        raise ValueError(f"instance {unknown[0]} is not known")
    fresh = {
        key: DemotionView(broker, e.reason, at, by_person=True) for key, broker in zip(e.keys, e.brokers, strict=True)
    }
    return replace(view, requests=replace(view.requests, demotions=frozen({**view.requests.demotions, **fresh})))


def _undemoted(view: ClusterView, e: facts.BrokersUndemoteRequested, at: datetime) -> ClusterView:
    known = view.requests.demotions
    ended = {key: replace(known[key], ended=e.reason or "ended") for key in e.keys}
    return replace(view, requests=replace(view.requests, demotions=frozen({**known, **ended})))


def _demoted(view: ClusterView, e: facts.BrokerDemoted, at: datetime) -> ClusterView:
    done = replace(view.requests.demotions[e.key], done_at=at, left=e.left)
    return replace(view, requests=replace(view.requests, demotions=frozen({**view.requests.demotions, e.key: done})))


def _ended(view: ClusterView, e: facts.DemotionEnded, at: datetime) -> ClusterView:
    ended = replace(view.requests.demotions[e.key], ended=e.reason or "ended")
    return replace(view, requests=replace(view.requests, demotions=frozen({**view.requests.demotions, e.key: ended})))


def _promoted(view: ClusterView, e: facts.BrokerPromoted, at: datetime) -> ClusterView:
    return replace(
        view,
        requests=replace(
            view.requests, demotions=frozen({k: d for k, d in view.requests.demotions.items() if k != e.key})
        ),
    )


def _given_up(view: ClusterView, e: facts.OfflineFixRequested, at: datetime) -> ClusterView:
    fresh = {broker: OfflineFixView(e.reason, at) for broker in e.brokers}
    return replace(view, requests=replace(view.requests, offline=frozen({**view.requests.offline, **fresh})))


def _given_up_no_more(view: ClusterView, e: facts.OfflineFixEnded, at: datetime) -> ClusterView:
    left = {broker: fix for broker, fix in view.requests.offline.items() if broker not in e.brokers}
    return replace(view, requests=replace(view.requests, offline=frozen(left)))


def _disk_moves_asked(view: ClusterView, e: facts.DiskMovesRequested, at: datetime) -> ClusterView:
    """The last word of a broker holds."""
    asked = {**view.requests.disk_moves, e.broker: DiskMovesView(e.path, e.reason, at, e.bytes_per_s)}
    return replace(view, requests=replace(view.requests, disk_moves=frozen(asked)))


def _disk_moves_throttled(view: ClusterView, e: facts.DiskMovesThrottled, at: datetime) -> ClusterView:
    known = view.requests.disk_moves.get(e.broker)
    if known is None:
        raise ValueError(f"no move between disks was asked for on broker {e.broker}")
    rates = (e.bytes_per_s, known.due_bytes_per_s)
    asked = {**view.requests.disk_moves, e.broker: replace(known, throttled=rates)}
    return replace(view, requests=replace(view.requests, disk_moves=frozen(asked)))


def _disk_moves_cancelled(view: ClusterView, e: facts.DiskMovesCancelRequested, at: datetime) -> ClusterView:
    known = view.requests.disk_moves.get(e.broker)
    if known is None:
        raise ValueError(f"no move between disks was asked for on broker {e.broker}")
    asked = {**view.requests.disk_moves, e.broker: replace(known, cancelled=e.reason or "cancelled")}
    return replace(view, requests=replace(view.requests, disk_moves=frozen(asked)))


def _disk_moves_over(view: ClusterView, e: facts.DiskMovesEnded, at: datetime) -> ClusterView:
    left = {broker: asked for broker, asked in view.requests.disk_moves.items() if broker != e.broker}
    return replace(view, requests=replace(view.requests, disk_moves=frozen(left)))


RULES: Rules = {
    facts.DiskMovesRequested: _disk_moves_asked,
    facts.DiskMovesCancelRequested: _disk_moves_cancelled,
    facts.DiskMovesThrottled: _disk_moves_throttled,
    facts.DiskMovesEnded: _disk_moves_over,
    facts.OfflineFixRequested: _given_up,
    facts.OfflineFixEnded: _given_up_no_more,
    facts.HealingSwitched: switched,
    facts.DemoteRequested: _asked,
    facts.BrokersDemoteRequested: _asked_by_person,
    facts.BrokersUndemoteRequested: _undemoted,
    facts.BrokerDemoted: _demoted,
    facts.DemotionEnded: _ended,
    facts.BrokerPromoted: _promoted,
}
