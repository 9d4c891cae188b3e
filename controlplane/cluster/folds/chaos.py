"""The fold of faults that people bring about on purpose: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.game_days import drawn
from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ChaosView, ClusterView
from events import facts


def _injected(view: ClusterView, e: facts.ChaosInjected, at: datetime) -> ClusterView:
    begun = ChaosView(e.chaos, e.fault, e.keys, e.reason, at, e.for_s, e.manner)
    view = drawn(view, e, at)
    return replace(view, requests=replace(view.requests, chaos=frozen({**view.requests.chaos, e.chaos: begun})))


def _ended(view: ClusterView, e: facts.ChaosEnded, at: datetime) -> ClusterView:
    return replace(
        view,
        requests=replace(view.requests, chaos=frozen({k: v for k, v in view.requests.chaos.items() if k != e.chaos})),
    )


RULES: Rules = {
    facts.ChaosInjected: _injected,
    facts.ChaosEnded: _ended,
}
