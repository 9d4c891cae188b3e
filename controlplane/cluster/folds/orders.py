"""The dates of orders: when it was last found safe to stop a service that serves, or to start it anew. Part of
`controlplane.cluster.fold.evolve`.

    found safe -> told within HOLDS_FOR -> obeyed
                +--> not heard: kept back (`converger.steps.rolls.stale_orders`) until found safe again -> order.renewed

A document is a state, and states do not age: an agent that was cut off would stop a broker minutes after the gate was
open, whatever has died since.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.lifecycle import ALIVE
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import service_key, vm_of
from events import facts

HOLDS_FOR = timedelta(seconds=30)
"""How long what a gate saw counts. An agent that is heard obeys within a second or two."""

UNJUDGED = datetime(1, 1, 1, tzinfo=UTC)
"""The date of an order that no gate was asked about: only who does not run obeys it."""


def dated(before: ClusterView, after: ClusterView, event: object, at: datetime) -> ClusterView:
    """The view after an event, with the orders the event gives, and without those it ends."""
    match event:
        case facts.FenceRequested(keys=keys):
            return _given(after, keys, at)
        case facts.RestartRequested(key=key, service=service) | facts.RestartRevertRequested(key=key, service=service):
            return _given(after, (service_key(key, service),), at)
        case facts.MigrationServiceStarted(ids=ids) | facts.MigrationServiceStopped(ids=ids):
            return _given(after, _of_service(after, event.service, ids), at)
        case facts.FenceReverted(key=key):
            return _given(after, (key, service_key(key, "zookeeper")), UNJUDGED)
        case facts.RestartCompleted(key=key) | facts.RestartReverted(key=key):
            return _ended(after, {service_key(key, before.settings.restarts[key].service)})
        case facts.NodeFenced(key=key):
            return _ended(after, {key, service_key(key, "zookeeper")})
        case facts.RetireCompleted() | facts.DestroyCompleted() if after.settings.orders:
            return _ended(after, {k for k in after.settings.orders if not _is_alive(after, vm_of(k))})
        case _:
            return after


def _renewed(view: ClusterView, e: facts.OrderRenewed, at: datetime) -> ClusterView:
    """It has as long as the first time to be obeyed, and to serve again."""
    name = service_key(e.key, e.service)
    if name not in view.settings.orders:
        raise ValueError(f"{name} was told nothing that could be told again")
    restart = view.settings.restarts.get(e.key)
    if restart is not None and restart.service == e.service:
        view = replace(
            view,
            settings=replace(
                view.settings, restarts=frozen({**view.settings.restarts, e.key: replace(restart, since=at)})
            ),
        )
    return _given(view, (name,), at)


def _given(view: ClusterView, names: Iterable[str], at: datetime) -> ClusterView:
    return replace(
        view, settings=replace(view.settings, orders=frozen({**view.settings.orders, **dict.fromkeys(names, at)}))
    )


def _ended(view: ClusterView, names: Iterable[str]) -> ClusterView:
    over = set(names)
    left = {k: at for k, at in view.settings.orders.items() if k not in over}
    return (
        replace(view, settings=replace(view.settings, orders=frozen(left)))
        if len(left) < len(view.settings.orders)
        else view
    )


def _of_service(view: ClusterView, service: str, ids: Iterable[int]) -> list[str]:
    ordered = set(ids)
    there = (i for i in view.alive() if i.planned.service == service and i.service_id in ordered)
    return [i.key for i in there]


def _is_alive(view: ClusterView, key: str) -> bool:
    return key in view.instances and view.instances[key].phase in ALIVE


RULES: Rules = {facts.OrderRenewed: _renewed}
