"""Since when something has been so, of what a single look at Kafka cannot tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from planner.breakdown import Absence
from planner.observed import TopicPartition


@dataclass(frozen=True, slots=True)
class HealthSeen:
    """Since when partitions are at their min ISR and brokers are not registered as they should be; when partitions of
    heartbeats were last asked for."""

    at_min_isr: Mapping[TopicPartition, datetime] = field(default_factory=dict)
    misregistered: Mapping[int, datetime] = field(default_factory=dict)
    away: Mapping[str, Absence] = field(default_factory=dict)
    """Those of them Kafka does not count on at all, by instance key: another VM may have the id by now."""
    heartbeats_asked_at: datetime | None = None


WELL = HealthSeen()
