"""The kinds of anomalies, the states one goes through, and how long each kind is given to pass by itself.

found -> suppressed | healing | waiting -> over
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType


class Kind(StrEnum):
    """What is wrong. The words are Cruise Control's, so that its users find their way; it has no hot broker,
    and none of the last three."""

    GOAL_VIOLATION = "goal-violation"
    BROKER_FAILURE = "broker-failure"
    SLOW_BROKER = "slow-broker"
    HOT_BROKER = "hot-broker"
    DISK_FAILURE = "disk-failure"
    TOPIC_ANOMALY = "topic-anomaly"
    MAINTENANCE_EVENT = "maintenance-event"
    PARTITION_FAILURE = "partition-failure"
    CAPACITY = "capacity"
    CONDITION = "condition"


HEALED = frozenset(
    {
        Kind.GOAL_VIOLATION,
        Kind.BROKER_FAILURE,
        Kind.SLOW_BROKER,
        Kind.HOT_BROKER,
        Kind.DISK_FAILURE,
        Kind.TOPIC_ANOMALY,
        Kind.MAINTENANCE_EVENT,
    }
)
"""Kinds that Kedge may heal by itself, so that healing of them can be switched. The others are there to be told."""


class State(StrEnum):
    """Where an anomaly stands."""

    FOUND = "found"
    """Within its grace: it may pass by itself, and nobody is told."""
    SUPPRESSED = "suppressed"
    """Kedge knows why it is so: it is doing it itself. Nobody is told."""
    HEALING = "healing"
    """Something is being done about it."""
    WAITING = "waiting"
    """Its grace is over and nothing is done: healing is off, or something stands in its way."""
    OVER = "over"


ALARMS = frozenset({State.HEALING, State.WAITING})
"""States that people are told of."""

GRACE: Mapping[Kind, timedelta] = MappingProxyType(
    {
        Kind.GOAL_VIOLATION: timedelta(minutes=15),
        Kind.BROKER_FAILURE: timedelta(seconds=60),
        Kind.SLOW_BROKER: timedelta(minutes=15),
        Kind.HOT_BROKER: timedelta(minutes=15),
        Kind.DISK_FAILURE: timedelta(0),
        Kind.TOPIC_ANOMALY: timedelta(minutes=5),
        Kind.MAINTENANCE_EVENT: timedelta(0),
        Kind.PARTITION_FAILURE: timedelta(seconds=60),
        Kind.CAPACITY: timedelta(0),
        Kind.CONDITION: timedelta(minutes=2),
    }
)
"""Unless the spec says otherwise (`healing.grace`). A reboot of a broker takes less than its grace."""

WORDS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.GOAL_VIOLATION: "replicas or leaders are not where they should be",
        Kind.BROKER_FAILURE: "a VM is gone, or its service does not serve",
        Kind.SLOW_BROKER: "a broker is slower than its peers and than itself before",
        Kind.HOT_BROKER: "a broker has far more CPU or traffic than its peers and than itself before",
        Kind.DISK_FAILURE: "a disk failed",
        Kind.TOPIC_ANOMALY: "a topic is not as it is declared",
        Kind.MAINTENANCE_EVENT: "the cloud is going to take a host down",
        Kind.PARTITION_FAILURE: "partitions cannot be written or read",
        Kind.CAPACITY: "a disk is full, or a network or processors are busy, before long",
        Kind.CONDITION: "a condition of the cluster tells of harm, or waits for a person",
    }
)
