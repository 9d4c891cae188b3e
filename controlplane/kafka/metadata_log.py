"""The metadata log of a KRaft cluster, as the leader of its quorum describes it: who follows, and how closely.

A broker's picture of the cluster is as old as its own copy of this log, so it counts only while it keeps up.
"""

from dataclasses import dataclass, replace
from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest

from agent.host_port import plain_host
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable, require_ok
from controlplane.kafka.quorum import keeps_up, silence
from controlplane.kafka.raw import directory_text
from planner.observed import EndpointSeen, QuorumSeen, VoterSeen

DESCRIBE = "describing the quorum"


@dataclass(frozen=True, slots=True)
class MetadataLog:
    """`end` is the offset behind the leader's last record."""

    quorum: QuorumSeen
    end: int


def quorum_request() -> Any:
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    return DescribeQuorumRequest(topics=[topic(topic_name="__cluster_metadata", partitions=[partition])])


def read_quorum(connection: Connection, node: int, deadline: Deadline) -> QuorumSeen:
    """By a broker, which passes it on to the leader. Raises KafkaUnavailable."""
    answer = connection.ask(quorum_request(), what=DESCRIBE, deadline=deadline, node=node)
    return log_of(answer, connection.name).quorum


def log_of(answer: Any, where: str) -> MetadataLog:
    """Raises KafkaUnavailable for an answer that is not the leader's."""
    require_ok(answer, what=DESCRIBE, where=where)
    log = answer.topics[0].partitions[0]
    require_ok(log, what=DESCRIBE, where=where)
    states = {s.replica_id: s for s in log.current_voters}
    leader = states.get(log.leader_id)
    if leader is None:
        raise KafkaUnavailable(what=DESCRIBE, where=where, why="it has no leader now")
    endpoints = {n.node_id: _endpoints(n) for n in getattr(answer, "nodes", None) or ()}
    voters = [_member(s, leader, is_voter=True) for s in log.current_voters]
    members = [replace(v, endpoints=endpoints.get(v.id, v.endpoints)) for v in voters]
    members += [_member(s, leader, is_voter=False) for s in log.observers]
    quorum = QuorumSeen(leader=log.leader_id, epoch=log.leader_epoch, members=tuple(members))
    return MetadataLog(quorum, leader.log_end_offset)


def require_current(quorum: QuorumSeen, node: int, where: str) -> None:
    """Refuse a broker whose own metadata is old: brokers follow the quorum's log as observers."""
    own = [m for m in quorum.members if m.id == node]
    if not any(keeps_up(m.lag, m.silent_s) for m in own):
        lags = ", ".join(f"{m.lag} records behind, {silence(m.silent_s)}" for m in own) or "not following it"
        raise KafkaUnavailable(
            what="reading metadata", where=f"{where}, broker {node}", why=f"its metadata is old ({lags})"
        )


def _endpoints(node: Any) -> frozenset[EndpointSeen]:
    """Of a voter, as its last start that the leader took has written them into the log."""
    return frozenset(EndpointSeen(one.name, plain_host(one.host), one.port) for one in node.listeners)


def _member(state: Any, leader: Any, *, is_voter: bool) -> VoterSeen:
    """Times in the answer are the leader's clock; its own caught-up time is that clock's now (KIP-836)."""
    silent_s = 0.0
    if state.replica_id != leader.replica_id or not is_voter:
        silent_s = max(0.0, (leader.last_caught_up_timestamp - state.last_fetch_timestamp) / 1000)
    return VoterSeen(
        id=state.replica_id,
        directory_id=directory_text(state.replica_directory_id),
        lag=leader.log_end_offset - max(0, state.log_end_offset),
        is_voter=is_voter,
        silent_s=silent_s,
    )
