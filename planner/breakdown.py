"""Brokers that are there and serve nobody: what is wrong with each, and why it gets no new VM. Pure.

    misregistered it runs by its agent's word, and Kafka has it otherwise     -> a restart, then a new VM
    crash loop    its process ends again and again                            -> a new VM
    unreachable   Kafka does not have it, and nobody hears its agent          -> a new VM; the old one waits for proof

Unknown is not dead: one broker alone is ever taken for broken, while everybody else serves and is heard. Two at once,
or half of the cluster, have a cause they share, which another VM would have, too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class BreakdownKind(StrEnum):
    """How a broker is away. The values are findings, as cures are counted by."""

    CRASH_LOOP = "crash_loop"
    UNREACHABLE = "unreachable"


MISREGISTERED = "registration_wrong"
"""The finding of a broker that runs, and that Kafka has otherwise than it should."""

EXITS = 2
"""A process that has ended so often since Kafka was first without it does not come up by another try."""

EXITS_FOR = timedelta(minutes=3)
"""An agent starts it a minute apart at most. One that has run for so long since its last end is on its way: a broker
that was killed reads its logs for many minutes."""

LEAST = timedelta(seconds=60)
"""Nobody is taken for broken sooner, whatever the spec calls lost: an agent alone is silent for 30 s first."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Since when Kafka has been without a broker. `last` is the last look that said so: one that is back for some
    seconds is still away."""

    since: datetime
    last: datetime
    exits_then: int | None = None
    """How often its process had ended by itself when its agent was first heard of it; None while it was not."""
    exits: int = 0
    exited_at: datetime | None = None
    """When that was last seen to grow."""

    def with_exits(self, exits: int, at: datetime) -> "Absence":
        """With what its agent says at `at` of how often its process has ended, ever."""
        if self.exits_then is None or exits < self.exits:
            return Absence(self.since, self.last, exits, exits, None)
        if exits == self.exits:
            return self
        return Absence(self.since, self.last, self.exits_then, exits, at)

    def ends_again_and_again(self, now: datetime) -> bool:
        """Whether its process was seen to end often enough, and did so a moment ago."""
        if self.exits_then is None or self.exited_at is None:
            return False
        return self.exits - self.exits_then >= EXITS and now - self.exited_at <= EXITS_FOR


@dataclass(frozen=True, slots=True)
class Broken:
    """A broker that serves nobody, since when, and what is known of it in words."""

    node: str
    key: str
    broker: int
    manner: BreakdownKind
    since: datetime
    words: str

    def due(self, lost_after: timedelta) -> datetime:
        """When it is taken for lost, where it does not serve until then."""
        return self.since + max(lost_after, LEAST)


@dataclass(frozen=True, slots=True)
class BreakdownContext:
    """What else is known of the cluster when one of its brokers is to be replaced."""

    brokers: int
    """That should serve, this one among them."""
    not_serving: Collection[int] = ()
    """Ids of those Kafka does not count on."""
    unheard: Sequence[str] = ()
    """Keys of brokers whose agents are silent."""
    cloud: str = ""
    """Why the cloud's word on its VM is no `running`, "" where it is."""


def why_left(one: Broken, broken: Sequence[Broken], around: BreakdownContext) -> str:
    """Why it gets no new VM though it is away for long enough, "" where it gets one. `broken` are all of them."""
    alike = [b for b in broken if b.manner is one.manner]
    if len(alike) > 1 and 2 * len(alike) >= around.brokers:
        return (
            f"{len(alike)} of {around.brokers} brokers are away in the same way: look for what they share (a setting, "
            "the image, the network), which new VMs would have, too"
        )
    others = sorted(b for b in around.not_serving if b != one.broker)
    if others:
        return f"broker {others[0]} does not serve either: one broker is replaced while all others serve"
    if around.brokers < 2:
        return "no other broker has what it holds"
    if one.manner is BreakdownKind.CRASH_LOOP:
        # It may be over: nobody who serves is stopped for what was.
        return "" if one.broker in around.not_serving else "it serves just now, and is replaced if it ends again"
    silent = [key for key in around.unheard if key != one.key]
    if silent:
        return f"the agent of {silent[0]} is not heard either: that may well be the way to them"
    return around.cloud
