"""The fold of cost tags on what stands: part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, close_intent, frozen, open_intent
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.cost_tags import CostTagsView
from controlplane.cluster.views.instances import InstanceView
from events import facts


def tags_on(view: ClusterView, instance: InstanceView) -> CostTagsView:
    """The cost tags of a VM: what it was made with, unless it was given others since."""
    return view.cost_tags.get(instance.key) or CostTagsView(instance.planned.cost_tags or {})


def _requested(view: ClusterView, e: facts.TaggingRequested, at: datetime) -> ClusterView:
    before = tags_on(view, view.instances[e.key])
    asked = CostTagsView(before.tags, e.tags, tuple(e.dropped))
    view = replace(view, taggings=view.taggings + 1, cost_tags=_with(view.cost_tags, e.key, asked))
    return open_intent(view, e.intent, "tag", (e.key,), at)


def _completed(view: ClusterView, e: facts.TaggingCompleted, at: datetime) -> ClusterView:
    key = view.intents[e.intent].keys[0]
    carried = CostTagsView(view.cost_tags[key].asked or {})
    return close_intent(replace(view, cost_tags=_with(view.cost_tags, key, carried)), e.intent)


def _failed(view: ClusterView, e: facts.TaggingFailed, at: datetime) -> ClusterView:
    key = view.intents[e.intent].keys[0]
    failed = replace(view.cost_tags[key], failed_at=at, error=e.error)
    return close_intent(replace(view, cost_tags=_with(view.cost_tags, key, failed)), e.intent)


def _with(known: Mapping[str, CostTagsView], key: str, one: CostTagsView) -> Mapping[str, CostTagsView]:
    return frozen({**known, key: one})


RULES: Rules = {facts.TaggingRequested: _requested, facts.TaggingCompleted: _completed, facts.TaggingFailed: _failed}
