"""Reads a KafkaSnapshot over a Connection.

All metadata of one snapshot comes from one broker, whose own copy of the metadata log is checked against the
quorum's end: brokers that answer at different ages, or one cut off from the controllers, would show a past
that never was whole.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from kafka.protocol.admin import (
    DescribeClusterRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from agent.host_port import plain_host
from controlplane.kafka.configs import TopicConfig, read_applied, read_topic_configs
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable, require_ok
from controlplane.kafka.log_dirs import BrokerDisks, read_disks
from controlplane.kafka.metadata_log import read_quorum, require_current
from controlplane.kafka.zookeeper_mode import LookUp, current_controller
from planner import observed

_ROUNDS = 3
_NO_QUORUM = observed.QuorumSeen(leader=-1, epoch=-1, members=())
_T = TypeVar("_T")
_Moves = Mapping[observed.TopicPartition, tuple[tuple[int, ...], tuple[int, ...]]]
"""Running reassignments: partition -> (adding, removing)."""


def read_snapshot(
    connection: Connection,
    deadline: Deadline,
    now: Callable[[], datetime],
    *,
    mode: observed.Mode = "kraft",
    look_up: LookUp | None = None,
) -> observed.KafkaSnapshot:
    """The whole snapshot. Raises KafkaUnavailable when no live broker with current metadata answered in
    time. `look_up` is for ZooKeeper mode: see `current_controller`."""
    at = now()
    if mode == "zookeeper":
        controller = current_controller(connection, look_up, deadline)
        live = connection.refresh_nodes(deadline)
        seen = _read(connection, controller.broker, live, at, deadline, mode=mode)
        return replace(seen, controller_epoch=controller.epoch)
    return _from_one_broker(connection, deadline, lambda node, live: _read(connection, node, live, at, deadline))


def read_from_one_of(
    connection: Connection, nodes: Collection[int], at: datetime, deadline: Deadline, *, mode: observed.Mode
) -> observed.KafkaSnapshot:
    """The whole snapshot by one of these brokers, which are of that mode, where not all need be. In ZooKeeper mode
    somebody else has to say how current it is. Raises KafkaUnavailable."""

    def read(node: int, live: frozenset[int]) -> observed.KafkaSnapshot:
        return _read(connection, node, live, at, deadline, mode=mode)

    return _from_one_broker(connection, deadline, read, nodes)


def read_partitions(connection: Connection, deadline: Deadline) -> tuple[observed.PartitionSeen, ...]:
    """The partitions alone, without sizes: what a frequent observer of ISRs needs."""

    def read(node: int, live: frozenset[int]) -> tuple[observed.PartitionSeen, ...]:
        topics, configs, moves = _read_topics(connection, node, deadline)
        return _partitions(topics, configs, moves, BrokerDisks({}, {}))

    return _from_one_broker(connection, deadline, read)


def _from_one_broker(
    connection: Connection,
    deadline: Deadline,
    read: Callable[[int, frozenset[int]], _T],
    among: Collection[int] | None = None,
) -> _T:
    """Try the live brokers, or those `among` them, one after the other until one gives a whole reading."""
    live = connection.refresh_nodes(deadline)
    problem: KafkaUnavailable | None = None
    for node in sorted(live if among is None else live.intersection(among)):
        if deadline.is_over:
            break
        try:
            return read(node, live)
        except KafkaUnavailable as e:
            problem = e
    raise problem or KafkaUnavailable(what="reading metadata", where=connection.name, why="no live broker is known")


def _read(
    connection: Connection,
    node: int,
    live: frozenset[int],
    at: datetime,
    deadline: Deadline,
    *,
    mode: observed.Mode = "kraft",
) -> observed.KafkaSnapshot:
    quorum = _NO_QUORUM
    if mode == "kraft":
        quorum = read_quorum(connection, node, deadline)
        require_current(quorum, node, connection.name)
    cluster_id, brokers = _read_brokers(connection, node, deadline)
    topics, configs, moves = _read_topics(connection, node, deadline)
    alive = live & {b.id for b in brokers.values() if not b.fenced}
    disks = read_disks(connection, alive, deadline)
    applied = read_applied(connection, alive, configs, deadline)
    return observed.KafkaSnapshot(
        at=at,
        cluster_id=cluster_id,
        brokers=brokers,
        partitions=_partitions(topics, configs, moves, disks),
        quorum=quorum,
        features=_read_features(connection, alive, deadline) if mode == "kraft" else {},
        log_dirs=disks.brokers,
        throttles=replace(applied.throttles.seen, log_dirs_rate=applied.log_dirs_rate),
        cordoned=applied.cordoned,
        mode=mode,
        controller=node if mode == "zookeeper" else -1,
        failed_dirs=disks.failed,
        internal=frozenset(t.name for t in topics if t.is_internal),
    )


def _read_brokers(connection: Connection, node: int, deadline: Deadline) -> tuple[str, dict[int, observed.BrokerSeen]]:
    """Fenced brokers are listed since Kafka 4.0 (DescribeCluster v2, KIP-1073); older ones list live brokers
    only."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    answer = connection.ask(request, what="describing the cluster", deadline=deadline, node=node)
    require_ok(answer, what="describing the cluster", where=connection.name)
    brokers = {
        b.broker_id: observed.BrokerSeen(
            id=b.broker_id, rack=b.rack or "", fenced=bool(b.is_fenced), host=plain_host(b.host), port=b.port
        )
        for b in answer.brokers
    }
    return answer.cluster_id, brokers


