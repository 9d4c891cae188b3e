"""Fleet order: in which order clusters roll to a new image, and for whom each of them waits. Pure.

A cluster's stage is its label `stage`, else `environment`. Stages roll one after the other, a stage begins once every
cluster of the earlier ones is on the revision and has soaked; within a stage the more urgent go first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

LABELS = ("stage", "environment")
STAGES: tuple[tuple[str, ...], ...] = (
    ("development", "dev", "sandbox"),
    ("testing", "test", "qa", "integration"),
    ("staging", "stage", "preproduction", "preprod"),
    ("canary",),
    ("production", "prod", "live"),
)
"""From the first to the last to roll, each with the words for it. Other words, and no label, count as production: a
cluster nobody has classed is not the one to try things on."""

PRODUCTION = len(STAGES) - 1


@dataclass(frozen=True, slots=True)
class FleetMember:
    """A cluster that follows the same revision. `urgency`: 0 for none, more for worse.

    `reached_at`: since when it is on the revision, None while it is not; `state` then says how far it is, in words.
    """

    name: str
    stage: int
    urgency: int = 0
    soak: timedelta = timedelta()
    reached_at: datetime | None = None
    state: str = ""

    def is_through(self, now: datetime) -> bool:
        """Whether it has soaked, too."""
        return self.reached_at is not None and self.reached_at + self.soak <= now


def stage_of(labels: Mapping[str, str]) -> int:
    """The rank of a cluster's stage among `STAGES`, 0 rolls first."""
    word = next((labels[name].strip().lower() for name in LABELS if labels.get(name)), "")
    return next((rank for rank, words in enumerate(STAGES) if word in words), PRODUCTION)


def stage_word(rank: int) -> str:
    """`staging`."""
    return STAGES[rank][0]


def in_order(members: Iterable[FleetMember]) -> tuple[FleetMember, ...]:
    """All, who rolls first first: the worse before the less bad, then by stage, then by name."""
    return tuple(sorted(members, key=lambda m: (-m.urgency, m.stage, m.name)))


def waits_for(stage: int, members: Iterable[FleetMember], now: datetime) -> tuple[str, ...]:
    """Why a cluster of that stage may not begin yet: a reason for each cluster of an earlier stage; none when it may.

    A cluster that is stuck keeps the later stages waiting: a person withdraws the revision, mends the cluster, or pins
    the later one.
    """
    return tuple(reason for m in in_order(m for m in members if m.stage < stage) if (reason := _not_yet(m, now)))


def _not_yet(member: FleetMember, now: datetime) -> str:
    who = f"{member.name} ({stage_word(member.stage)})"
    if member.reached_at is None:
        return f"{who}, which {member.state or 'has not begun'}"
    left_s = (member.reached_at + member.soak - now).total_seconds()
    return f"{who}, which soaks {left_s:.0f} s more" if left_s > 0 else ""
