"""What MirrorMaker 2 is told that copies one cluster of a pair to the other. Pure text.

Dedicated mode, `org.apache.kafka.connect.mirror.MirrorMaker FILE`; the values were run with Kafka 4.1.1 and 4.2.0:
into topics that are empty, from a source that has all records from offset 0 on, offsets came out identical. So exactly
once is off: its markers take offsets of their own.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.host_port import HostPort
from agent.services.properties_text import section
from agent.services.tls_properties import CLUSTER_CA, NODE_PEM

_REFRESH_S = 5
"""Topics, offsets of groups, checkpoints: what a group reads again after a failover is mostly these seconds, twice. And
how often it keeps how far it has come: what it copied since is copied again by one that was killed."""
_NEVER_GROUPS = ("console-consumer-.*", "__.*")
_REPLICATED_BY_MM2 = (
    "replication.factor",
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
    "offset-syncs.topic.replication.factor",
    "offset.storage.replication.factor",
    "status.storage.replication.factor",
    "config.storage.replication.factor",
)
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class MirrorEnd:
    """One cluster. `bootstrap` are addresses of a listener that lets the replicator in while the door is shut; `tls` is
    the folder with the replicator's key and certificate, and with the CA the cluster's nodes are known by."""

    name: str
    bootstrap: tuple[HostPort, ...]
    tls: Path | None = None


@dataclass(frozen=True, slots=True)
class MirrorFlow:
    """From `source` to `target`. `topics` are names; `not_groups` patterns of groups whose offsets stay. Raises
    ValueError for what MirrorMaker would take for something else."""

    source: MirrorEnd
    target: MirrorEnd
    topics: tuple[str, ...]
    not_groups: tuple[str, ...] = ()
    replication_factor: int = 3

    def __post_init__(self) -> None:
        if self.source.name == self.target.name:
            raise ValueError(f"cluster {self.source.name} is not copied to itself")
        if not self.topics:
            raise ValueError("a flow has a topic: MirrorMaker takes an empty list for all of them")
        for topic in self.topics:
            if not _NAME.fullmatch(topic) or topic.endswith(".internal"):
                raise ValueError(f"`{topic}` is no name of a topic that is copied")
        if not (self.source.bootstrap and self.target.bootstrap):
            raise ValueError("each end has an address")


def mirror_properties(flow: MirrorFlow) -> str:
    """The file."""
    source, target, way = flow.source.name, flow.target.name, f"{flow.source.name}->{flow.target.name}"
    back = f"{target}->{source}"
    factor = str(flow.replication_factor)
    seconds, milliseconds = str(_REFRESH_S), str(1000 * _REFRESH_S)
    layers = (
        ("The two clusters", {"clusters": f"{source}, {target}", **_reached(flow.source), **_reached(flow.target)}),
        (
            "One way alone",
            {
                f"{way}.enabled": "true",
                f"{way}.topics": "|".join(_literally(topic) for topic in sorted(set(flow.topics))),
                f"{way}.groups": ".*",
                f"{way}.groups.exclude": ",".join((*_NEVER_GROUPS, *flow.not_groups)),
                f"{way}.emit.heartbeats.enabled": "false",
                f"{back}.enabled": "false",
                f"{back}.emit.heartbeats.enabled": "false",  # else a worker of the other way runs all the same
            },
        ),
        (
            "What is copied, and where MirrorMaker writes",
            {
                "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
                "offset-syncs.topic.location": "target",  # else it writes to the source, which is shut in a failover
                "sync.topic.acls.enabled": "false",  # topics, settings and ACLs of both sides are declared
                "sync.topic.configs.enabled": "false",
                "sync.group.offsets.enabled": "true",
                "sync.group.offsets.interval.seconds": seconds,
                "emit.checkpoints.interval.seconds": seconds,
                "refresh.topics.interval.seconds": seconds,
                f"{target}.offset.flush.interval.ms": milliseconds,  # without the name a worker does not see it
                "offset.lag.max": "0",  # where each record is at the target is told of each
                "offset.storage.partitions": "1",  # the partition of `start_after`
                **dict.fromkeys(_REPLICATED_BY_MM2, factor),
            },
        ),
    )
    return "\n".join(section(title, values) for title, values in layers)


def offsets_topic(source: str) -> str:
    """At the target: where MirrorMaker keeps how far it has come."""
    return f"mm2-offsets.{source}.internal"


def start_after(source: str, ends: Mapping[tuple[str, int], int]) -> Iterable[tuple[bytes, bytes | None]]:
    """Records of `offsets_topic` by which a flow that begins goes on behind what the target has already: the way back
    after a planned switch copies nothing twice. `ends`: of topic and partition, the offset behind the last record that
    both have. Where that is 0 what an earlier flow came to is taken back, by a record without a value: it would skip as
    many.

    Keys are bytes that Connect compares: as `JsonConverter` writes them, without a space.
    """
    for (topic, partition), end in sorted(ends.items()):
        of = {"cluster": source, "partition": partition, "topic": topic}
        yield _json(["MirrorSourceConnector", of]), _json({"offset": end - 1}) if end > 0 else None


def _reached(end: MirrorEnd) -> dict[str, str]:
    name = end.name
    reached = {f"{name}.bootstrap.servers": ",".join(str(one) for one in end.bootstrap)}
    if end.tls is None:
        return reached
    return reached | {
        f"{name}.security.protocol": "SSL",
        f"{name}.ssl.keystore.type": "PEM",
        f"{name}.ssl.keystore.location": str(end.tls / NODE_PEM),
        f"{name}.ssl.truststore.type": "PEM",
        f"{name}.ssl.truststore.location": str(end.tls / CLUSTER_CA),
    }


def _literally(topic: str) -> str:
    """Each is a pattern to MirrorMaker, and a dot is the only thing in a name that is more than itself."""
    return topic.replace(".", "[.]")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
