"""Tells brokers in which log directory a replica is to be: one that they do not have yet, or one that they have.

Kafka itself takes the directory with the fewest partitions, however full. A broker asked by AlterReplicaLogDirs for a
replica it does not have answers REPLICA_NOT_AVAILABLE and remembers the directory in memory until it makes the replica
(ReplicaManager.alterReplicaLogDirs, LogManager.maybeUpdatePreferredLogDir); asked twice it only remembers it again. A
broker that restarts in between forgets.

Asked for a replica it has in another directory, it begins to copy the log beside the one that serves, and swaps them
once the copy has caught up (KIP-113); DescribeLogDirs tells of it as a future replica until then, also after a restart.
Asked twice for the same directory it goes on; asked for the one the replica is in, it ends the copy. All such copies of
a broker share `replica.alter.log.dirs.io.max.bytes.per.second`.
"""

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import AlterReplicaLogDirsRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable, fault_of
from planner.observed import TopicPartition

_REMEMBERED = 9
"""REPLICA_NOT_AVAILABLE: the broker has no such replica yet, or no more; it keeps the directory in mind."""

_ANSWER_S = 4.0

Wishes = Mapping[int, Mapping[TopicPartition, str]]
"""Broker id -> partition -> absolute path."""


def prefer_log_dirs(connection: Connection, wishes: Wishes, deadline: Deadline) -> None:
    """Every broker has heard when this returns. Raises KafkaUnavailable when one did not answer, KafkaRefused when
    one has no such directory.
    """
    connection.refresh_nodes(deadline)
    requests = {broker: _request(paths) for broker, paths in wishes.items() if paths}
    if not requests:
        return
    what = "naming log directories"
    answers = connection.ask_each(requests, timeout_s=deadline.capped(_ANSWER_S))
    silent = sorted(set(requests) - set(answers))
    if silent:
        raise KafkaUnavailable(what=what, where=connection.name, why=f"broker {silent[0]} did not answer")
    for broker, answer in sorted(answers.items()):
        for topic in answer.results:
            for partition in topic.partitions:
                if partition.error_code not in (0, _REMEMBERED):
                    name = TopicPartition(topic.topic_name, partition.partition_index)
                    where = f"{connection.name}, broker {broker}, {wishes[broker].get(name, '')} for {name}"
                    raise fault_of(partition.error_code, None, what=what, where=where)


def _request(paths: Mapping[TopicPartition, str]) -> Any:
    directory = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    by_path: dict[str, dict[str, list[int]]] = {}
    for name, path in sorted(paths.items()):
        by_path.setdefault(path, {}).setdefault(name.topic, []).append(name.partition)
    return AlterReplicaLogDirsRequest(
        dirs=[
            directory(
                path=path, topics=[directory.AlterReplicaLogDirTopic(name=t, partitions=p) for t, p in of.items()]
            )
            for path, of in sorted(by_path.items())
        ]
    )
