"""Who is registered in ZooKeeper: the brokers that are alive, and their controller, as ZooKeeper itself has it.

Kafka 3.9, `kafka.zk.ZkData`: `/brokers/ids/<id>` and `/controller` are ephemeral, they go when the session of the
broker does; `/cluster/id` is for ever, `/controller_epoch` grows with each election. A KRaft quorum that takes the
metadata over writes itself into `/controller`, and how far it has come into `/migration`; both stay when it goes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, Protocol, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
)

from agent.host_port import HostPort
from controlplane.kafka.zookeeper import ensemble, errors, registry, sessions
from planner.observed import TopicPartition

_CLUSTER, _BROKERS, _CONTROLLER, _EPOCH = "/cluster/id", "/brokers/ids", "/controller", "/controller_epoch"
_MIGRATION, _TOPICS = "/migration", "/brokers/topics"
_ANSWER_S = 5.0
_Key = TypeVar("_Key")


class ZooKeeperRegistry(Protocol):
    """One cluster's. Raises ZooKeeperUnavailable (later) or ZooKeeperRefused (never so)."""

    def look(self) -> registry.RegistrySeen: ...

    def found(self, cluster_id: str) -> None:
        """Fix the cluster id before the first broker comes: it would make one up. Again is fine; another id is
        ZooKeeperRefused."""

    def partitions(self) -> Mapping[TopicPartition, registry.RegisteredPartition]:
        """Who leads each partition and is in sync, as whoever leads the cluster has written it there."""

    def depose(self, broker: int, epoch: int) -> bool:
        """Delete `/controller` where it is this broker's, of this epoch: the brokers elect one at once, and obey the
        one before no more, as its epoch is old. False, and nothing changed, where it is another's by now."""


