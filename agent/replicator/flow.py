"""The flow a document wants, as MirrorMaker takes it. Pure."""

import re

from agent.host_port import HostPort
from agent.services.mirror_maker import MirrorEnd, MirrorFlow
from agent.wire_replicator import ReplicatorDocument, ReplicatorEnd

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def flow_of(document: ReplicatorDocument) -> MirrorFlow:
    """Raises ValueError for what MirrorMaker, or a path, would take for something else."""
    for name in (document.kafka_version, document.source.name, document.target.name):
        if not _SAFE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a cluster, nor a version of Kafka")
    if commas := [pattern for pattern in document.not_groups if "," in pattern]:
        raise ValueError(f"`{commas[0]}` would be two patterns of groups: MirrorMaker parts them by commas")
    return MirrorFlow(
        _end(document.source),
        _end(document.target),
        document.topics,
        not_groups=document.not_groups,
        replication_factor=document.replication_factor,
    )


def wrong_flow(document: ReplicatorDocument) -> str:
    """Why a document cannot be followed, "" where it can."""
    try:
        flow_of(document)
    except ValueError as error:
        return f"the document's flow cannot be run: {error}"
    return ""


def _end(end: ReplicatorEnd) -> MirrorEnd:
    return MirrorEnd(end.name, tuple(HostPort.parse(address) for address in end.bootstrap))
