"""The fold of cost tags on what stands: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, close_intent, frozen, open_intent
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.cost_tags import CostTagsView
from controlplane.cluster.views.instances import InstanceView
from events import facts


def tags_on(view: ClusterView, instance: InstanceView) -> CostTagsView:
    """The cost tags of a VM: what it was made with, unless it was given others since."""
    return view.vms.cost_tags.get(instance.key) or CostTagsView(instance.planned.cost_tags or {})


def _requested(view: ClusterView, e: facts.TaggingRequested, at: datetime) -> ClusterView:
    before = tags_on(view, view.instances[e.key])
    asked = CostTagsView(before.tags, e.tags, tuple(e.dropped))
    view = _with(view, e.key, asked)
    view = replace(view, vms=replace(view.vms, taggings=view.vms.taggings + 1))
    return open_intent(view, e.intent, "tag", (e.key,), at)


def _completed(view: ClusterView, e: facts.TaggingCompleted, at: datetime) -> ClusterView:
    key = view.intents[e.intent].keys[0]
    carried = CostTagsView(view.vms.cost_tags[key].asked or {})
    return close_intent(_with(view, key, carried), e.intent)


def _failed(view: ClusterView, e: facts.TaggingFailed, at: datetime) -> ClusterView:
    key = view.intents[e.intent].keys[0]
    failed = replace(view.vms.cost_tags[key], failed_at=at, error=e.error)
    return close_intent(_with(view, key, failed), e.intent)


def _with(view: ClusterView, key: str, one: CostTagsView) -> ClusterView:
    return replace(view, vms=replace(view.vms, cost_tags=frozen({**view.vms.cost_tags, key: one})))


RULES: Rules = {facts.TaggingRequested: _requested, facts.TaggingCompleted: _completed, facts.TaggingFailed: _failed}
