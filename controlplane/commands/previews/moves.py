"""What emptying brokers, or a rebalance, would move: planned and replayed now, on the metadata there is.

For a person who decides; the server plans anew when it begins, by the same planners.

What is agreed to is the *placement* the plan was made from: where each replica concerned is, and which brokers live. A
plan is void once that has changed, however little: sizes alone, which grow all the time, do not make it so.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controlplane.cluster.commands import CommandRefused, EvacuateBrokers, RebalanceCluster
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.plan import moved_parts
from events.quantities import counted
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes
from planner.rebalancing.choice import EVERYTHING

if TYPE_CHECKING:
    from controlplane.commands.previews.drain_figures import DrainedBroker

_PARTS = ("what is asked for or in force", "which brokers live", "where replicas are")


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
    """What is moved: all of it counted, `moves` the largest. `total_moves`: replica lists that change. `copying`: those
    that get a replica on another broker, an empty one too; the others change only their order. `ingress`: by target
    what it takes over time, as a share of what migration may use, from 0 to `seconds`.
    """

    seconds: float
    copied_bytes: int
    total_moves: int
    copying: int
    moves: tuple[PlannedMove, ...]
    ingress: tuple[tuple[int, tuple[float, ...]], ...]

    @property
    def words(self) -> str:
        """`8 partitions to move, 1.0 GiB`, and how many lists change nothing but their order."""
        moved = f"{counted(self.copying, 'partition')} to move, {human_bytes(self.copied_bytes)}"
        others = self.total_moves - self.copying
        if not others:
            return moved
        order = (
            f"{counted(others, 'replica list')} to be led by another of {'its' if others == 1 else 'their'} replicas"
        )
        return f"{moved}; {order}" if self.copying else f"nothing to copy; {order}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesPreview:
    """`certificate`: measure, value, bound, ratio in words; empty for a rebalance, whose measure are its goals."""

    course: Course
    certificate: tuple[tuple[str, ...], ...]
    brokers: "tuple[DrainedBroker, ...]"
    assumptions: tuple[str, ...]
    shortfall: str = ""
    goals: tuple[tuple[str, ...], ...] = ()
    """Of a rebalance: goal, before, after, band, out of band before and after, what stands in its way; in words."""


def placement_of(view: ClusterView, kafka: KafkaSnapshot | None, command: EvacuateBrokers | RebalanceCluster) -> str:
    """Stands for what is asked for and where the replicas are that it is about; "" while nobody knows those."""
    if kafka is None:
        return ""
    leaving: set[int] = set(command.brokers) if isinstance(command, EvacuateBrokers) else set()
    concerned = [p for p in kafka.partitions if not leaving or leaving.intersection(p.replicas)]
    where = sorted((p.name.topic, p.name.partition, p.replicas, p.adding, p.removing) for p in concerned)
    own: object = sorted(command.targets)
    if isinstance(command, RebalanceCluster):
        # Without targets as ever, so that a proposal recorded before there were any stays what was agreed to.
        own = [command.per_day_bytes, own] if command.targets else command.per_day_bytes
        if command.choice != EVERYTHING:
            chosen = command.choice
            own = [own, list(chosen.goals), sorted(chosen.exclude_topics), sorted(chosen.exclude_brokers)]
    asked = [view.uid, view.generation, sorted(leaving), own, command.throttle_mib_per_s]
    return "-".join(_short(part) for part in (asked, sorted(kafka.live_brokers()), where))


def refuse_moved(view: ClusterView, kafka: KafkaSnapshot | None, command: EvacuateBrokers | RebalanceCluster) -> None:
    """Raises CommandRefused, saying what changed, where the plan that was agreed to is not that of now."""
    if not command.only_while:
        return
    now = placement_of(view, kafka, command)
    if not now:
        message = f"Kafka of {view.name} was not read yet by this server: nobody knows whether the plan still holds"
        raise CommandRefused("kafka-unknown", message, "Ask the server that leads, or ask again in a minute.")
    moved = moved_parts(command.only_while, now, _PARTS)
    if moved:
        message = f"the plan is not what it was when it was looked at, it is another by now: {', '.join(moved)}"
        raise CommandRefused("plan-moved", message, "Look at the plan again; nothing was recorded.")


def _short(part: object) -> str:
    return hashlib.sha256(json.dumps(part).encode()).hexdigest()[:12]
