"""A ZooKeeper ensemble as values: its configuration with the version, and how each server stands. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agent.host_port import HostPort, plain_host

Role = Literal["participant", "observer"]

_LINE = re.compile(
    r"server\.(?P<id>\d+)=(?P<address>\[[^\]]+\]|[^:;]+):(?P<peer>\d+):(?P<election>\d+)(:(?P<role>participant|observer))?"
    r"(;((?P<client>\[[^\]]+\]|[^:;]+):)?(?P<port>\d+))?"
)

PLAIN_PORT, SECURE_PORT = 2181, 2182
"""Where clients reach servers, and those that speak TLS. No membership has the second: ZooKeeper's have ports that are
open in plaintext alone."""


@dataclass(frozen=True, slots=True, order=True)
class ZooKeeperMember:
    """One server. Participants vote; observers only follow. Addresses are compared, however they are written."""

    id: int
    address: str
    port: int = PLAIN_PORT
    peer_port: int = 2888
    election_port: int = 3888
    role: Role = "participant"

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", plain_host(self.address))

    @property
    def line(self) -> str:
        """As ZooKeeper writes it and `reconfig` takes it (ZooKeeper Dynamic Reconfiguration, "Specifying the client
        port")."""
        peers = f"server.{self.id}={HostPort(self.address, self.peer_port)}:{self.election_port}:{self.role}"
        return peers if self.port == SECURE_PORT else f"{peers};{self.endpoint}"

    @property
    def endpoint(self) -> str:
        """Where clients connect, `host:port`."""
        return str(HostPort(self.address, self.port))


@dataclass(frozen=True, slots=True)
class EnsembleConfig:
    """Who belongs to the ensemble. `version` grows with every change: a change names the one it was decided on."""

    version: int
    members: tuple[ZooKeeperMember, ...]

    @property
    def participants(self) -> tuple[ZooKeeperMember, ...]:
        return tuple(m for m in self.members if m.role == "participant")

    def member(self, server: int) -> ZooKeeperMember | None:
        return next((m for m in self.members if m.id == server), None)


@dataclass(frozen=True, slots=True)
class MemberHealth:
    """How one server stands by its own word. `mode` is leader, follower or observer, "" while it serves nobody or does
    not answer (`problem` says which). `zxid` is the last transaction it has applied: epoch << 32 | counter."""

    id: int
    mode: str = ""
    zxid: int = 0
    problem: str = ""

    @property
    def serves(self) -> bool:
        return bool(self.mode)


@dataclass(frozen=True, slots=True)
class EnsembleSeen:
    """One look. `at` is before the first request. `config` is None when no server served: without a majority nobody
    tells who belongs to the ensemble."""

    at: datetime
    config: EnsembleConfig | None
    health: Mapping[int, MemberHealth]

    @property
    def leader(self) -> MemberHealth | None:
        return next((h for h in self.health.values() if h.mode == "leader"), None)

    def of(self, server: int) -> MemberHealth:
        """Its health; a server nobody asked has not answered."""
        return self.health.get(server) or MemberHealth(server, problem="it was not asked")


def parse_config(text: str) -> EnsembleConfig:
    """The content of `/zookeeper/config`. Raises `ValueError` on a line it does not understand: a member that is not
    seen would be taken for one that is missing."""
    members, version = [], None
    for line in filter(None, (line.strip() for line in text.splitlines())):
        if line.startswith("version="):
            version = int(line.removeprefix("version="), 16)
        elif found := _LINE.fullmatch(line):
            members.append(_member(found))
        else:
            raise ValueError(f"this line of the ensemble's configuration is not understood: {line!r}")
    if version is None:
        raise ValueError("the ensemble's configuration has no version")
    return EnsembleConfig(version, tuple(sorted(members)))


def named(servers: Iterable[int]) -> str:
    """For people: `1, 2 and 3`."""
    ids = [str(i) for i in sorted(servers)]
    return ids[0] if len(ids) == 1 else f"{', '.join(ids[:-1])} and {ids[-1]}" if ids else "none"


def _member(found: re.Match[str]) -> ZooKeeperMember:
    return ZooKeeperMember(
        id=int(found["id"]),
        address=found["client"] or found["address"],
        port=int(found["port"] or SECURE_PORT),
        peer_port=int(found["peer"]),
        election_port=int(found["election"]),
        role="observer" if found["role"] == "observer" else "participant",
    )
