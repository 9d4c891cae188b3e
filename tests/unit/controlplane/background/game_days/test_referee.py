"""Who plays a game day: the server that leads, once; and what is recorded when it cannot go on."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.background.game_days.referee import BEGINS_WITHIN, GameWorld, Referee, on_a_thread
from controlplane.cluster.commands import DeleteCluster, EndGame, StartGame
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.cluster.views.game_days import GameView
from controlplane.commands.chaos_injection import Harmer
from controlplane.server.assembly.game_days import may_harm_still
from events import facts
from events.errors import StoreUnavailable
from events.ids import Epoch
from events.store import EventStore
from providers.harm import CannotHarm
from tests.builders import a_partition, a_snapshot
from tests.fakes.event_store import MemoryEventStore
from tests.unit.controlplane.api.portal_house import House as PortalHouse, brokers_as_declared
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

OWNER = Binding("user:ada", Role.OWNER, "*")


class Played:
    """A game that was played to its end by the time `begin` returns."""

    def is_alive(self) -> bool:
        return False

    def join(self, timeout: float | None = None) -> None:
        return None


def at_once(name: str, play: Callable[[], None]) -> Played:
    play()
    return Played()


@dataclass
class Room:
    """A cluster in full health; faults end when their time is over, and time passes by waiting."""

    harm_fails: str = ""
    text: str = OURS
    store: EventStore = field(default_factory=MemoryEventStore)
    vms: Callable[[PortalHouse], object] = lambda portal: portal.join(*brokers_as_declared(portal.view()))
    """Has its VMs on record."""
    hands: Harmer | None = None
    """What faults are brought about by; without one they are noted in `harmed`."""
    seconds: float = 0.0
    harmed: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.portal = PortalHouse(store=self.store)
        self.portal.apply(self.text)
        self.vms(self.portal)
        self.portal.record(facts.RecycleCompleted(1))
        self.portal.snapshots[self.portal.view().uid] = a_snapshot(a_partition("clicks-0"), at=self.portal.now)
        self.portal.browser("ada", OWNER)
        self.portal.converger.catch_up()
        people, commands = self.portal.services.access.people, self.portal.services.cluster.commands
        self.referee = Referee(
            GameWorld(
                fleet=self.portal.converger,
                commands=commands,
                latest=self.portal.latest,
                harm=self.hands or self._harm,
                epoch=self.portal.lead.held_epoch,
                may_still=partial(may_harm_still, people, lambda: self.portal.now),
                wake=lambda uid: None,
                clock=lambda: self.portal.now,
                monotonic=lambda: self.seconds,
                wait=self._wait,
                begin=at_once,
            )
        )

    def start(self, **about: object) -> GameView:
        values: dict[str, Any] = {
            "name": "orders",
            "actor": "person:ada",
            "command_id": "start",
            "subject": "user:ada",
            "via": "",
            "reason": "weekly",
            "seed": 7,
            "wanted": 2,
            "within_s": 600.0,
            "lasts_s": 15.0,
            "heal_within_s": 300.0,
            "faults": ("pause",),
            **about,
        }
        self.portal.services.cluster.commands.handle(StartGame(**values))
        view = self.portal.view()
        assert view.requests.game is not None
        return view.requests.game

    def poll(self) -> GameView:
        """The game, after one look."""
        self.referee.poll()
        view = self.portal.view()
        return view.requests.game or view.requests.games[-1]

    def _harm(self, view: ClusterView, chaos: ChaosView) -> None:
        if self.harm_fails:
            raise CannotHarm(self.harm_fails)
        self.harmed.extend(chaos.keys)

    def _wait(self, event: threading.Event, seconds: float) -> bool:
        self.seconds += seconds
        self.portal.pass_time(seconds=seconds)
        view = self.portal.view()
        for chaos in view.requests.chaos.values():
            if (self.portal.now - chaos.since).total_seconds() >= chaos.for_s:
                self.portal.record(facts.ChaosEnded(chaos.id, "its time is over"))
        self.meanwhile()
        self.portal.converger.catch_up()
        return event.is_set()


def test_a_game_is_played_once_in_the_name_of_who_asked_and_its_report_is_on_record() -> None:
    room = Room()
    room.start()
    game = room.poll()
    assert (game.stopped, game.ended_at is not None, len(game.played)) == ("", True, 2)
    assert [p.score.healed_s for p in game.played if p.score] == [0.0, 0.0]
    assert room.harmed == [p.key for p in game.played]
    room.poll()
    assert len(room.harmed) == 2
    types = [(e.type, e.actor) for e in room.portal.store.read_all(0) if e.type.startswith("chaos.")]
    assert types.count(("chaos.injected", "person:ada")) == 2
    assert types.count(("chaos.fault_scored", "games")) == 2
    assert types[-1] == ("chaos.game_ended", "games")


def test_what_a_person_ends_begins_no_further_fault_and_says_who_did() -> None:
    room = Room()
    game = room.start(wanted=5)

    def ends() -> None:
        room.meanwhile = lambda: None
        command = EndGame(name="orders", actor="person:eve", command_id="stop", game=game.id, reason="lunch")
        room.portal.services.cluster.commands.handle(command)

    room.meanwhile = ends
    over = room.poll()
    assert (over.stopped, len(over.played)) == ("ended early, asked by eve: lunch", 1)
    assert over.played[0].score is None


def test_a_game_whose_server_is_gone_is_ended_by_the_next_one_and_never_played_on() -> None:
    room = Room()
    game = room.start()
    room.portal.record(facts.ChaosInjected("c", "pause", ("brokers-a-0.g1",), 15.0, "asked by ada", game=game.id))
    over = room.poll()
    words = (
        "the server that played it is gone; what came of pause of brokers-a-0.g1, and whether it was done, is not known"
    )
    assert (over.stopped, over.ended_at is not None, room.harmed) == (words, True, [])


def test_a_game_that_nobody_began_in_time_never_begins() -> None:
    room = Room()
    room.start()
    room.portal.pass_time(seconds=BEGINS_WITHIN.total_seconds() + 1)
    assert (room.poll().stopped, room.harmed) == ("no server began it within 60 s", [])


def test_a_server_that_does_not_lead_any_more_leaves_and_records_nothing() -> None:
    room = Room()
    room.start()

    def loses() -> None:
        room.portal.lead.epoch = Epoch(4)

    room.meanwhile = loses
    game = room.poll()
    assert (game.ended_at, len(game.played), game.played[0].score) == (None, 1, None)
    room.meanwhile = lambda: None
    assert room.poll().stopped.startswith("the server that played it is gone")


def test_a_server_that_stops_records_that_it_did() -> None:
    room = Room()
    room.start()
    room.meanwhile = room.referee.close
    assert room.poll().stopped == "the server that played it was stopped"
    assert len(room.harmed) == 1


def test_who_lost_the_right_meanwhile_harms_nothing_more() -> None:
    room = Room()
    room.start()
    users = room.portal.services.access.people.users

    def loses() -> None:
        for binding in users.bindings():
            users.unbind(binding)

    room.meanwhile = loses
    game = room.poll()
    assert (game.stopped, len(game.played)) == ("ada may not harm orders any more", 1)


def test_a_fault_that_cannot_be_done_ends_the_game_with_the_reason() -> None:
    room = Room(harm_fails="no hands")
    room.start()
    game = room.poll()
    assert "could not be injected: no hands" in game.stopped
    assert (len(game.played), game.played[0].score) == (1, None)


def test_a_cluster_that_is_being_deleted_is_not_harmed_any_more() -> None:
    room = Room()
    room.start()

    def deletes() -> None:
        room.meanwhile = lambda: None
        command = DeleteCluster(name="orders", actor="person:eve", command_id="d", reason="old", confirm="orders")
        room.portal.services.cluster.commands.handle(command)

    room.meanwhile = deletes
    game = room.poll()
    assert (game.stopped, len(room.harmed)) == ("orders is being deleted", 1)


def test_a_store_that_is_away_for_a_moment_does_not_end_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    room.start()
    left, handle = [2], room.portal.services.cluster.commands.handle

    def sometimes(command: object) -> object:
        if type(command).__name__ == "ScoreFault" and left[0]:
            left[0] -= 1
            raise StoreUnavailable("away")
        return handle(command)  # type: ignore[arg-type]

    flaky = type(
        "Flaky", (), {"handle": staticmethod(sometimes), "current": room.portal.services.cluster.commands.current}
    )()
    room.referee.house = replace(room.referee.house, commands=flaky)
    game = room.poll()
    assert (game.stopped, len(game.played), left) == ("", 2, [0])


def test_a_game_is_played_beside_the_poll_on_a_thread_that_ends_with_it() -> None:
    room = Room()
    room.start(wanted=1)
    room.referee.house = replace(room.referee.house, begin=on_a_thread)
    room.referee.poll()
    for player in room.referee._players.values():
        player.join(30.0)
    view = room.portal.view()
    assert (view.requests.game, view.requests.games[-1].stopped) == (None, "")
