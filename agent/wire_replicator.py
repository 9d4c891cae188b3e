"""The part of the contract that is about copying records between the clusters of a pair; `agent.wire` has the whole."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from agent.wire_base import Wire

ReplicatorState = Literal["waiting", "starting", "running", "stopping", "stopped", "failed"]


class ReplicatorEnd(Wire):
    """One cluster of the flow. `name` is what MirrorMaker calls it in its own topics: the cluster's uid."""

    name: str
    bootstrap: tuple[str, ...] = Field(description="`host:port` of listeners that let the replicator in at a shut door")


class ReplicatorDocument(Wire):
    """Whether this VM copies, and what. It starts on the word of a server that was heard since the VM booted alone: the
    cluster it copies to may be the primary by now."""

    state: Literal["running", "stopped"]
    start_id: str = Field(description="a new value asks for a restart, and is another flow or another list of topics")
    kafka_version: str
    heap_mib: int = 256
    source: ReplicatorEnd
    target: ReplicatorEnd
    topics: tuple[str, ...] = Field(description="names, each as it is")
    not_groups: tuple[str, ...] = Field(default=(), description="patterns of groups whose offsets stay behind")
    replication_factor: int = 3


class ReplicatorReport(Wire):
    """What has become of it. `stopped` is only said when no process of it is alive."""

    state: ReplicatorState
    start_id: str = Field(description="of the process; of one that is not alive, of the document")
    pid: int = 0
    since: datetime
    unexpected_exits: int = 0
    message: str = ""
