"""What emptying brokers, or a rebalance, would move: planned and replayed now, on the metadata there is.

For a person who decides; the server plans anew when it begins, by the same planners.

What is agreed to is the *placement* the plan was made from: where each replica concerned is, and which brokers live. A
plan is void once that has changed, however little: sizes alone, which grow all the time, do not make it so.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controlplane.view import ClusterView
from planner.observed import KafkaSnapshot

if TYPE_CHECKING:
    from controlplane.cli.drain_brokers import BrokerRow


class NoPreview(Exception):
    """Nothing can be planned now. The message says why."""


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """One partition: its replicas before and after, in order, and the bytes that are copied."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    copied_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What is moved: all of it counted, `moves` the largest. `ingress`: by target what it takes over time, as a share
    of what migration may use, from 0 to `seconds`.
    """

    seconds: float
    copied_bytes: int
    total_moves: int
    moves: tuple[PlannedMove, ...]
    ingress: tuple[tuple[int, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """`certificate`: measure, value, bound, ratio in words; empty for a rebalance, whose measure are its goals."""

    course: Course
    certificate: tuple[tuple[str, ...], ...]
    brokers: "tuple[BrokerRow, ...]"
    assumptions: tuple[str, ...]
    shortfall: str = ""


def placement_of(view: ClusterView, kafka: KafkaSnapshot | None, brokers: Sequence[int]) -> str:
    """Stands for where the replicas are that leave these brokers, or with none named all; "" while nobody knows."""
    if kafka is None:
        return ""
    named = set(brokers)
    concerned = [p for p in kafka.partitions if not named or named.intersection(p.replicas)]
    where = sorted((p.name.topic, p.name.partition, p.replicas, p.adding, p.removing) for p in concerned)
    whole = [view.uid, view.generation, sorted(named), sorted(kafka.live_brokers()), where]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:32]
