"""What a failover in hand asks of its standby."""

from dataclasses import dataclass

from controlplane.cluster.commands import Command
from events.topic_facts import TopicDeclaration


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowStandby(Command):
    """Have a standby as many brokers as it needs to take over, for the failover of `pair` that is in hand."""

    brokers: int
    pair: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTopics(Command):
    """Declare topics of a standby as they are declared of its primary, for the failover of `pair` that is in hand."""

    topics: tuple[TopicDeclaration, ...]
    pair: str