def _read_topics(
    connection: Connection, node: int, deadline: Deadline
) -> tuple[list[Any], Mapping[str, TopicConfig], _Moves]:
    """Topics with their configs and running moves, read as one picture.

    Moves are read before and after: one that ended in between would leave a partition with its old and new
    replicas and no sign of a move. Where the two differ after some rounds, both are kept: such a partition
    counts as moving.
    """
    before = _read_moves(connection, node, deadline)
    for round_left in reversed(range(_ROUNDS)):
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        answer = connection.ask(request, what="reading topics", deadline=deadline, node=node)
        topics = [t for t in answer.topics if t.error_code == 0]
        configs = read_topic_configs(connection, node, [t.name for t in topics], deadline)
        after = _read_moves(connection, node, deadline)
        if len(configs) == len(topics) and (before == after or round_left == 0):
            return topics, configs, {**before, **after}
        before = after
    raise KafkaUnavailable(
        what="reading topics", where=connection.name, why=f"topics came and went during {_ROUNDS} readings"
    )


def _read_moves(connection: Connection, node: int, deadline: Deadline) -> _Moves:
    request = ListPartitionReassignmentsRequest(timeout_ms=int(deadline.left_s * 1000), topics=None)
    answer = connection.ask(request, what="listing reassignments", deadline=deadline, node=node)
    require_ok(answer, what="listing reassignments", where=connection.name)
    return {
        observed.TopicPartition(t.name, p.partition_index): (tuple(p.adding_replicas), tuple(p.removing_replicas))
        for t in answer.topics
        for p in t.partitions
    }


def _partitions(
    topics: list[Any], configs: Mapping[str, TopicConfig], moves: _Moves, disks: BrokerDisks
) -> tuple[observed.PartitionSeen, ...]:
    seen = []
    for topic in topics:
        configured = configs[topic.name].min_isr
        for p in topic.partitions:
            name = observed.TopicPartition(topic.name, p.partition_index)
            adding, removing = moves.get(name, ((), ()))
            seen.append(
                observed.PartitionSeen(
                    name=name,
                    leader=p.leader_id,
                    replicas=tuple(p.replica_nodes),
                    isr=tuple(p.isr_nodes),
                    # what a leader applies: never more than the replicas assigned, the ones being added
                    # included
                    min_isr=min(configured, len(p.replica_nodes)),
                    adding=adding,
                    removing=removing,
                    size_bytes=disks.sizes.get(name, 0),
                    configured_min_isr=configured,
                    arrived_bytes=disks.arrived(name, adding),
                    leader_bytes=disks.of_leader(name, p.leader_id),
                )
            )
    return tuple(sorted(seen, key=lambda p: p.name))


def _read_features(connection: Connection, live: frozenset[int], deadline: Deadline) -> dict[str, observed.FeatureSeen]:
    """Finalised levels by the newest epoch told; ranges = what every live broker supports.

    Controllers are not asked (brokers do not pass this on): one that supports less says so when the change is
    validated.
    """
    request = {
        n: ApiVersionsRequest(client_software_name="kedge", client_software_version="1", min_version=3) for n in live
    }
    answers = connection.ask_each(request, timeout_s=deadline.capped(3.0))
    if not answers:
        raise KafkaUnavailable(what="reading features", where=connection.name, why="no live broker answered")
    newest = max(answers.values(), key=lambda a: a.finalized_features_epoch or 0)
    finalised = {f.name: f.max_version_level for f in newest.finalized_features or ()}
    ranges: dict[str, dict[int, tuple[int, int]]] = {}
    for broker, answer in answers.items():
        for f in answer.supported_features or ():
            ranges.setdefault(f.name, {})[broker] = (f.min_version, f.max_version)
    features = {}
    for name in sorted(set(ranges) | set(finalised)):
        # a broker that does not name the feature supports level 0 only
        own = {b: ranges.get(name, {}).get(b, (0, 0)) for b in answers}
        lowest = min(high for _, high in own.values())
        behind = tuple(sorted(b for b, (_, high) in own.items() if high == lowest))
        features[name] = observed.FeatureSeen(
            finalised=finalised.get(name, 0),
            min_supported=max(low for low, _ in own.values()),
            max_supported=lowest,
            limited_by=behind if len(behind) < len(own) else (),
        )
    return features
