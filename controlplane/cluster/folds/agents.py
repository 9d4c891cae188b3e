"""The fold of upgrades of a cluster's agents: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.agents import AgentOrderView
from events import facts


def _requested(view: ClusterView, e: facts.AgentUpgradeRequested, at: datetime) -> ClusterView:
    there = {i.key for i in view.alive()}
    kept = {key: order for key, order in view.vms.agent_orders.items() if key in there}
    return replace(view, vms=replace(view.vms, agent_orders=frozen({**kept, e.key: AgentOrderView(e, at)})))


def _upgraded(view: ClusterView, e: facts.AgentUpgraded, at: datetime) -> ClusterView:
    return _ended(view, e.order, replace(view.vms.agent_orders[e.key], done_at=at))


def _failed(view: ClusterView, e: facts.AgentUpgradeFailed, at: datetime) -> ClusterView:
    return _ended(view, e.order, replace(view.vms.agent_orders[e.key], failed_at=at, problem=e.reason))


def _ended(view: ClusterView, order: str, ended: AgentOrderView) -> ClusterView:
    if ended.asked.order != order:
        raise ValueError(f"order {order} is not the one in hand, {ended.asked.order} is")
    return replace(view, vms=replace(view.vms, agent_orders=frozen({**view.vms.agent_orders, ended.asked.key: ended})))


RULES: Rules = {
    facts.AgentUpgradeRequested: _requested,
    facts.AgentUpgraded: _upgraded,
    facts.AgentUpgradeFailed: _failed,
}
