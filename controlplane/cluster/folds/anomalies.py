"""The fold of healing switches, demotions and brokers given up: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import DemotionView, OfflineFixView, SwitchView
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


RULES: Rules = {
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
