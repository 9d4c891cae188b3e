"""The ensemble of one cluster: a port, and the implementation by kazoo and four-letter words."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError

from controlplane.kafka.zookeeper.errors import StaleConfig, ZooKeeperRefused, ZooKeeperUnavailable
from controlplane.kafka.zookeeper.four_letter_words import health_of
from controlplane.kafka.zookeeper.members import (
    EnsembleConfig,
    EnsembleSeen,
    MemberHealth,
    ZooKeeperMember,
    parse_config,
)
from controlplane.kafka.zookeeper.sessions import CONNECT_S, ShownTo, plaintext, session
from controlplane.runtime.call_errors import CallFault

_CONFIG = "/zookeeper/config"
_ANSWER_S = 2.0


class Ensemble(Protocol):
    """One ensemble. Calls end within 10 s and raise ZooKeeperUnavailable (later) or ZooKeeperRefused (never so)."""

    def look(self, newcomers: Sequence[ZooKeeperMember] = ()) -> EnsembleSeen:
        """Who belongs to it, and how each of them, of the known servers and of `newcomers` stands. Never raises: an
        ensemble that serves nobody is a reading too (`config` is None)."""

    def join(self, member: ZooKeeperMember, *, from_version: int) -> EnsembleConfig:
        """Let a server that has caught up take part; the configuration after that. Raises StaleConfig when the
        ensemble is not at `from_version` any more."""

    def leave(self, server: int, *, from_version: int) -> EnsembleConfig:
        """Take a server out; the configuration after that. Raises StaleConfig as `join` does."""

    def config(self) -> EnsembleConfig:
        """Who belongs to it, as its leader has it."""

    def tell_port(self, port: int, *, from_version: int) -> EnsembleConfig:
        """Have the membership say of every server that clients reach it there, in plaintext; `SECURE_PORT` is never
        said. Nothing is opened or closed by it (3.8, `QuorumPeer.processReconfig`): starts go by it. Raises StaleConfig
        as `join` does."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class KazooEnsemble:
    """By a session per call, opened at any of the known servers."""

    def __init__(
        self,
        cluster: str,
        known: Callable[[], Sequence[ZooKeeperMember]],
        *,
        password: str,
        now: Callable[[], datetime] = utc_now,
        connect_s: float = CONNECT_S,
        tls: ShownTo = plaintext,
    ) -> None:
        """`known` are the servers Kedge has started, read at every call: where to connect, and whom to ask."""
        self._cluster = cluster
        self._known = known
        self._password = password
        self._now = now
        self._connect_s = connect_s
        self._tls = tls

    def look(self, newcomers: Sequence[ZooKeeperMember] = ()) -> EnsembleSeen:
        at = self._now()
        try:
            config = self._read()
        except (ZooKeeperUnavailable, ZooKeeperRefused):
            config = None
        members = self._reached(config.members) if config else ()
        asked = {m.id: m for m in (*self._known(), *newcomers, *members)}
        return EnsembleSeen(at, config, self._ask(list(asked.values())))

    def _reached(self, members: Sequence[ZooKeeperMember]) -> Sequence[ZooKeeperMember]:
        """Where servers are that somebody else knows of: the membership only says where they are in plaintext, and on
        the way to TLS some are to be spoken to otherwise."""
        ports = {m.id: m.port for m in self._known()}
        return [replace(m, port=ports.get(m.id, m.port)) for m in members]

    def join(self, member: ZooKeeperMember, *, from_version: int) -> EnsembleConfig:
        what = f"letting server {member.id} ({member.endpoint}) take part"
        return self._reconfigure(what, from_version, lambda there: [m for m in there if m.id != member.id] + [member])

    def leave(self, server: int, *, from_version: int) -> EnsembleConfig:
        what = f"taking server {server} out"
        return self._reconfigure(what, from_version, lambda there: [m for m in there if m.id != server])

    def config(self) -> EnsembleConfig:
        return self._read()

    def tell_port(self, port: int, *, from_version: int) -> EnsembleConfig:
        what = "changing what the membership says of ports"
        return self._reconfigure(what, from_version, lambda there: [replace(m, port=port) for m in there])

    def _read(self) -> EnsembleConfig:
        """As the leader has it: a follower may be behind, so it is told to catch up first (`sync`)."""
        what = "reading the ensemble's configuration"
        with self._session(what) as client:
            return self._current(client, what)

    def _current(self, client: KazooClient, what: str) -> EnsembleConfig:
        client.sync(_CONFIG)
        text, _ = client.get(_CONFIG)
        return self._parsed(text, what)

    def _reconfigure(
        self, what: str, from_version: int, changed: Callable[[list[ZooKeeperMember]], list[ZooKeeperMember]]
    ) -> EnsembleConfig:
        """Names all members there are to be, on the version it was decided on: ZooKeeper refuses it if that is not the
        last one. What only names who comes it refuses where members have no port in plaintext (3.8,
        `PrepRequestProcessor`)."""
        with self._session(what) as client:
            before = self._current(client, what)
            if before.version != from_version:
                raise StaleConfig(what=what, where=self._cluster, from_version=from_version)
            lines = "\n".join(m.line for m in changed(list(before.members)))
            try:
                text, _ = client.reconfig(joining=None, leaving=None, new_members=lines, from_config=from_version)
            except BadVersionError as error:
                raise StaleConfig(what=what, where=self._cluster, from_version=from_version) from error
            return self._parsed(text, what)

    def _session(self, what: str) -> AbstractContextManager[KazooClient]:
        endpoints = [m.endpoint for m in self._known()]
        return session(
            endpoints, self._password, what=what, where=self._cluster, connect_s=self._connect_s, tls=self._tls
        )

    def _parsed(self, text: bytes, what: str) -> EnsembleConfig:
        try:
            return parse_config(text.decode("utf-8"))
        except ValueError as error:
            raise ZooKeeperRefused(what=what, where=self._cluster, why=str(error)) from error

    def _ask(self, members: Sequence[ZooKeeperMember]) -> dict[int, MemberHealth]:
        if not members:
            return {}
        try:
            tls = self._tls()
        except CallFault as fault:  # nobody was asked: nobody is said to be silent
            return {m.id: MemberHealth(m.id, problem=f"{m.endpoint} was not asked: {fault.why}") for m in members}
        with ThreadPoolExecutor(max_workers=len(members)) as pool:
            return {h.id: h for h in pool.map(lambda m: health_of(m, timeout_s=_ANSWER_S, tls=tls), members)}
