"""Passwords go to sinks once Kafka has them: recorded, dropped, tried again, and nowhere to be seen."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.background.password_sinks.delivery import PasswordDelivery
from controlplane.background.password_sinks.sink import NotWritten, UserPassword
from controlplane.cluster.commands import Command
from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.table import DECIDERS
from controlplane.converger.conditions.users import users_degraded
from events import user_facts as facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW, a_view
from tests.fakes.pending_passwords import MemoryPendingPasswords
from tests.unit.controlplane.user_samples import ALICE

ANNA = replace(ALICE, deliver_to="apps")
APPLIED = facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ())


@dataclass
class Cluster:
    """One cluster: a fleet of it, and what is recorded of it."""

    view: ClusterView
    events: list[Any] = field(default_factory=list)

    def views(self) -> Sequence[ClusterView]:
        return [self.view]

    def current(self, name: str) -> ClusterView:
        return self.view

    def handle(self, command: Command) -> object:
        decision = DECIDERS[type(command)].decide(self.view, command)
        if decision.fact is not None:
            self.record(decision.fact)
        return decision

    def record(self, *asked: object) -> None:
        for fact in asked:
            new = encode(fact, f"e{self.view.version}")
            told = (1, "s", self.view.version + 1, "e", new.type, new.schema, new.data, "a", None, None, 1, NOW)
            self.view = evolve(self.view, Recorded(*told))
            assert not self.view.history.unreadable, self.view.history.unreadable
            self.events.append(fact)


@dataclass
class FakeSink:
    """Takes passwords, unless it has a fault."""

    fault: NotWritten | None = None
    taken: list[tuple[str, int, str]] = field(default_factory=list)
    tries: int = 0

    def put(self, one: UserPassword) -> None:
        self.tries += 1
        if self.fault is not None:
            raise self.fault
        self.taken.append((one.user, one.number, one.password.get_secret_value()))


class World:
    def __init__(self) -> None:
        self.cluster, self.sink, self.passwords = Cluster(a_view()), FakeSink(), MemoryPendingPasswords()
        self.now: datetime = NOW
        self.leads = True
        self.restart()

    @property
    def uid(self) -> Any:
        return self.cluster.view.uid

    def restart(self) -> None:
        self.delivery = PasswordDelivery(
            {"apps": self.sink},
            self.cluster,
            self.passwords,
            self.cluster,
            clock=lambda: self.now,
            may_act=lambda: self.leads,
        )

    def made(self, *users: facts.UserDeclaration) -> str:
        """The users are declared, and Kafka has the password of `alice`."""
        self.cluster.record(facts.UsersDeclared(users, "api", "", ""))
        secret = self.passwords.of(self.uid, {"alice": 1})["alice"].get_secret_value()
        self.cluster.record(APPLIED)
        return secret

    def poll(self, *, after_s: float = 0.0) -> None:
        self.now += timedelta(seconds=after_s)
        self.delivery.poll()

    @property
    def degraded(self) -> tuple[bool, str, str]:
        told = users_degraded(self.cluster.view)
        return told.status, told.reason, told.message


@pytest.fixture
def world() -> World:
    return World()


def test_it_is_delivered_once_recorded_and_then_dropped(world: World) -> None:
    secret = world.made(ANNA)
    world.poll()
    assert world.sink.taken == [("alice", 1, secret)]
    assert world.cluster.events[-1] == facts.UserPasswordDelivered("alice", 1, "apps")
    assert not world.passwords.look(world.uid, 1)
    world.poll(after_s=600)
    assert world.sink.tries == 1
    delivery = world.cluster.view.users.by_name["alice"].password.delivery
    assert delivery is not None
    assert (delivery.sink, delivery.number, delivery.at) == ("apps", 1, NOW)


def test_before_kafka_has_it_nothing_is_delivered_nor_of_users_without_a_sink(world: World) -> None:
    world.cluster.record(facts.UsersDeclared((ANNA,), "api", "", ""))
    world.passwords.of(world.uid, {"alice": 1})
    world.poll()
    other = World()
    other.made(ALICE)
    other.poll()
    assert world.sink.tries == other.sink.tries == 0
    assert other.passwords.look(other.uid, 1)


def test_another_password_is_delivered_anew(world: World) -> None:
    world.made(ANNA)
    world.poll()
    world.cluster.record(facts.UserPasswordRequested("alice", 2, "leaked"))
    world.poll()
    second = world.passwords.of(world.uid, {"alice": 2})["alice"].get_secret_value()
    world.cluster.record(facts.UsersChanged("", {"alice": 2}, (), (), (), ()))
    world.poll()
    assert [number for _, number, _ in world.sink.taken] == [1, 2]
    assert world.sink.taken[-1][2] == second


def test_what_a_sink_does_not_take_is_told_once_and_tried_again_after_a_pause(world: World) -> None:
    secret = world.made(ANNA)
    world.sink.fault = NotWritten("SinkUnusable", "sink `apps`: /var/x is not there")
    before = len(world.cluster.events)
    world.poll()
    world.poll(after_s=1)
    assert world.sink.tries == 1
    world.poll(after_s=1.5)
    assert world.sink.tries == 2
    assert len(world.cluster.events) == before + 1
    status, reason, message = world.degraded
    assert (status, reason) == (True, "SinkUnusable")
    assert "alice: SinkUnusable: sink `apps`" in message
    world.sink.fault = None
    world.poll(after_s=300)
    assert world.sink.taken == [("alice", 1, secret)]
    assert not world.degraded[0]


def test_a_sink_that_the_settings_do_not_have_is_told(world: World) -> None:
    world.made(replace(ANNA, deliver_to="other"))
    world.poll()
    assert world.degraded[:2] == (True, "NoSuchSink")
    assert "[kafka.password_sinks]" in world.degraded[2]
    assert world.passwords.look(world.uid, 1)


def test_a_password_that_is_lost_is_not_made_anew(world: World) -> None:
    world.made(ANNA)
    world.passwords.kept.clear()
    world.poll()
    assert world.sink.tries == 0
    assert world.degraded[:2] == (True, "PasswordLost")
    assert not world.passwords.look(world.uid, 1)


def test_killed_between_sink_and_record_it_is_delivered_again(world: World) -> None:
    secret = world.made(ANNA)
    handle = world.cluster.handle

    class Died(BaseException):
        pass

    def die(command: Command) -> object:
        raise Died

    world.cluster.handle = die  # type: ignore[method-assign]
    with pytest.raises(Died):
        world.poll()
    world.cluster.handle = handle  # type: ignore[method-assign]
    world.restart()
    world.poll()
    assert world.sink.taken == [("alice", 1, secret)] * 2
    assert not world.passwords.look(world.uid, 1)


def test_killed_between_record_and_drop_the_copy_is_dropped_by_the_next_server(world: World) -> None:
    world.made(ANNA)
    world.cluster.record(facts.UserPasswordDelivered("alice", 1, "apps"))
    assert world.passwords.look(world.uid, 1)
    world.restart()
    world.poll()
    assert world.sink.tries == 0
    assert not world.passwords.look(world.uid, 1)


def test_who_does_not_lead_writes_nothing(world: World) -> None:
    world.made(ANNA)
    world.leads = False
    world.poll()
    assert world.sink.tries == 0


def test_a_sink_that_does_not_answer_is_asked_once_a_round(world: World) -> None:
    bob = replace(ANNA, name="bob")
    world.cluster.record(facts.UsersDeclared((ANNA, bob), "api", "", ""))
    world.passwords.of(world.uid, {"alice": 1, "bob": 2})
    world.cluster.record(facts.UsersChanged("", {"alice": 1, "bob": 2}, (), ("alice", "bob"), (), ()))
    world.sink.fault = NotWritten("Unreachable", "sink `apps` does not answer", of_sink=True)
    world.poll()
    assert world.sink.tries == 1
    assert world.cluster.view.users.all_troubles.keys() == {"alice", "bob"}


def test_who_collects_it_by_hand_meanwhile_is_not_told_twice(world: World) -> None:
    world.made(ANNA)
    world.cluster.record(facts.UserPasswordCollected("alice", 1))
    world.poll()
    assert world.sink.tries == 0
    assert not world.degraded[0]


def test_no_event_log_or_condition_shows_it(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = world.made(ANNA)
    world.sink.fault = NotWritten("SinkUnusable", "sink `apps`: no room")
    world.poll()
    world.sink.fault = None
    world.poll(after_s=300)
    assert world.sink.taken
    told = f"{world.cluster.events} {world.cluster.view} {world.degraded} {caplog.text} {world.delivery!r}"
    assert secret in str(world.sink.taken)
    assert secret not in told.replace(str(world.sink.taken), "")
