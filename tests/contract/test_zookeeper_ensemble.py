"""What an `Ensemble` and `Locks` promise, asked of the fakes in memory and of real ZooKeeper servers alike.

One ensemble per implementation: servers 1, 2 and 3, a newcomer 4. The last tests take the majority away. A test
that begins on other members than the founders brings them about itself (`_reach`), since it may run without those
before it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from controlplane.kafka.zookeeper.ensemble import Ensemble, KazooEnsemble
from controlplane.kafka.zookeeper.errors import StaleConfig, ZooKeeperRefused, ZooKeeperUnavailable
from controlplane.kafka.zookeeper.locks import HeldBy, KazooLocks, Locks, Taken, may_begin
from controlplane.kafka.zookeeper.members import EnsembleConfig, ZooKeeperMember
from tests.fakes.zookeeper import FakeEnsemble, FakeLocks, FakeNodes
from tests.waiting import until
from tests.zookeeper_processes import SUPER_PASSWORD, ZooKeeperProcesses

FOUNDING_MEMBERS = (1, 2, 3)


class World(Protocol):
    """An ensemble, and a hand on the machines behind it."""

    ensemble: Ensemble

    def member(self, server: int) -> ZooKeeperMember: ...
    def start_newcomer(self, server: int) -> None: ...
    def kill(self, server: int) -> None: ...
    def stranger(self) -> Ensemble:
        """The same ensemble, by somebody who does not know the password."""
        ...

    def locks(self, holder: str) -> Locks: ...
    def until(self, condition: Callable[[], object], what: str) -> None: ...


class FakeWorld:
    def __init__(self) -> None:
        self.fake = FakeEnsemble()
        self.ensemble: Ensemble = self.fake
        self.fake.found(self.member(i) for i in FOUNDING_MEMBERS)
        self.nodes = FakeNodes()
        self.sessions: list[FakeLocks] = []

    def member(self, server: int) -> ZooKeeperMember:
        return ZooKeeperMember(server, f"10.0.1.{server}")

    def start_newcomer(self, server: int) -> None:
        self.fake.start(self.member(server))

    def kill(self, server: int) -> None:
        self.fake.stop(server)
        for session in self.sessions:
            session.connected = self.fake.look().config is not None

    def stranger(self) -> Ensemble:
        other = FakeEnsemble(authorised=False)
        other.found(self.member(i) for i in FOUNDING_MEMBERS)
        return other

    def locks(self, holder: str) -> Locks:
        self.sessions.append(FakeLocks(self.nodes, holder=holder))
        return self.sessions[-1]

    def until(self, condition: Callable[[], object], what: str) -> None:
        for _ in range(100):
            if condition():
                return
            self.fake.advance(0.1)
        raise TimeoutError(f"ten seconds of the fake's time passed without {what}")


class RealWorld:
    def __init__(self, root: Path) -> None:
        self.processes = ZooKeeperProcesses(root, network="127.0.51")
        self.ensemble: Ensemble = self._ensemble(SUPER_PASSWORD)

    def member(self, server: int) -> ZooKeeperMember:
        return ZooKeeperMember(server, f"127.0.51.{100 + server}")

    def start_newcomer(self, server: int) -> None:
        self.processes.add_server(server, members=FOUNDING_MEMBERS)

    def kill(self, server: int) -> None:
        self.processes.kill(self.processes.servers[server])

    def stranger(self) -> Ensemble:
        return self._ensemble("not the password")

    def locks(self, holder: str) -> Locks:
        return KazooLocks("contract", self._endpoints, holder=holder, password=SUPER_PASSWORD)

    def until(self, condition: Callable[[], object], what: str) -> None:
        until(condition, what, timeout_s=30)

    def _ensemble(self, password: str) -> KazooEnsemble:
        return KazooEnsemble("contract", self._known, password=password, connect_s=1.5)

    def _known(self) -> list[ZooKeeperMember]:
        return [self.member(i) for i in self.processes.servers]

    def _endpoints(self) -> list[str]:
        return [m.endpoint for m in self._known()]


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    real = RealWorld(tmp_path_factory.mktemp("zookeeper-contract"))
    try:
        real.processes.found(FOUNDING_MEMBERS)
        yield real
    finally:
        real.processes.close()


def test_a_look_tells_who_belongs_to_it_and_who_leads(world: World) -> None:
    seen = world.ensemble.look()
    assert seen.config is not None
    assert seen.config.participants == tuple(world.member(i) for i in FOUNDING_MEMBERS)
    assert sorted(h.mode for h in seen.health.values()) == ["follower", "follower", "leader"]


def test_one_who_does_not_know_the_password_changes_nothing(world: World) -> None:
    stranger = world.stranger()
    config = stranger.look().config
    assert config is not None
    with pytest.raises(ZooKeeperRefused, match="super user"):
        stranger.leave(3, from_version=config.version)
    assert _participants(world) == FOUNDING_MEMBERS


def test_a_newcomer_is_no_part_of_it_until_it_was_let_in(world: World) -> None:
    wanted = [world.member(i) for i in (1, 2, 3, 4)]
    assert not world.ensemble.look(wanted).of(4).serves

    world.start_newcomer(4)
    world.until(lambda: world.ensemble.look(wanted).of(4).serves, "the newcomer to catch up")
    assert _participants(world) == FOUNDING_MEMBERS
    before = _config(world).version
    grown = world.ensemble.join(world.member(4), from_version=before)
    assert {m.id for m in grown.participants} == {1, 2, 3, 4}
    assert grown.version > before
    assert _participants(world) == (1, 2, 3, 4)


def test_a_change_decided_on_an_old_version_is_refused_and_changes_nothing(world: World) -> None:
    _reach(world, (1, 2, 3, 4))
    config = _config(world)
    with pytest.raises(StaleConfig, match="decide anew") as refused:
        world.ensemble.leave(1, from_version=config.version - 1)
    assert refused.value.from_version == config.version - 1
    assert _participants(world) == (1, 2, 3, 4)


def test_one_that_is_not_wanted_any_more_leaves(world: World) -> None:
    _reach(world, (1, 2, 3, 4))
    shrunk = world.ensemble.leave(1, from_version=_config(world).version)
    assert {m.id for m in shrunk.participants} == {2, 3, 4}
    world.kill(1)
    world.until(lambda: world.ensemble.look().leader is not None, "the ensemble to have a leader")
    assert _participants(world) == (2, 3, 4)


def test_a_lock_is_held_by_one_at_a_time_and_free_once_it_is_given_back(world: World) -> None:
    ours, theirs = world.locks("server-a"), world.locks("server-b")
    try:
        assert not may_begin(ours.status("restart")).open
        first = ours.take("restart", why="broker 1000 is to restart")
        assert isinstance(first, Taken)
        assert ours.take("restart", why="again") == first
        assert may_begin(ours.status("restart")).open
        assert theirs.take("restart", why="broker 1001") == HeldBy("server-a", "broker 1000 is to restart")
        assert theirs.status("restart") == "lost"
        theirs.release("restart")
        assert ours.status("restart") == "held"

        ours.release("restart")
        assert ours.status("restart") == "lost"
        second = theirs.take("restart", why="broker 1001")
        assert isinstance(second, Taken)
        theirs.close()
        assert isinstance(ours.take("restart", why="after theirs ended"), Taken)
    finally:
        ours.close()
        theirs.close()


def test_without_a_majority_nothing_is_changed_and_a_lock_lets_nothing_begin(world: World) -> None:
    _reach(world, (2, 3, 4))
    locks = world.locks("server-a")
    try:
        assert isinstance(locks.take("restart", why="a broker is to restart"), Taken)
        config = _config(world)
        world.kill(3)
        world.kill(4)
        world.until(lambda: world.ensemble.look().config is None, "the last server to stop serving")
        with pytest.raises(ZooKeeperUnavailable):
            world.ensemble.leave(3, from_version=config.version)
        assert locks.status("restart") == "unsure"
        assert not may_begin(locks.status("restart")).open
        with pytest.raises(ZooKeeperUnavailable):
            locks.take("restart", why="once more")
    finally:
        locks.close()


def _serves(world: World, server: int) -> bool:
    return world.ensemble.look([world.member(server)]).of(server).serves


def _reach(world: World, wanted: tuple[int, ...]) -> None:
    """Lets members in and out, one at a time, until `wanted` are those who belong to the ensemble."""
    for server in wanted:
        if not _serves(world, server):
            world.start_newcomer(server)
    for server in (i for i in wanted if i not in _participants(world)):
        world.until(partial(_serves, world, server), "a newcomer to catch up")
        world.ensemble.join(world.member(server), from_version=_config(world).version)
    for server in (i for i in _participants(world) if i not in wanted):
        world.ensemble.leave(server, from_version=_config(world).version)


def _participants(world: World) -> tuple[int, ...]:
    return tuple(m.id for m in _config(world).participants)


def _config(world: World) -> EnsembleConfig:
    config = world.ensemble.look().config
    assert config is not None
    return config
