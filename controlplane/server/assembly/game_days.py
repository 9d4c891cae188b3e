"""Builds what plays game days. Nothing is started."""

import threading
from dataclasses import dataclass

from controlplane.api.access.accounts import People
from controlplane.api.access.roles import Verb
from controlplane.background.game_days.referee import GameWorld, Referee
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.game_days import GameView
from controlplane.runtime.polling import Leadership, Poller
from events.clock import Clock

GAMES = "game days"
EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class GamesRoom:
    """The referee and what has it look."""

    poller: Poller
    referee: Referee

    def close(self) -> None:
        """No game begins after this; those in hand are ended, which is recorded."""
        self.poller.stop()
        self.referee.close()


def games_of(house: GameWorld, leadership: Leadership) -> GamesRoom:
    """The room of game days."""
    referee = Referee(house)
    poller = Poller({GAMES: referee}, {GAMES: EVERY_S}, leadership=leadership, stop=threading.Event())
    return GamesRoom(poller, referee)


def may_harm_still(people: People, clock: Clock, view: ClusterView, game: GameView) -> bool:
    """Whether who asked for a game may bring about faults at this moment."""
    rights = people.rights_now(game.asked.subject, game.asked.via, clock())
    return rights is not None and rights.may_on(Verb.DELETE, view)
