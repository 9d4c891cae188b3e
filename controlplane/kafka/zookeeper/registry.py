"""Who is registered in ZooKeeper, as values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RegisteredBroker:
    """A broker's own words at registration. `session` is the one that keeps it there."""

    id: int
    host: str
    port: int
    rack: str
    session: int


@dataclass(frozen=True, slots=True)
class RegistrySeen:
    """One look; `at` is before it. `controller` is a broker's id, -1 while there is none; `cluster_id` is "" before
    the first broker came. Where the cluster migrates and a KRaft quorum leads, `controller` is one of its members, and
    `kraft_epoch` is not -1; `has_migration`: a quorum has kept there how far it had come, and `written` is the offset
    of its log up to which ZooKeeper has it all."""

    at: datetime
    cluster_id: str
    brokers: Mapping[int, RegisteredBroker]
    controller: int
    controller_epoch: int
    kraft_epoch: int = -1
    has_migration: bool = False
    written: int = -1


@dataclass(frozen=True, slots=True)
class RegisteredPartition:
    """`leader` -1: none."""

    leader: int
    isr: frozenset[int]
