"""Who plays the game days: the server that leads, each on a thread of its own.

What was seen is recorded after each fault, so the report of a game outlives its server. No other server plays on: what
came of the fault in hand is not known there, and nobody may have looked at the cluster since. It records that the game
is over, and why.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from controlplane.background.game_days.full_health import FullHealth, full_health
from controlplane.background.game_days.play import LOOK_EVERY_S, NotYet, Over, play
from controlplane.background.rounds import Round
from controlplane.cluster.commands import ClusterNotFound, CommandRefused, EndGame, InjectChaos, ScoreFault
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.game_days import GameView
from controlplane.commands.chaos_injection import ChaosCommands, Harmer, recorded_and_done
from controlplane.storage.latest_values import LatestStore
from events import facts
from events.clock import Clock
from events.errors import EventsError
from events.ids import ClusterUid, Epoch
from planner.observed import KafkaSnapshot
from providers.errors import ProviderError
from providers.harm import CannotHarm

_log = logging.getLogger(__name__)

ACTOR = "games"
LOSS_PERCENT, SLOW_MIB_PER_S = 20.0, 1.0
BEGINS_WITHIN = timedelta(seconds=60)
"""After it was asked for: whoever asked has gone on to something else by then."""

_NOT_HEALTHY_AFTER_ALL = frozenset({"not-whole", "unknown-node", "several-racks"})
_STOPPED = "the server that played it was stopped"
_ENDS_WITHIN_S = 15.0
"""A call to a cloud that is under way when the server stops is waited for that long."""


class GameFleet(Protocol):
    """All clusters, and what their brokers said last; `Converger` is one."""

    def views(self) -> list[ClusterView]: ...

    def view(self, uid: ClusterUid) -> ClusterView | None: ...

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None: ...

    def catch_up(self) -> None: ...


class Player(Protocol):
    """A game that is played beside all else; a thread is one."""

    def is_alive(self) -> bool: ...

    def join(self, timeout: float | None = None) -> None: ...


def on_a_thread(name: str, play: Callable[[], None]) -> Player:
    """Begins it, and returns at once."""
    thread = threading.Thread(target=play, name=name, daemon=True)
    thread.start()
    return thread


@dataclass(frozen=True, slots=True, kw_only=True)
class GameWorld:
    """What games are played in. `epoch` is what this server leads under, None while it does not; `may_still` says
    whether who asked for a game may harm the cluster at this moment; `wake` rings for a tick.
    """

    fleet: GameFleet
    commands: ChaosCommands
    latest: LatestStore
    harm: Harmer
    epoch: Callable[[], Epoch | None]
    may_still: Callable[[ClusterView, GameView], bool]
    wake: Callable[[str], None]
    clock: Clock
    monotonic: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait
    """So many seconds, or until that is set: whether it is."""
    begin: Callable[[str, Callable[[], None]], Player] = on_a_thread


@dataclass(slots=True)
class Referee:
    """A poll has every game in hand played, or ended where that cannot be. Polled by whoever leads."""

    house: GameWorld
    _stopping: threading.Event = field(default_factory=threading.Event)
    _players: dict[str, Player] = field(default_factory=dict)

    def poll(self) -> None:
        """Begins what was asked for, and ends what another server left behind. Raises StoreUnavailable,
        RoundIncomplete."""
        this_round = Round("game days")
        in_hand = [v for v in self.house.fleet.views() if v.requests.game is not None and not v.deleted]
        known = {view.requests.game.id for view in in_hand if view.requests.game is not None}
        self._players = {g: player for g, player in self._players.items() if player.is_alive() or g in known}
        for view in in_hand:
            if view.requests.game is not None:
                with this_round.apart(view.name):
                    self._look_after(view, view.requests.game)
        this_round.close()

    def close(self) -> None:
        """Ends the games in hand: it is recorded. No fault begins after this."""
        self._stopping.set()
        for player in self._players.values():
            player.join(_ENDS_WITHIN_S)

    def _look_after(self, view: ClusterView, game: GameView) -> None:
        epoch, player = self.house.epoch(), self._players.get(game.id)
        if epoch is None or self._stopping.is_set() or (player is not None and player.is_alive()):
            return
        if player is None and not game.played and self.house.clock() - game.since <= BEGINS_WITHIN:
            seat = _Seat(self.house, view.uid, view.name, game, epoch, self._stopping)
            self._players[game.id] = self.house.begin(f"game-{view.name}", seat.play)
            return
        _end(self.house, view.name, game, _why_left(game))


@dataclass(frozen=True, slots=True)
class _Seat:
    """One game as this server plays it: the table of `play`."""

    house: GameWorld
    uid: ClusterUid
    name: str
    game: GameView
    epoch: Epoch
    stopping: threading.Event

    def play(self) -> None:
        try:
            stopped = play(self.game.asked, self)
        except Over as over:
            stopped = str(over)
            if not stopped:
                return
        except Exception as error:  # noqa: BLE001 - whatever it was, the game is over and its report says so
            _log.exception("the game day of %s failed", self.name)
            stopped = f"it failed with {type(error).__name__}: see the log of the server"
        while self._leads():
            try:
                _end(self.house, self.name, self.game, stopped)
            except EventsError as error:
                _log.warning("the end of the game day of %s could not be recorded yet: %s", self.name, error)
                if self.house.wait(self.stopping, LOOK_EVERY_S):
                    return  # whoever leads next ends it
            else:
                return

    def now(self) -> float:
        return self.house.monotonic()

    def wait(self, seconds: float) -> None:
        if self.house.wait(self.stopping, seconds):
            raise Over(_STOPPED)

    def look(self) -> FullHealth:
        while True:
            view = self._view()
            try:
                return full_health(view, self.house.fleet.last_snapshot(self.uid), self.house.latest)
            except EventsError as error:
                _log.warning("the health of %s could not be looked at: %s", self.name, error)
                self.wait(LOOK_EVERY_S)

    def bring_about(self, turn: int, fault: str, vm: str) -> str:
        asked, what = self.game.asked, f"{fault} of {vm}"
        self._require_right()
        command = InjectChaos(
            name=self.name,
            actor=asked.actor,
            command_id=f"{asked.game}/{turn}/{vm}",
            reason=f"game, seed {asked.seed}",
            fault=fault,
            for_s=asked.lasts_s,
            keys=(vm,),
            confirm=self.name,
            loss_percent=LOSS_PERCENT,
            mib_per_s=SLOW_MIB_PER_S,
            game=asked.game,
            turn=turn,
        )
        try:
            done = recorded_and_done(self.house.commands, self.house.harm, command)
            self.house.fleet.catch_up()  # the next look is to know that it is open
        except CommandRefused as refused:
            if refused.code in _NOT_HEALTHY_AFTER_ALL:
                raise NotYet from refused
            raise Over("" if refused.code == "game-over" else f"{what} was refused: {refused}") from refused
        except (CannotHarm, ProviderError) as error:
            raise Over(f"{what} could not be injected: {error}") from error
        except EventsError as error:
            raise Over(f"whether {what} is on record is not known: {error}") from error
        except ClusterNotFound as error:
            raise Over("") from error
        if done.chaos is None:
            raise Over(f"{what} was over before it was done")
        self.house.wake(self.uid)
        _log.info("game day of %s: %s", self.name, what)
        return done.chaos.id

    def score(self, score: facts.FaultScored) -> None:
        command = ScoreFault(name=self.name, actor=ACTOR, command_id=f"{score.chaos}/score", score=score)
        while True:
            self._view()
            try:
                self.house.commands.handle(command)
            except EventsError as error:
                _log.warning("what came of a fault of %s could not be recorded yet: %s", self.name, error)
                self.wait(LOOK_EVERY_S)
            else:
                return

    def _require_right(self) -> None:
        try:
            may = self.house.may_still(self._view(), self.game)
        except EventsError as error:
            raise NotYet from error
        if not may:
            raise Over(f"{self.game.asked.actor.partition(':')[2]} may not harm {self.name} any more")

    def _leads(self) -> bool:
        return self.house.epoch() == self.epoch

    def _view(self) -> ClusterView:
        """The cluster, while the game is to go on. Raises Over."""
        if self.stopping.is_set():
            raise Over(_STOPPED)
        view = self.house.fleet.view(self.uid)
        if (
            not self._leads()
            or view is None
            or view.deleted
            or view.requests.game is None
            or view.requests.game.id != self.game.id
        ):
            raise Over("")  # another server leads, or somebody has ended it
        if view.requests.tombstone:
            raise Over(f"{self.name} is being deleted")
        return view


def _why_left(game: GameView) -> str:
    if not game.played:
        return f"no server began it within {BEGINS_WITHIN.total_seconds():.0f} s"
    last = game.played[-1]
    judged = "" if last.score else f"; what came of {last.fault} of {last.key}, and whether it was done, is not known"
    return f"the server that played it is gone{judged}"


def _end(house: GameWorld, name: str, game: GameView, why: str) -> None:
    try:
        command = EndGame(name=name, actor=ACTOR, command_id=f"{game.id}/end", game=game.id, reason=why)
        house.commands.handle(command)
        house.wake(house.commands.current(name).uid)
    except (CommandRefused, ClusterNotFound) as error:
        _log.warning("the game day of %s has no end to record: %s", name, error)
