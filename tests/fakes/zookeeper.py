"""An ensemble in memory by ZooKeeper's rules: majorities, versions, catching up; and locks that die with sessions.

Its clock is the test's: `advance` lets newcomers catch up. Passes the contract suite of real servers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from controlplane.kafka.zookeeper.errors import StaleConfig, ZooKeeperRefused, ZooKeeperUnavailable
from controlplane.kafka.zookeeper.locks import HeldBy, LockStatus, Taken
from controlplane.kafka.zookeeper.members import EnsembleConfig, EnsembleSeen, MemberHealth, ZooKeeperMember

_CATCHES_UP_S = 1.0
_EPOCH = 1 << 32


@dataclass
class _Server:
    member: ZooKeeperMember
    started_s: float
    runs: bool = True


class FakeEnsemble:
    """One ensemble. `found`, `start`, `stop` are the hands on its machines."""

    def __init__(self, *, authorised: bool = True) -> None:
        self.now_s = 0.0
        self.authorised = authorised
        self._servers: dict[int, _Server] = {}
        self._config = EnsembleConfig(_EPOCH, ())
        self._zxid = _EPOCH

    def found(self, members: Iterable[ZooKeeperMember]) -> None:
        self._config = EnsembleConfig(_EPOCH, tuple(sorted(members)))
        for member in self._config.members:
            self._servers[member.id] = _Server(member, self.now_s - _CATCHES_UP_S)

    def start(self, member: ZooKeeperMember) -> None:
        """A newcomer, or one that was stopped."""
        self._servers[member.id] = _Server(member, self.now_s)

    def stop(self, server: int) -> None:
        self._servers[server].runs = False

    def advance(self, seconds: float) -> None:
        self.now_s += seconds

    def look(self, newcomers: Sequence[ZooKeeperMember] = ()) -> EnsembleSeen:
        health = {i: self._health(i) for i in self._servers}
        for member in newcomers:
            health.setdefault(member.id, self._health(member.id))
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now_s)
        return EnsembleSeen(at, self._config if self._has_majority(self._config) else None, health)

    def join(self, member: ZooKeeperMember, *, from_version: int) -> EnsembleConfig:
        others = tuple(m for m in self._config.members if m.id != member.id)
        what = f"letting server {member.id} ({member.endpoint}) take part"
        return self._change(what, (*others, replace(member, role="participant")), from_version)

    def leave(self, server: int, *, from_version: int) -> EnsembleConfig:
        left = tuple(m for m in self._config.members if m.id != server)
        return self._change(f"taking server {server} out", left, from_version)

    def config(self) -> EnsembleConfig:
        if not self._has_majority(self._config):
            raise ZooKeeperUnavailable(what="reading the configuration", where="fake", why="no server serves")
        return self._config

    def tell_port(self, port: int, *, from_version: int) -> EnsembleConfig:
        told = tuple(replace(m, port=port) for m in self._config.members)
        return self._change("changing what the membership says of ports", told, from_version)

    def _change(self, what: str, members: tuple[ZooKeeperMember, ...], from_version: int) -> EnsembleConfig:
        if not self._has_majority(self._config):
            raise ZooKeeperUnavailable(what=what, where="fake", why="no server serves")
        if not self.authorised:
            raise ZooKeeperRefused(what=what, where="fake", why="the servers do not take Kedge for their super user")
        if from_version != self._config.version:
            raise StaleConfig(what=what, where="fake", from_version=from_version)
        self._zxid += 1
        changed = EnsembleConfig(self._zxid, tuple(sorted(members)))
        if not self._has_majority(changed):
            raise ZooKeeperUnavailable(
                what=what, where="fake", why="a majority of the changed ensemble is not connected"
            )
        self._config = changed
        return changed

    def _has_majority(self, config: EnsembleConfig) -> bool:
        up = [m for m in config.participants if self._is_synced(m.id)]
        return len(up) > len(config.participants) // 2

    def _is_synced(self, server: int) -> bool:
        known = self._servers.get(server)
        return known is not None and known.runs and self.now_s - known.started_s >= _CATCHES_UP_S

    def _health(self, server: int) -> MemberHealth:
        known = self._servers.get(server)
        if known is None or not known.runs:
            return MemberHealth(server, problem="it does not answer: connection refused")
        if not self._is_synced(server) or not self._has_majority(self._config):
            return MemberHealth(server, problem='it says "This ZooKeeper instance is not currently serving requests"')
        leader = max(m.id for m in self._config.participants if self._is_synced(m.id))
        return MemberHealth(server, mode="leader" if server == leader else "follower", zxid=self._zxid)


@dataclass
class FakeNodes:
    """Ephemeral nodes by name: (session, token, holder, why). `created` numbers them."""

    held: dict[str, tuple[int, int, str, str]] = field(default_factory=dict)
    created: int = 0
    ended: set[int] = field(default_factory=set)
    """Sessions the ensemble has ended: their holders find out at their next call."""
    silent: bool = False
    """No session is connected."""


class FakeLocks:
    """The locks of one session; several share `nodes`."""

    def __init__(self, nodes: FakeNodes, *, holder: str) -> None:
        self._nodes = nodes
        self._holder = holder
        self._last = id(self)
        self._taken: dict[str, int] = {}
        self._connected = True

    @property
    def connected(self) -> bool:
        return self._connected and not self._nodes.silent

    @connected.setter
    def connected(self, is_so: bool) -> None:
        self._connected = is_so

    @property
    def _session(self) -> int:
        """Another one where the ensemble has ended the last."""
        while self._last in self._nodes.ended:
            self._last += 1
        return self._last

    def expire(self) -> None:
        """The session ends, and its nodes with it; the next call has a new one."""
        for name in [n for n, (session, *_) in self._nodes.held.items() if session == self._session]:
            del self._nodes.held[name]
        self._last += 1

    def take(self, name: str, *, why: str) -> Taken | HeldBy:
        self._require(f"taking the {name} lock")
        if name not in self._nodes.held:
            self._nodes.created += 1
            self._nodes.held[name] = (self._session, self._nodes.created, self._holder, why)
        owner, token, holder, words = self._nodes.held[name]
        if owner != self._session:
            return HeldBy(holder, words)
        self._taken[name] = owner
        return Taken(token)

    def status(self, name: str) -> LockStatus:
        if self._taken.get(name) != self._session:
            return "lost"
        return "held" if self.connected else "unsure"

    def release(self, name: str) -> None:
        self._require(f"giving the {name} lock back")
        if name in self._nodes.held and self._nodes.held[name][0] == self._taken.get(name):
            del self._nodes.held[name]
        self._taken.pop(name, None)

    def close(self) -> None:
        self.expire()
        self._taken.clear()

    def _require(self, what: str) -> None:
        if not self.connected:
            raise ZooKeeperUnavailable(what=what, where="fake", why="the session is not connected now")
