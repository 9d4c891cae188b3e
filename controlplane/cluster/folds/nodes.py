"""The fold of what people ask for single nodes: part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from controlplane.cluster.folds.steps import Rules, change
from controlplane.cluster.lifecycle import Phase, require
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.cluster.views.instances import vm_of
from controlplane.cluster.views.running_settings import ReplaceView, RollingRestartView
from events import facts


def restart_requested(view: ClusterView, e: facts.RollingRestartRequested, at: datetime) -> ClusterView:
    """One rolling restart a cluster at a time."""
    if view.requests.rolling_restart is not None:
        raise ValueError(f"the rolling restart {view.requests.rolling_restart.id} is not over")
    unknown = [key for key in e.keys if vm_of(key) not in view.instances]
    if unknown:
        raise ValueError(f"instance {unknown[0]} is not known")
    return replace(
        view,
        requests=replace(view.requests, rolling_restart=RollingRestartView(e.request, e.keys, e.keys, e.reason, at)),
    )


def restart_completed(view: ClusterView, e: facts.RollingRestartCompleted, at: datetime) -> ClusterView:
    if view.requests.rolling_restart is None or view.requests.rolling_restart.id != e.request:
        raise ValueError(f"the rolling restart {e.request} is not the one in hand")
    return replace(view, requests=replace(view.requests, rolling_restart=None))


def replace_requested(view: ClusterView, e: facts.NodeReplaceRequested, at: datetime) -> ClusterView:
    if e.key not in view.instances:
        raise ValueError(f"instance {e.key} is not known")
    asked = {**view.requests.to_replace, e.key: ReplaceView(e.reason, e.new_disk, at, e.disks)}
    return replace(view, requests=replace(view.requests, to_replace=MappingProxyType(asked)))


def not_taken_over(view: ClusterView, e: facts.TakeoverFailed, at: datetime) -> ClusterView:
    asked = {**view.requests.to_replace, e.key: ReplaceView(e.reason, new_disk=True, requested_at=at, mends=True)}
    return replace(view, requests=replace(view.requests, to_replace=MappingProxyType(asked)))


def evacuation_requested(view: ClusterView, e: facts.EvacuationRequested, at: datetime) -> ClusterView:
    unknown = [key for key in e.keys if key not in view.instances]
    if unknown:
        raise ValueError(f"instance {unknown[0]} is not known")
    wanted = EvacuationView(e.reason, at, targets=e.targets, throttle_mib_per_s=e.throttle_mib_per_s)
    return _with(view, {**view.requests.evacuations, **dict.fromkeys(e.keys, wanted)})


def evacuation_ended(view: ClusterView, e: facts.EvacuationEnded, at: datetime) -> ClusterView:
    return _with(view, {k: v for k, v in view.requests.evacuations.items() if k not in e.keys})


def emptying(view: ClusterView, keys: Collection[str]) -> ClusterView:
    """A drain begins: of what is to be empty, these are not."""
    again = {k: replace(e, empty_at=None) if k in keys else e for k, e in view.requests.evacuations.items()}
    return _with(view, again) if again.keys() & set(keys) else view


def evacuated(view: ClusterView, e: facts.EvacuationCompleted, at: datetime) -> ClusterView:
    """They hold nothing any more and serve on; whom a person took back meanwhile is simply empty."""
    if e.drain:
        if view.moves.drain is None or view.moves.drain.id != e.drain:
            raise ValueError(f"drain {e.drain} is not the one in hand")
        old = {key: view.instances[key] for key in e.keys}
        served = {k: replace(i, phase=require(k, i.phase, Phase.JOINED), since=at) for k, i in old.items()}
        view = replace(
            view, moves=replace(view.moves, drain=None), instances=MappingProxyType({**view.instances, **served})
        )
    return _with(view, {k: replace(v, empty_at=at) if k in e.keys else v for k, v in view.requests.evacuations.items()})


def started_anew(view: ClusterView, key: str) -> ClusterView:
    """Of a `service_key`. Why it was restarted does not matter: one for a setting serves who asked for another, too."""
    rolling = view.requests.rolling_restart
    if rolling is None or key not in rolling.left:
        return view
    left = tuple(k for k in rolling.left if k != key)
    return replace(view, requests=replace(view.requests, rolling_restart=replace(rolling, left=left)))


def served(view: ClusterView, key: str, at: datetime) -> ClusterView:
    """Its start that was asked for was seen to serve."""
    return change(view, key, served_at=at)


def given_up(view: ClusterView) -> ClusterView:
    """An abort ends what people asked for beside the spec and is not done: no spec would bring it back, so nothing
    else could. A broker that is empty stays so."""
    view = _with(view, {k: e for k, e in view.requests.evacuations.items() if e.empty_at is not None})
    return replace(view, requests=replace(view.requests, rolling_restart=None, to_replace=MappingProxyType({})))


def gone(view: ClusterView, keys: Collection[str]) -> ClusterView:
    """These VMs are retired, and with them what was asked for them."""
    if not (view.requests.to_replace.keys() | view.requests.evacuations.keys()) & set(keys):
        return view
    view = _with(view, {k: e for k, e in view.requests.evacuations.items() if k not in keys})
    return replace(
        view,
        requests=replace(
            view.requests,
            to_replace=MappingProxyType({k: a for k, a in view.requests.to_replace.items() if k not in keys}),
        ),
    )


def _with(view: ClusterView, evacuations: Mapping[str, EvacuationView]) -> ClusterView:
    return replace(view, requests=replace(view.requests, evacuations=MappingProxyType(dict(evacuations))))


RULES: Rules = {
    facts.RollingRestartRequested: restart_requested,
    facts.RollingRestartCompleted: restart_completed,
    facts.NodeReplaceRequested: replace_requested,
    facts.EvacuationRequested: evacuation_requested,
    facts.EvacuationCompleted: evacuated,
    facts.EvacuationEnded: evacuation_ended,
}
