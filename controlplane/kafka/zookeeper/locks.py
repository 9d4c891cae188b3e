"""Locks in ZooKeeper: one restart at a time, whoever restarts. An ephemeral node, which dies with its holder's session.

A lock is advice, not a fence: a holder that lost its session may still be busy. So losing it stops new steps and leaves
the running one alone, and every step has its own gate (min ISR, majority) besides.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.security import ACL, CREATOR_ALL_ACL, READ_ACL_UNSAFE

from controlplane.kafka.gates import Gate
from controlplane.kafka.zookeeper.errors import ZooKeeperUnavailable
from controlplane.kafka.zookeeper.sessions import CONNECT_S, SESSION_S, ShownTo, faults, new_client, plaintext

RESTART = "restart"
_ROOT = "/kedge/locks"

LockStatus: TypeAlias = Literal["held", "unsure", "lost"]
"""`held` by a session that is connected; `unsure` while it is not (it may still live); `lost` or never taken."""


@dataclass(frozen=True, slots=True)
class Taken:
    """It is ours. `token` grows with every holder (the node's creation in ZooKeeper's order): a later one is higher."""

    token: int


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Somebody else has it, in their own words."""

    holder: str
    why: str


class Locks(Protocol):
    """The locks of one cluster, held by one session."""

    def take(self, name: str, *, why: str) -> Taken | HeldBy:
        """Now or not at all; taking what one holds is fine. Raises ZooKeeperUnavailable."""

    def status(self, name: str) -> LockStatus:
        """From memory, without a call."""

    def release(self, name: str) -> None:
        """Give it back; a lock that was lost is left alone, as it may be another's. Raises ZooKeeperUnavailable."""

    def close(self) -> None:
        """End the session: all its locks are free at once."""


def may_begin(status: LockStatus, name: str = RESTART) -> Gate:
    """Whether a new step may begin under the lock. A step that runs is not asked about: it ends as it began."""
    match status:
        case "held":
            return Gate(True, f"the {name} lock is held")
        case "unsure":
            return Gate(False, f"ZooKeeper does not answer, the {name} lock may be lost: no new step; what runs ends")
        case "lost":
            return Gate(False, f"the {name} lock is not held: take it first")


class KazooLocks:
    """By one lasting session. It is opened with the first lock; kazoo keeps it alive in a thread of its own."""

    def __init__(
        self,
        cluster: str,
        endpoints: Callable[[], Sequence[str]],
        *,
        holder: str,
        password: str,
        session_s: float = SESSION_S,
        tls: ShownTo = plaintext,
    ) -> None:
        """`holder`: what others are told, e.g. the name of this server."""
        self._cluster = cluster
        self._endpoints = endpoints
        self._holder = holder
        self._password = password
        self._session_s = session_s
        self._tls = tls
        self._client: KazooClient | None = None
        self._sessions: dict[str, int] = {}

    def take(self, name: str, *, why: str) -> Taken | HeldBy:
        path, what = f"{_ROOT}/{name}", f"taking the {name} lock"
        content = json.dumps({"holder": self._holder, "why": why}).encode()
        with faults(what=what, where=self._cluster):
            client = self._connected(what)
            client.ensure_path(_ROOT)
            for _ in range(3):
                # It may be another's, or ours by an attempt whose answer was lost: its owner tells.
                with suppress(NodeExistsError):
                    client.create(path, content, acl=self._acl(), ephemeral=True)
                try:
                    told, stat = client.get(path)
                except NoNodeError:
                    continue  # freed between the two
                if stat.ephemeralOwner != self._session_id(client):
                    return _held_by(told)
                self._sessions[name] = stat.ephemeralOwner
                return Taken(stat.czxid)
        raise ZooKeeperUnavailable(what=what, where=self._cluster, why="it changed hands three times meanwhile")

    def status(self, name: str) -> LockStatus:
        taken_in, client = self._sessions.get(name), self._client
        if taken_in is None or client is None or self._session_id(client) not in (taken_in, 0):
            return "lost"
        return "held" if client.connected and self._session_id(client) == taken_in else "unsure"

    def release(self, name: str) -> None:
        path, what = f"{_ROOT}/{name}", f"giving the {name} lock back"
        taken_in = self._sessions.get(name)
        if taken_in is None:
            return
        with faults(what=what, where=self._cluster):
            client = self._connected(what)
            stat = client.exists(path)
            if stat is not None and stat.ephemeralOwner == taken_in:
                client.delete(path, version=stat.version)
        del self._sessions[name]

    def close(self) -> None:
        if self._client is not None:
            self._client.stop()
            self._client.close()
        self._client = None
        self._sessions.clear()

    def _connected(self, what: str) -> KazooClient:
        if self._client is None:
            client = new_client(self._endpoints(), self._password, session_s=self._session_s, tls=self._tls)
            try:
                client.start(timeout=CONNECT_S)
            except BaseException:
                client.stop()
                client.close()
                raise
            self._client = client
        if not self._client.connected:
            raise ZooKeeperUnavailable(what=what, where=self._cluster, why="the session is not connected now")
        return self._client

    def _acl(self) -> list[ACL]:
        """All may look who holds it; only the holder's user may take it away."""
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE] if self._password else []

    @staticmethod
    def _session_id(client: KazooClient) -> int:
        """0 between two sessions."""
        session = client.client_id
        return int(session[0]) if session else 0


def _held_by(content: bytes) -> HeldBy:
    try:
        document = json.loads(content)
        return HeldBy(str(document["holder"]), str(document["why"]))
    except (ValueError, KeyError, TypeError):
        return HeldBy("somebody who is not Kedge", content.decode("utf-8", errors="replace")[:200])
