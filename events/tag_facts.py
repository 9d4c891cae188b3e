"""Cost tags that are put on what stands, and taken off it: part of a cluster's stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass

from events.registry import fact


@fact("tagging.requested", schema=1)
@dataclass(frozen=True, slots=True)
class TaggingRequested:
    """One VM, its disks and its node's address are to carry exactly these cost tags. `dropped` are the keys of others
    that they have, or may have, from before."""

    intent: str
    key: str
    tags: Mapping[str, str]
    dropped: tuple[str, ...]
    reason: str


@fact("tagging.completed", schema=1)
@dataclass(frozen=True, slots=True)
class TaggingCompleted:
    """They carry them: Terraform has nothing left to change."""

    intent: str


@fact("tagging.failed", schema=1)
@dataclass(frozen=True, slots=True)
class TaggingFailed:
    """The run failed, or was refused, and is given up for now: nothing else of the cluster waits for a tag."""

    intent: str
    error: str
