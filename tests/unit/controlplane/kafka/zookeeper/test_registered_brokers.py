"""Whose picture of a cluster in ZooKeeper mode is taken."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace as Answer
from typing import Any

import pytest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.zookeeper.errors import ZooKeeperUnavailable
from controlplane.kafka.zookeeper.registry import RegisteredBroker, RegistrySeen
from controlplane.kafka.zookeeper_mode import CurrentController, current_controller, read_mode


class Named:
    """A Connection: each broker names a controller and the brokers it knows; None stays silent."""

    name = "named"

    def __init__(self, controllers: Mapping[int, int | None], *, knows: tuple[int, ...] = (1, 2, 3)) -> None:
        self.controllers = controllers
        self.knows = knows
        self.api_keys: tuple[int, ...] = (3, 60)

    def refresh_nodes(self, deadline: Deadline) -> frozenset[int]:
        return frozenset(self.controllers)

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        return Answer(api_keys=[Answer(api_key=k) for k in self.api_keys])

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> Mapping[int, Any]:
        brokers = [Answer(node_id=b) for b in self.knows]
        told = {n: self.controllers[n] for n in requests}
        return {n: Answer(controller_id=c, brokers=brokers) for n, c in told.items() if c is not None}

    def close(self) -> None: ...


def registry(*brokers: int, controller: int = 1, kraft_epoch: int = -1) -> RegistrySeen:
    there = {b: RegisteredBroker(b, f"10.0.0.{b}", 9092, "a", 77) for b in brokers}
    return RegistrySeen(datetime(2026, 1, 1, tzinfo=UTC), "c", there, controller, 1, kraft_epoch)


def found(connection: Named, seen: RegistrySeen | None = None) -> CurrentController:
    return current_controller(connection, None if seen is None else lambda: seen, Deadline(10.0, lambda: 0.0))


def test_the_controller_is_whom_zookeeper_names_and_who_knows_what_zookeeper_knows() -> None:
    assert found(Named({1: 1, 2: 1, 3: 2}), registry(1, 2, 3)) == CurrentController(1, epoch=1)


@pytest.mark.parametrize(
    ("connection", "seen", "words"),
    [
        (Named({1: 2, 2: 2, 3: 2}), registry(1, 2, 3), "does not answer as one"),
        (Named({1: None, 2: 1, 3: 1}), registry(1, 2, 3), "does not answer as one"),
        (Named({1: 1, 2: 1, 3: 1}), registry(1, 2), r"it knows brokers \[1, 2, 3\], in ZooKeeper there are \[1, 2\]"),
        (Named({1: 1, 2: 1, 3: 1}), registry(1, 2, 3, controller=-1), "one is being elected"),
        (Named({1: 1, 2: 1, 3: 1}), registry(1, 2, 3, kraft_epoch=2), "controller 1 of a KRaft quorum leads it"),
        (Named({1: 1, 2: 2, 3: 3}), None, "do not agree"),
        (Named({1: None, 2: 1, 3: 1}), None, "do not agree"),
        (Named({1: None, 2: None}), None, "no broker answered"),
    ],
)
def test_a_picture_that_may_be_old_is_not_taken(connection: Named, seen: RegistrySeen | None, words: str) -> None:
    with pytest.raises(KafkaUnavailable, match=words):
        found(connection, seen)


def test_without_zookeepers_word_most_of_the_brokers_decide() -> None:
    assert found(Named({1: 1, 2: 1, 3: 3})) == CurrentController(1, epoch=-1)


def test_a_zookeeper_that_does_not_answer_leaves_the_cluster_unknown() -> None:
    def silent() -> RegistrySeen:
        raise ZooKeeperUnavailable(what="reading", where="c", why="nobody serves")

    with pytest.raises(KafkaUnavailable, match="nobody serves"):
        current_controller(Named({1: 1}), silent, Deadline(10.0, lambda: 0.0))


def test_the_mode_is_told_by_the_messages_a_broker_knows() -> None:
    connection = Named({1: 1})
    deadline = Deadline(10.0, lambda: 0.0)
    assert read_mode(connection, deadline) == "zookeeper"
    connection.api_keys = (3, 55, 60)
    assert read_mode(connection, deadline) == "kraft"
