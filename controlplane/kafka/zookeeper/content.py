"""What a ZooKeeper ensemble keeps itself between plaintext and TLS: whether its membership says where servers listen in
plaintext, and whose the nodes are that brokers write. What Kafka's `zookeeper-security-migration` does, and both ways.

Kafka 3.9, `kafka.zk.ZkData.defaultAcls`: who made a node may do everything with it, and everybody may read it but what
is of users, of brokers and of delegation tokens. `/consumers` stays everybody's.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, ANYONE_ID_UNSAFE, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, Id, Permissions

from controlplane.kafka.zookeeper import sessions
from controlplane.kafka.zookeeper.ensemble import Ensemble
from controlplane.kafka.zookeeper.members import PLAIN_PORT, SECURE_PORT
from planner.rollout.security_steps import EnsemblePart

_ROOTS = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    "/controller",
    "/controller_epoch",
    "/delegation_token",
    "/feature",
    "/isr_change_notification",
    "/kafka-acl",
    "/kafka-acl-changes",
    "/kafka-acl-extended",
    "/kafka-acl-extended-changes",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/migration",
)
"""`ZkData.SecureRootPaths`: what brokers write. What is beside them is somebody else's."""
_SENSITIVE = ("/config/brokers", "/config/users", "/delegation_token/tokens")
_MARK_ROOT, _MARK = "/kedge", "/kedge/owners"
_AT_ONCE = 1000
"""So many requests are asked before the first answer is read."""
_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class EnsembleContent:
    """What it is to keep: that of TLS, or that of plaintext. `owner` is the subject of all nodes' certificates, and
    `mark` says what for the nodes were made somebody's."""

    part: EnsemblePart
    is_secure: bool
    owner: str
    mark: str


class ContentReconciler(Protocol):
    """Of one ensemble. Raises ZooKeeperUnavailable (later) or ZooKeeperRefused (never so)."""

    def is_right(self, wanted: EnsembleContent) -> bool: ...

    def put(self, wanted: EnsembleContent) -> None:
        """Has it be so; again is fine, and goes on with what is left."""


class KazooContent:
    """By a session per call."""

    def __init__(self, ensemble: Ensemble, session: sessions.Sessions) -> None:
        """`session`: one as ZooKeeper's super user, for what is said to be done."""
        self._ensemble = ensemble
        self._session = session

    def is_right(self, wanted: EnsembleContent) -> bool:
        if wanted.part == "membership":
            config = self._ensemble.config()
            return all(_names_plain(m.port) is not wanted.is_secure for m in config.members)
        with self._session("reading whose the nodes are") as client:
            client.sync(_MARK_ROOT)
            try:
                return bytes(client.get(_MARK)[0]) == _marked(wanted)
            except NoNodeError:
                return False

    def put(self, wanted: EnsembleContent) -> None:
        if wanted.part == "membership":
            config = self._ensemble.config()
            port = SECURE_PORT if wanted.is_secure else PLAIN_PORT
            if any(m.port != port for m in config.members):
                self._ensemble.tell_port(port, from_version=config.version)
            return
        with self._session("making the nodes somebody's") as client:
            client.sync("/")
            for paths in _batches(client):
                _own(client, paths, wanted)
            client.ensure_path(_MARK_ROOT)
            with suppress(NoNodeError):
                client.delete(_MARK)
            client.create(_MARK, _marked(wanted), acl=[*CREATOR_ALL_ACL, *READ_ACL_UNSAFE])


def acls_of(path: str, wanted: EnsembleContent) -> list[ACL]:
    """As a broker would make that node, with `zookeeper.set.acl` or without."""
    if not wanted.is_secure:
        return list(OPEN_ACL_UNSAFE)
    own = [ACL(Permissions.ALL, Id("x509", wanted.owner))]
    is_sensitive = any(path == one or path.startswith(f"{one}/") for one in _SENSITIVE)
    return own if is_sensitive else [*own, ACL(Permissions.READ, ANYONE_ID_UNSAFE)]


def _marked(wanted: EnsembleContent) -> bytes:
    return json.dumps({"owner": wanted.owner if wanted.is_secure else "", "for": wanted.mark}).encode()


def _names_plain(port: int) -> bool:
    return port != SECURE_PORT


def _batches(client: KazooClient) -> Iterator[list[str]]:
    """All that is under the roots, level by level, a thousand at a time."""
    level = list(_ROOTS)
    while level:
        below: list[str] = []
        for begin in range(0, len(level), _AT_ONCE):
            paths = level[begin : begin + _AT_ONCE]
            there = dict(_answers([(path, client.get_children_async(path)) for path in paths]))
            yield list(there)
            below += [f"{path}/{name}" for path, names in there.items() for name in names]
        level = below


def _own(client: KazooClient, paths: Sequence[str], wanted: EnsembleContent) -> None:
    asked = [(path, client.get_acls_async(path)) for path in paths]
    wrong = [path for path, (acls, _) in _answers(asked) if set(acls) != set(acls_of(path, wanted))]
    for _ in _answers([(path, client.set_acls_async(path, acls_of(path, wanted))) for path in wrong]):
        pass


def _answers(asked: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Of what is still there: brokers delete nodes meanwhile."""
    for path, answer in asked:
        with suppress(NoNodeError):
            yield path, answer.get(timeout=_ANSWER_S)
