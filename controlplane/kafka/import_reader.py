"""A running cluster as its own brokers tell it, read-only: what `kedge import` writes a spec from.

One look at the metadata (`read_snapshot`), the addresses of the quorum (DescribeQuorum from version 2 on, KIP-853), and
every setting each live broker runs with. Nothing is asked of a machine, and nothing is changed.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest

from agent.host_port import HostPort
from controlplane.kafka import dialer, errors, settings_live, snapshot
from controlplane.kafka.deadline import Deadline
from planner.observed import KafkaSnapshot

ControllerAddresses = Mapping[int, HostPort]
"""Node id of a voter -> host and port of its controller listener."""


class InZooKeeperMode(Exception):
    """The cluster keeps its metadata in ZooKeeper: its brokers do not know what a quorum is."""

    def __init__(self, cluster_id: str) -> None:
        super().__init__(f"cluster {cluster_id} keeps its metadata in ZooKeeper")
        self.cluster_id = cluster_id


@dataclass(frozen=True, slots=True)
class ForeignCluster:
    """What was read. `settings` by broker id; `controllers` lacks voters whose address nobody told."""

    seen: KafkaSnapshot
    settings: Mapping[int, Mapping[str, settings_live.RunningSetting]]
    controllers: ControllerAddresses


def read_foreign(connection: dialer.Connection, deadline: Deadline, now: Callable[[], datetime]) -> ForeignCluster:
    """The whole cluster. Raises KafkaUnavailable, KafkaRefused, InZooKeeperMode."""
    try:
        seen = snapshot.read_snapshot(connection, deadline, now)
    except errors.KafkaRefused as refused:
        if refused.error == "UnsupportedVersion":
            raise InZooKeeperMode(_cluster_id(connection, deadline)) from refused
        raise
    live = sorted(seen.live_brokers())
    settings = {broker: settings_live.read_running(connection, broker, deadline) for broker in live}
    addresses = _from_quorum(connection, deadline, live[0])
    return ForeignCluster(seen, settings, addresses or addresses_in_settings(settings))


def _cluster_id(connection: dialer.Connection, deadline: Deadline) -> str:
    """Brokers tell that in any mode."""
    what = "describing the cluster"
    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    answer = connection.ask(request, what=what, deadline=deadline)
    errors.require_ok(answer, what=what, where=connection.name)
    return str(answer.cluster_id)


def _from_quorum(connection: dialer.Connection, deadline: Deadline, node: int) -> ControllerAddresses:
    """By the quorum itself; nothing by leaders older than 3.9, which have no version 2 of the answer."""
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    request = DescribeQuorumRequest(topics=[topic(topic_name="__cluster_metadata", partitions=[partition])])
    answer = connection.ask(request, what="describing the quorum", deadline=deadline, node=node)
    errors.require_ok(answer, what="describing the quorum", where=connection.name)
    voters = {v.replica_id for v in answer.topics[0].partitions[0].current_voters}
    nodes = [n for n in getattr(answer, "nodes", None) or () if n.node_id in voters and n.listeners]
    return {n.node_id: HostPort(n.listeners[0].host, n.listeners[0].port) for n in nodes}


def addresses_in_settings(settings: Mapping[int, Mapping[str, settings_live.RunningSetting]]) -> ControllerAddresses:
    """By `controller.quorum.voters`, `id@host:port,...`, where brokers were given a static quorum."""
    found: dict[int, HostPort] = {}
    for running in settings.values():
        setting = running.get("controller.quorum.voters")
        for entry in (setting.value or "").split(",") if setting is not None else ():
            node, at, address = entry.strip().partition("@")
            with contextlib.suppress(ValueError):  # another's text: of what it does not tell nothing is known
                found |= {int(node): HostPort.parse(address)} if at else {}
    return found
