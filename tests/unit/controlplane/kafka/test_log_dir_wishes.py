"""Telling brokers where to make a replica they do not have yet."""

from collections.abc import Mapping
from types import SimpleNamespace as Answer
from typing import Any

import pytest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.log_dir_requests import prefer_log_dirs
from planner.observed import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class Brokers:
    """A Connection whose brokers answer each partition with one error code; those not named stay silent."""

    name = "scripted"

    def __init__(self, **codes: int) -> None:
        self.codes = {int(broker.removeprefix("b")): code for broker, code in codes.items()}
        self.heard: dict[int, Any] = {}

    def refresh_nodes(self, deadline: Deadline) -> frozenset[int]:
        return frozenset(self.codes)

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> Mapping[int, Any]:
        self.heard |= {
            broker: {d.path: {t.name: list(t.partitions) for t in d.topics} for d in request.dirs}
            for broker, request in requests.items()
        }
        return {b: self._answer(r, self.codes[b]) for b, r in requests.items() if b in self.codes}

    def _answer(self, request: Any, code: int) -> Any:
        topics = [
            Answer(topic_name=t.name, partitions=[Answer(partition_index=p, error_code=code) for p in t.partitions])
            for d in request.dirs
            for t in d.topics
        ]
        return Answer(results=topics)

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        raise AssertionError("each broker is asked for itself")

    def close(self) -> None:
        """Nothing is held."""


def told(brokers: Brokers, wishes: Mapping[int, Mapping[TopicPartition, str]]) -> Mapping[int, Any]:
    prefer_log_dirs(brokers, wishes, Deadline.after(10, clock=lambda: 0.0))
    return brokers.heard


def test_each_broker_hears_of_its_own_replicas_by_directory() -> None:
    wishes = {1: {T1: "/a", T0: "/a", U0: "/b"}, 2: {T0: "/c"}, 3: {}}
    assert told(Brokers(b1=9, b2=9), wishes) == {1: {"/a": {"t": [0, 1]}, "/b": {"u": [0]}}, 2: {"/c": {"t": [0]}}}


@pytest.mark.parametrize("code", [0, 9])
def test_a_broker_that_has_no_such_replica_yet_has_understood(code: int) -> None:
    assert told(Brokers(b1=code), {1: {T0: "/a"}})


def test_a_broker_that_does_not_answer_is_asked_again_later() -> None:
    with pytest.raises(KafkaUnavailable, match="broker 2 did not answer"):
        told(Brokers(b1=9), {1: {T0: "/a"}, 2: {T0: "/a"}})


def test_a_directory_the_broker_has_not_is_refused_with_its_name() -> None:
    with pytest.raises(KafkaRefused, match="scripted, broker 1, /gone for t-0") as refused:
        told(Brokers(b1=57), {1: {T0: "/gone"}})
    assert refused.value.error == "LogDirNotFoundError"


def test_a_directory_that_is_offline_is_refused_or_asked_for_later() -> None:
    with pytest.raises((KafkaRefused, KafkaUnavailable), match="KafkaStorageError"):
        told(Brokers(b1=56), {1: {T0: "/a"}})
