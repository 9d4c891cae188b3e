"""The fold of what others run. Part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from agent.host_port import HostPort
from controlplane.cluster.folds.steps import Rules, current_drain, frozen, with_drain
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.external import ExternalBrokerView, ExternalView
from events import facts


def _imported(view: ClusterView, e: facts.ClusterImported, at: datetime) -> ClusterView:
    if view.instances or view.quorum.founding is not None:
        raise ValueError("a cluster with a history of its own cannot be imported")
    founding = facts.QuorumFounded(e.kafka_cluster_id, e.metadata_level, e.voters)
    return replace(
        view,
        external=ExternalView(e.kafka_cluster_id, frozen({b.id: _new(b) for b in e.brokers})),
        vms=replace(view.vms, next_broker_id=max(view.vms.next_broker_id, e.next_broker_id)),
        quorum=replace(view.quorum, founding=founding, voters=frozen({v.id: v for v in e.voters})),
    )


def _found(view: ClusterView, e: facts.ExternalFound, at: datetime) -> ClusterView:
    known = _external(view)
    twice = [b.id for b in e.brokers if b.id in known.brokers]
    if twice:
        raise ValueError(f"external broker {twice[0]} is known already")
    highest = max((b.id for b in e.brokers), default=-1)
    view = _with(view, (*known.brokers.values(), *map(_new, e.brokers)))
    return replace(view, vms=replace(view.vms, next_broker_id=max(view.vms.next_broker_id, highest + 1)))


def _quorum(view: ClusterView, e: facts.ExternalQuorumChanged, at: datetime) -> ClusterView:
    _external(view)
    return replace(view, quorum=replace(view.quorum, voters=frozen({v.id: v for v in e.voters})))


def _drained(view: ClusterView, e: facts.ExternalDrained, at: datetime) -> ClusterView:
    if e.drain:
        current_drain(view, e.drain)
        view = with_drain(view, None)
    for broker in e.brokers:
        view = _changed(view, replace(_broker(view, broker), empty_at=at))
    return view


def _stopped(view: ClusterView, e: facts.ExternalStopped, at: datetime) -> ClusterView:
    return _changed(view, replace(_broker(view, e.broker), stopped_at=at))


def _returned(view: ClusterView, e: facts.ExternalReturned, at: datetime) -> ClusterView:
    return _changed(view, replace(_broker(view, e.broker), empty_at=None, stopped_at=None))


def _left(view: ClusterView, e: facts.ExternalLeft, at: datetime) -> ClusterView:
    if _broker(view, e.broker).stopped_at is None:
        raise ValueError(f"external broker {e.broker} was not seen to have stopped")
    return _with(view, (b for b in _external(view).brokers.values() if b.id != e.broker))


def _external(view: ClusterView) -> ExternalView:
    if view.external is None:
        raise ValueError("others run no part of this cluster")
    return view.external


def _broker(view: ClusterView, broker: int) -> ExternalBrokerView:
    known = _external(view).brokers.get(broker)
    if known is None:
        raise ValueError(f"external broker {broker} is not known")
    return known


def _changed(view: ClusterView, broker: ExternalBrokerView) -> ClusterView:
    return _with(view, (*(b for b in _external(view).brokers.values() if b.id != broker.id), broker))


def _with(view: ClusterView, brokers: Iterable[ExternalBrokerView]) -> ClusterView:
    by_id = {b.id: b for b in sorted(brokers, key=lambda b: b.id)}
    return replace(view, external=replace(_external(view), brokers=frozen(by_id)))


def _new(found: facts.ExternalBrokerFound) -> ExternalBrokerView:
    return ExternalBrokerView(found.id, found.rack, str(HostPort(found.host, found.port)))


RULES: Rules = {
    facts.ClusterImported: _imported,
    facts.ExternalFound: _found,
    facts.ExternalQuorumChanged: _quorum,
    facts.ExternalDrained: _drained,
    facts.ExternalStopped: _stopped,
    facts.ExternalReturned: _returned,
    facts.ExternalLeft: _left,
}
