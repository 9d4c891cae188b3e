"""What must not change while anything rolls: min ISR, of a topic and of the cluster."""

from collections.abc import Iterator
from typing import Any

from controlplane.cluster.view import ClusterView
from tests.fakes.kafka import FakeKafka

MIN_ISR = "min.insync.replicas"

GUARDED_CALLS = frozenset({"change_settings", "change_topics"})
"""Calls that may change it."""


def is_unsettled(view: ClusterView) -> bool:
    """Whether any VM is being made, emptied, handed over or restarted."""
    return bool(
        view.moves.drain or view.intents or view.settings.restarts or any(i.phase != "joined" for i in view.alive())
    )


def guarded_changes(view: ClusterView, kafka: FakeKafka, what: str, *args: Any) -> Iterator[str]:
    """The changes of min ISR that are about to be made by this call, and should not be."""
    rolls = is_unsettled(view)
    mixed = len({i.planned.kafka_version for i in view.alive()}) > 1
    if what == "change_settings" and MIN_ISR in args[0].defaults and (rolls or mixed):
        yield f"{MIN_ISR} was changed"
    if what == "change_topics" and rolls:
        yield from (f"{MIN_ISR} of {topic} was raised" for topic in kafka.topics.raised(args[0]))
