"""Puts the offsets of consumer groups elsewhere: what that would mean now, and then exactly that.

The order is that of every act: it is recorded, then the brokers are asked, then their answer is recorded. Kafka takes
offsets of somebody who is no member only for a group without members, so nobody who joins meanwhile is overtaken.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from controlplane.cluster.commands import Command, CommandRefused, NoteOffsetsReset, ResetOffsets
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.offset_resets import ResetView
from controlplane.commands.deciders.groups import answer_words
from controlplane.kafka.gateway import GroupGateway
from events.facts import OffsetPut
from events.ids import derived_id
from planner.consumers.reset import OffsetSeen, ResetPlan, ResetWish, reset_plan, why_not
from planner.observed import TopicPartition


class GroupOffsets(Protocol):
    """Offsets of groups as brokers have them; `GroupOffsetService` is one. Each call raises KafkaFault."""

    def look(self, view: ClusterView, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        """The group now, and the logs it reads; None where no broker knows it."""

    def put(self, view: ClusterView, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        """Commits them. Returns what was refused, in Kafka's words."""


@dataclass(frozen=True, slots=True)
class GroupOffsetService:
    """`GroupOffsets`. `kafka` is a way to brokers of its own: who waits for a tick's connection waits for no reset.
    `as_node`: a way as a super user, for this alone: who may put offsets may read records, and Kedge's server may not.
    """

    kafka: Callable[[ClusterView], GroupGateway]
    as_node: Callable[[ClusterView], AbstractContextManager[GroupGateway]]

    def look(self, view: ClusterView, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        return self.kafka(view).group_offsets(group, topics, at)

    def put(self, view: ClusterView, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        if not view.settings.least_rights:
            return self.kafka(view).commit_offsets(group, offsets)
        with self.as_node(view) as kafka:
            return kafka.commit_offsets(group, offsets)


class Handles(Protocol):
    """Carries out commands; `CommandHandler` is one."""

    def handle(self, command: Command) -> object: ...

    def current(self, name: str) -> ClusterView: ...


class GroupUnknown(LookupError):
    """No broker knows the group. What now: look at those there are."""


@dataclass(frozen=True, slots=True)
class PlannedReset:
    """What a wish means now, and why it may not be done now, "" where it may."""

    plan: ResetPlan
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOrder:
    """A reset as it was planned. `key` makes a retry safe."""

    group: str
    offsets: tuple[OffsetPut, ...]
    reason: str
    actor: str
    key: str


def planned_reset(offsets: GroupOffsets, view: ClusterView, group: str, wish: ResetWish) -> PlannedReset:
    """Raises KafkaFault, GroupUnknown. Records nothing."""
    topics = wish.topics | {p.topic for p in wish.partitions}
    seen = offsets.look(view, group, sorted(topics), wish.at)
    if seen is None:
        raise GroupUnknown(group)
    return PlannedReset(reset_plan(seen, wish), why_not(seen.group))


def carry_out_reset(commands: Handles, offsets: GroupOffsets, order: ResetOrder, name: str) -> str:
    """What came of it, in words. Sent again with its key it is finished, or answered again, never done twice.

    Raises KafkaFault (what was recorded may or may not have been taken: send it again), GroupUnknown, CommandRefused,
    and what `handle` raises.
    """
    view = commands.current(name)
    reset = derived_id("offsets of a group", view.uid, order.key)
    known = view.requests.resets.get(order.group)
    if known is None or known.id != reset:
        _refuse_moved(offsets, view, order)
        commands.handle(
            ResetOffsets(
                name=name,
                actor=order.actor,
                command_id=order.key,
                group=order.group,
                reset=reset,
                offsets=order.offsets,
                reason=order.reason,
            )
        )
    elif known.over:
        return answer_words(known.partitions, known.refused)
    put = offsets.put(view, order.group, {TopicPartition(o.topic, o.partition): o.after for o in order.offsets})
    refused = {str(partition): words for partition, words in sorted(put.items())}
    answer = NoteOffsetsReset(
        name=name,
        actor=order.actor,
        command_id=derived_id("answer to a reset", reset),
        group=order.group,
        reset=reset,
        refused=refused,
    )
    commands.handle(answer)
    return answer_words(len(order.offsets), refused)


def reset_words(reset: ResetView) -> str:
    """The last reset of a group in words."""
    if not reset.over:
        return f"offsets to be put elsewhere: {reset.partitions}; the brokers' answer is not known ({reset.reason})"
    return f"{answer_words(reset.partitions, reset.refused)} ({reset.reason})"


def _refuse_moved(offsets: GroupOffsets, view: ClusterView, order: ResetOrder) -> None:
    """Raises CommandRefused unless all is as it was when it was planned."""
    seen = offsets.look(view, order.group, sorted({o.topic for o in order.offsets}), None)
    if seen is None:
        raise GroupUnknown(order.group)
    if why := why_not(seen.group):
        raise CommandRefused(
            "group-has-members", why, "Stop its consumers, wait until they have left, and plan it again."
        )
    for o in order.offsets:
        name = TopicPartition(o.topic, o.partition)
        if seen.group.committed.get(name) != o.before:
            message = (
                f"{order.group} has moved: {name} is at {_said(seen.group.committed.get(name))}, not {_said(o.before)}"
            )
            raise CommandRefused("offsets-moved", message, "Plan the reset again.")
        span = seen.spans.get(name)
        if span is None or span.first is None or span.end is None:
            raise CommandRefused("log-unknown", f"the log of {name} was not told", "Ask again in a minute.")
        if not span.first <= o.after <= span.end:
            message = f"{o.after} is not in the log of {name}, which goes from {span.first} to {span.end}"
            raise CommandRefused("outside-log", message, "Plan the reset again.")


def _said(offset: int | None) -> str:
    return "nothing" if offset is None else str(offset)
