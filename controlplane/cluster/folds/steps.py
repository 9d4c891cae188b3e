"""The small moves that the folds of a cluster's stream share: one instance, one intent, one drain."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from controlplane.cluster.lifecycle import Phase, require
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.intents import IntentView

Rules = Mapping[type, Callable[[ClusterView, Any, datetime], ClusterView]]
"""What a fold makes of each of its events: (view, event, recorded at) -> view. Raises LookupError, ValueError."""

_K = TypeVar("_K")
_V = TypeVar("_V")


def move(view: ClusterView, key: str, phase: Phase, at: datetime, **changes: Any) -> ClusterView:
    instance = view.instances[key]
    return change(view, key, phase=require(key, instance.phase, phase), since=at, **changes)


def change(view: ClusterView, key: str, **changes: Any) -> ClusterView:
    instance = replace(view.instances[key], **changes)
    return replace(view, instances=frozen({**view.instances, key: instance}))


def counted_anew(view: ClusterView, at: datetime) -> ClusterView:
    """Those on their way could not serve before: what they have for it counts from now."""
    arriving = {k: replace(i, since=at) for k, i in view.instances.items() if i.phase is Phase.LAUNCHED}
    return replace(view, instances=frozen({**view.instances, **arriving}))


def open_intent(
    view: ClusterView,
    intent: str,
    kind: str,
    keys: tuple[str, ...],
    at: datetime,
    volumes: tuple[str, ...] = (),
    *,
    with_vm: bool = False,
) -> ClusterView:
    if intent in view.intents:
        raise ValueError(f"intent {intent} is already open")
    opened = IntentView(intent, kind, keys, at, volumes, with_vm)
    return replace(view, intents=frozen({**view.intents, intent: opened}))


def close_intent(view: ClusterView, intent: str) -> ClusterView:
    if intent not in view.intents:
        raise ValueError(f"intent {intent} is not open")
    return replace(view, intents=frozen({k: v for k, v in view.intents.items() if k != intent}))


def current_drain(view: ClusterView, drain: str) -> DrainView:
    if view.moves.drain is None or view.moves.drain.id != drain:
        raise ValueError(f"drain {drain} is not the one in hand")
    return view.moves.drain


def with_drain(view: ClusterView, drain: DrainView | None) -> ClusterView:
    """The view with this drain in hand, or with none."""
    return replace(view, moves=replace(view.moves, drain=drain))


def frozen(values: Mapping[_K, _V]) -> Mapping[_K, _V]:
    return MappingProxyType(dict(values))
