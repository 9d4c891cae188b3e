"""Reading a cluster that others made: where its quorum is, and how one without a quorum is told apart."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from kafka.protocol.admin import DescribeQuorumRequest

from agent.host_port import HostPort
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaRefused
from controlplane.kafka.import_reader import InZooKeeperMode, addresses_in_settings, read_foreign
from controlplane.kafka.settings_live import RunningSetting, SettingSource
from tests.builders import NOW


@dataclass
class Answered:
    """The part of an answer that is read."""

    cluster_id: str
    error_code: int = 0


@dataclass
class OldBrokers:
    """Brokers in ZooKeeper mode: they do not know what a quorum is."""

    name: str = "old"
    refused: str = "UnsupportedVersion"
    asked: list[type] = field(default_factory=list)

    def refresh_nodes(self, deadline: Deadline) -> frozenset[int]:
        return frozenset({1})

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        self.asked.append(type(request))
        if isinstance(request, DescribeQuorumRequest):
            raise KafkaRefused(what=what, where=self.name, words="no such message", error=self.refused)
        return Answered("MkU3OEVBNTcwNTJENDM2Qg")

    def ask_each(self, requests: Any, *, timeout_s: float) -> dict[int, Any]:
        return {}

    def close(self) -> None:
        return None


def test_a_cluster_in_zookeeper_mode_is_told_by_its_id() -> None:
    with pytest.raises(InZooKeeperMode) as told:
        read_foreign(OldBrokers(), Deadline.after(5), lambda: NOW)
    assert told.value.cluster_id == "MkU3OEVBNTcwNTJENDM2Qg"


def test_another_refusal_stays_a_refusal() -> None:
    with pytest.raises(KafkaRefused):
        read_foreign(OldBrokers(refused="ClusterAuthorizationFailed"), Deadline.after(5), lambda: NOW)


def test_brokers_of_a_static_quorum_know_where_it_is() -> None:
    text = "9@c1.example:9093, 10@[::1]:9094,broken"
    setting = RunningSetting("controller.quorum.voters", text, SettingSource.FILE, "list", True, False)
    found = addresses_in_settings({1: {}, 2: {"controller.quorum.voters": setting}})
    assert found == {9: HostPort("c1.example", 9093), 10: HostPort("::1", 9094)}
