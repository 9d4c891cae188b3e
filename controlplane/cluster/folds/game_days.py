"""The fold of game days: part of `controlplane.cluster.fold.evolve`. Their faults are folded by `chaosfold`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.game_days import GameView, PlayedView
from events import facts

MOST_KEPT = 10
"""Games whose reports are kept in the view; the log has all."""


def drawn(view: ClusterView, e: facts.ChaosInjected, at: datetime) -> ClusterView:
    """A fault that was brought about belongs to the game in hand, where that drew it."""
    game = view.requests.game
    if game is None or game.id != e.game:
        return view
    played = PlayedView(e.chaos, e.fault, e.keys[0] if e.keys else "", at)
    return replace(view, requests=replace(view.requests, game=replace(game, played=(*game.played, played))))


def _started(view: ClusterView, e: facts.GameStarted, at: datetime) -> ClusterView:
    return replace(view, requests=replace(view.requests, game=GameView(e, at)))


def _scored(view: ClusterView, e: facts.FaultScored, at: datetime) -> ClusterView:
    game = view.requests.game
    if game is None or game.id != e.game:
        return view
    played = tuple(replace(p, score=e) if p.chaos == e.chaos else p for p in game.played)
    return replace(view, requests=replace(view.requests, game=replace(game, played=played)))


def _ended(view: ClusterView, e: facts.GameEnded, at: datetime) -> ClusterView:
    game = view.requests.game
    if game is None or game.id != e.game:
        return view
    over = replace(game, ended_at=at, stopped=e.stopped)
    return replace(view, requests=replace(view.requests, game=None, games=(*view.requests.games, over)[-MOST_KEPT:]))


RULES: Rules = {
    facts.GameStarted: _started,
    facts.FaultScored: _scored,
    facts.GameEnded: _ended,
}
