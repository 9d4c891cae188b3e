"""What is recorded of the part of a cluster that others run. Values, like the rest of the view.

A broker of theirs is no instance: it has no VM, no agent and no start of ours, so no step that makes, stops, restarts
or deletes instances can ever name it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ExternalBrokerView:
    """One broker that others run. `empty_at`: since when it was emptied onto ours, None before; `stopped_at`: since
    when Kafka counts on it no more."""

    id: int
    rack: str
    address: str
    """`host:port`, as Kafka told it when it was found."""
    empty_at: datetime | None = None
    stopped_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExternalView:
    """All that others run of a cluster, once Kafka has shown that it is the one the spec means. By broker id."""

    kafka_cluster_id: str
    brokers: Mapping[int, ExternalBrokerView]