class KazooRegistry:
    """By a session per call."""

    def __init__(
        self,
        cluster: str,
        endpoints: Callable[[], Sequence[str]],
        *,
        password: str = "",
        tls: sessions.ShownTo = sessions.plaintext,
        now: Callable[[], datetime] = ensemble.utc_now,
    ) -> None:
        self._cluster = cluster
        self._endpoints = endpoints
        self._password = password
        self._tls = tls
        self._now = now

    def look(self) -> registry.RegistrySeen:
        at, what = self._now(), "reading who is registered"
        with self._session(what) as client:
            client.sync("/")
            brokers = {}
            for name in _children(client, _BROKERS):
                with suppress(NoNodeError):  # gone between the two
                    content, stat = client.get(f"{_BROKERS}/{name}")
                    with sessions.readable(f"{_BROKERS}/{name}"):
                        brokers[int(name)] = _broker(int(name), json.loads(content), stat.ephemeralOwner)
            controller, migration = _json(client, _CONTROLLER), _json(client, _MIGRATION)
            return registry.RegistrySeen(
                at=at,
                cluster_id=str(_json(client, _CLUSTER).get("id", "")),
                brokers=brokers,
                controller=_number(_CONTROLLER, controller.get("brokerid", -1)),
                controller_epoch=_number(_EPOCH, (_content(client, _EPOCH) or b"0").decode("ascii", "replace")),
                kraft_epoch=_number(_CONTROLLER, controller.get("kraftControllerEpoch", -1)),
                has_migration=client.exists(_MIGRATION) is not None,
                written=_number(_MIGRATION, migration.get("kraft_metadata_offset", -1)),
            )

    def partitions(self) -> Mapping[TopicPartition, registry.RegisteredPartition]:
        what = "reading who leads the partitions"
        with self._session(what) as client:
            client.sync("/")
            topics = _each(client, {t: f"{_TOPICS}/{t}" for t in _children(client, _TOPICS)})
            names: list[TopicPartition] = []
            for topic, replicas in topics.items():
                with sessions.readable(f"{_TOPICS}/{topic}"):
                    names += [TopicPartition(topic, int(p)) for p in replicas["partitions"]]
            paths = {n: f"{_TOPICS}/{n.topic}/partitions/{n.partition}/state" for n in names}
            found = {}
            for name, state in _each(client, paths).items():
                with sessions.readable(paths[name]):
                    found[name] = registry.RegisteredPartition(int(state["leader"]), frozenset(state["isr"]))
            return found

    def found(self, cluster_id: str) -> None:
        what = "fixing the cluster id"
        with self._session(what) as client:
            with suppress(NodeExistsError):
                content = json.dumps({"version": "1", "id": cluster_id}).encode()
                client.create(_CLUSTER, content, makepath=True)
            there = str(_json(client, _CLUSTER).get("id", ""))
        if there != cluster_id:
            raise errors.ZooKeeperRefused(
                what=what,
                where=self._cluster,
                why=f"this ensemble belongs to cluster {there}, not {cluster_id}",
                next_step="Nothing was changed: find out whose servers these are.",
            )

    def depose(self, broker: int, epoch: int) -> bool:
        """In one transaction with a check of `/controller_epoch`, as Kafka itself does it (3.9, `KafkaZkClient`,
        `deleteController`): each election writes both in one, so no newer controller can be met."""
        what = f"electing another controller than broker {broker}"
        with self._session(what) as client:
            client.sync("/")
            try:
                reign, reign_stat = client.get(_EPOCH)
                content, stat = client.get(_CONTROLLER)
            except NoNodeError:
                return False  # nobody reigns: an election is under way
            with sessions.readable(_CONTROLLER):
                named = int(str(json.loads(content).get("brokerid", -1)))
                int(reign)
            if (named, int(reign)) != (broker, epoch) or not stat.ephemeralOwner:
                return False
            change = client.transaction()
            change.check(_EPOCH, reign_stat.version)
            change.delete(_CONTROLLER, stat.version)
            failed = [answer for answer in change.commit() if isinstance(answer, Exception)]
            for problem in failed:
                if not isinstance(problem, BadVersionError | NoNodeError | RolledBackError | RuntimeInconsistency):
                    raise problem
            return not failed

    def forget_migration(self) -> None:
        """Delete what a quorum left that is gone for good: its claim to lead, which no session ends, and its notes.

        A broker that leads is left alone. Only for a quorum whose every controller is proved stopped: one that runs
        would write its metadata over that of the broker that leads then. Again is fine.
        """
        what = "deleting what the quorum left in ZooKeeper"
        with self._session(what) as client:
            with suppress(NoNodeError):
                content, stat = client.get(_CONTROLLER)
                with sessions.readable(_CONTROLLER):
                    is_left = not stat.ephemeralOwner and json.loads(content).get("kraftControllerEpoch", -1) >= 0
                if is_left:
                    client.delete(_CONTROLLER, version=stat.version)
            with suppress(NoNodeError):
                client.delete(_MIGRATION)

    def _session(self, what: str) -> AbstractContextManager[KazooClient]:
        return sessions.session(self._endpoints(), self._password, what=what, where=self._cluster, tls=self._tls)


def _broker(broker: int, document: Mapping[str, object], owner: int) -> registry.RegisteredBroker:
    endpoints = document.get("endpoints")
    first = str(endpoints[0]) if isinstance(endpoints, list) and endpoints else ""
    at = HostPort.parse(first.rpartition("://")[2]) if first else HostPort("", -1)
    return registry.RegisteredBroker(broker, at.host, at.port, str(document.get("rack") or ""), owner)


def _each(client: KazooClient, paths: Mapping[_Key, str]) -> dict[_Key, Any]:
    """What is at each of these paths, all asked for before the first answer. What is not there is missing."""
    asked = {key: client.get_async(path) for key, path in paths.items()}
    found = {}
    for key, answer in asked.items():
        with suppress(NoNodeError):
            content = answer.get(timeout=_ANSWER_S)[0]
            with sessions.readable(paths[key]):
                found[key] = json.loads(content)
    return found


def _children(client: KazooClient, path: str) -> list[str]:
    try:
        return sorted(client.get_children(path))
    except NoNodeError:
        return []


def _content(client: KazooClient, path: str) -> bytes:
    try:
        return bytes(client.get(path)[0])
    except NoNodeError:
        return b""


def _json(client: KazooClient, path: str) -> Mapping[str, object]:
    content = _content(client, path) or b"{}"
    with sessions.readable(path):
        found = json.loads(content)
    return found if isinstance(found, dict) else {}


def _number(path: str, value: object) -> int:
    with sessions.readable(path):
        return int(str(value))
