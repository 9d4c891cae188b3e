"""What is asked of the brokers of a warm pair, with the topics it is of."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.copying import Tails
from controlplane.fleet.failovers.replicators import copied_topics, not_groups
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.view import PairState
from controlplane.kafka.errors import KafkaFault, KafkaUnavailable
from controlplane.kafka.pair_copies.port import PairLogs
from controlplane.kafka.pair_copies.values import CopyPositions, FlowEnd, FlowEnds, LogExtent, PartitionTail
from events.failover_facts import TopicEnds
from planner.observed import TopicPartition

_MOST_REPLICAS = 3
_NEXT = "look at both clusters"
PARTITIONS_A_CALL, GROUPS_A_CALL = 1_000, 20
"""A call to brokers is bounded: what there is more of is asked for by one call after another."""


class CopyImpossible(KafkaFault):
    """The logs are not such that records could be copied from one to the other."""


class StepIsOver(KafkaFault):
    """The pair went on meanwhile, or another server leads: nothing more is done for the step of before."""


@dataclass(frozen=True, slots=True)
class CopyWork:
    """At one pair, as its clusters are now. `partitions`: of each topic of the primary that there are two of, as it is
    declared. `is_due`: whether its step is the one in hand still, and this server's. Every call raises KafkaFault."""

    pair: RegisteredPair
    primary: ClusterView
    standby: ClusterView
    partitions: Mapping[str, int]
    logs: PairLogs
    is_due: Callable[[], bool]

    @property
    def topics(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.partitions)

    def positions(self) -> CopyPositions:
        """Where both logs are. Raises KafkaUnavailable, too, where the primary's brokers do not tell of all that it
        has by its declarations: what one broker has not heard of yet is not drained."""
        seen = _together([self.logs.positions(self._flow, topics) for topics in self._topics_by_call()])
        for topic, declared in self.partitions.items():
            told = sum(1 for p in seen.source if p.topic == topic)
            if told < declared:
                why = f"its brokers tell of {told} of the {declared} partitions of {topic}"
                raise KafkaUnavailable(what="reading where logs end", where=self.primary.name, why=why)
        return seen

    def tails(self, partitions: Iterable[TopicPartition]) -> Tails:
        """The last records of both."""
        found: dict[TopicPartition, PartitionTail] = {}
        for some in _batches(sorted(partitions), PARTITIONS_A_CALL):
            found |= self.logs.read_tails(self._flow, some)
        return found

    def align(self, done: dict[str, int]) -> None:
        """Sets offsets of all groups. `done` gets by group what it reads again, as it is set: those in it are left."""
        if not self.topics:
            return
        groups = self.logs.groups_to_align(self._flow, self.topics, not_groups(self.pair))
        for some in _batches([name for name in groups if name not in done], GROUPS_A_CALL):
            self._require_due("setting offsets of groups")
            done |= self.logs.align(self._flow, self.topics, some)

    def seeds(self) -> Mapping[str, int] | None:
        """Where the copy begins, once the replicator that is started next has been told. None while that is not due:
        topics are missing, or what is there has to be judged by a person. None runs while there is no flow."""
        view = self.pair.view
        is_built = set(self.topics) <= set(copied_topics(self.pair, self.standby))
        if not self._may_begin or not is_built or view.may_diverge:
            return None
        found = self._begins() if view.flows == 0 else self._goes_on()
        for some in _batches(sorted(found), PARTITIONS_A_CALL):
            self._require_due("writing where the copy begins")
            self.logs.write_seeds(self._flow, {p: found[p] for p in some})
        return {str(p): end for p, end in sorted(found.items()) if end}

    def ends(self) -> Mapping[str, TopicEnds]:
        """How much of each topic is on the standby, by it and what MirrorMaker has written down there. The primary is
        not asked."""
        seen = _together([self.logs.copied(self._flow, topics) for topics in self._topics_by_call()])
        found = {}
        for topic in self.topics:
            partitions = sorted(p for p in seen.target if p.topic == topic)
            copied = tuple(seen.committed.get(p, -1) + 1 for p in partitions)
            found[topic] = TopicEnds(
                seen.target_ids.get(topic, ""), copied, tuple(seen.target[p].end for p in partitions)
            )
        return found

    def only_there(self) -> Mapping[str, int] | None:
        """Of the old primary, by partition, records that the new one has not, at most. None while that is not due."""
        if not self._may_begin:
            return None
        ended = self.pair.view.ended
        if self.topics and (ended is None or not ended.ends):
            why = "how much it had copied when it took over is not written down"
            raise CopyImpossible(what="comparing both logs", where=self.standby.name, why=why, next_step=_NEXT)
        seen = self.positions()
        found = self._common_ends(seen)
        left = [(p, log) for p, log in sorted(seen.target.items()) if log.end and found.get(p) is None]
        ends = ended.ends if ended is not None else {}
        return {str(p): _beyond(log, p, ends) for p, log in left}

    def _common_ends(self, seen: CopyPositions) -> dict[TopicPartition, int | None]:
        """Of the way back, by partition of the new primary, the offset behind the old one's last record there; None
        where it is not among what was copied. What the old one never had begins at 0."""
        ended = self.pair.view.ended
        ends = ended.ends if ended is not None else {}
        found: dict[TopicPartition, int | None] = {
            p: end for p in seen.source if (end := _known_end(seen, p, ends)) is not None
        }
        for some in _batches(sorted(p for p in seen.source if p not in found), PARTITIONS_A_CALL):
            found |= self.logs.seed_positions(self._flow, some)
        # The same record may have come to the new primary by itself: a producer that was not answered sends it again.
        late = [p for p, end in found.items() if end is not None and end > _most(p, ends)]
        return found | dict.fromkeys(late)

    @property
    def _may_begin(self) -> bool:
        """Nobody writes to the standby, and nothing is copied to it yet."""
        view = self.pair.view
        return view.state in (PairState.SEEDING, PairState.REVERSING) and view.doors[view.standby].is_shut

    @property
    def _flow(self) -> FlowEnds:
        serving = bootstrap_of(self.standby)
        return FlowEnds(
            FlowEnd(self.primary.uid, bootstrap_of(self.primary)),
            FlowEnd(self.standby.uid, serving),
            max(1, min(_MOST_REPLICAS, len(serving))),
        )

    def _begins(self) -> Mapping[TopicPartition, int]:
        """At the beginning, where the standby has nothing yet."""
        seen = self.positions()
        written = sorted(str(p) for p, extent in seen.target.items() if extent.end)
        if written:
            raise self._impossible("beginning a copy", written, "records before: delete them there")
        return dict.fromkeys(seen.source, 0)

    def _goes_on(self) -> Mapping[TopicPartition, int]:
        """Behind what the old primary has, which is all that it ever got: where both ended once all was copied. What
        ends elsewhere now lost records meanwhile, and is looked for record by record."""
        seen = self.positions()
        found = self._common_ends(seen)
        unknown = sorted(str(p) for p in seen.source if found.get(p) is None)
        if unknown:
            raise self._impossible("going on with a copy", unknown, "a last record that is nowhere on the new primary")
        return {p: end for p, end in found.items() if end is not None}

    def _topics_by_call(self) -> Iterator[tuple[str, ...]]:
        """Topics of which one call may ask; one call of none where there are none."""
        some: list[str] = []
        for topic, count in self.partitions.items():
            if some and sum(self.partitions[t] for t in some) + count > PARTITIONS_A_CALL:
                yield tuple(some)
                some = []
            some.append(topic)
        if some or not self.partitions:
            yield tuple(some)

    def _require_due(self, what: str) -> None:
        if not self.is_due():
            why = "the pair has gone on meanwhile, or another server leads"
            raise StepIsOver(what=what, where=self.standby.name, why=why, next_step="nothing: the next look goes on")

    def _impossible(self, what: str, partitions: list[str], has: str) -> CopyImpossible:
        more = f" (and {len(partitions) - 1} more)" if len(partitions) > 1 else ""
        why = f"{partitions[0]}{more} has {has}"
        return CopyImpossible(what=what, where=self.standby.name, why=why, next_step=_NEXT)


_T = TypeVar("_T")


def _batches(of: Sequence[_T], most: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(of), most):
        yield of[start : start + most]


def _together(looks: Sequence[CopyPositions]) -> CopyPositions:
    """Looks at different topics as one, as of the first."""
    first, *others = looks
    if not others:
        return first
    source, target, committed = dict(first.source), dict(first.target), dict(first.committed)
    source_ids, target_ids = dict(first.source_ids), dict(first.target_ids)
    for one in others:
        source |= one.source
        target |= one.target
        committed |= one.committed
        source_ids |= one.source_ids
        target_ids |= one.target_ids
    return CopyPositions(first.at, source, target, committed, source_ids, target_ids)


def _known_end(seen: CopyPositions, p: TopicPartition, ends: Mapping[str, TopicEnds]) -> int | None:
    """Where the new primary's log ended when the old one's had been copied to its end, or to where it holds nothing any
    more; None where that is not written down, or one of the two logs is not the one it was. `seen` is of the way back:
    its source is what was the standby."""
    topic = ends.get(p.topic)
    if topic is None or p.partition >= len(topic.standby) or seen.source_ids.get(p.topic) != topic.standby_id:
        return None
    old, end = seen.target.get(p), topic.standby[p.partition]
    if old is None or seen.source[p].end < end:
        return None
    is_common = old.end == topic.primary[p.partition] or (old.first == old.end > topic.primary[p.partition])
    return end if is_common else None


def _most(p: TopicPartition, ends: Mapping[str, TopicEnds]) -> float:
    """Up to which offset the new primary's log can be a copy; no bound where that is not written down."""
    topic = ends.get(p.topic)
    return topic.standby[p.partition] if topic is not None and p.partition < len(topic.standby) else math.inf


def _beyond(log: LogExtent, p: TopicPartition, ends: Mapping[str, TopicEnds]) -> int:
    """Records of the old primary behind what is known to be copied of it; at least one, as its last one is."""
    topic = ends.get(p.topic)
    copied = topic.primary[p.partition] if topic is not None and p.partition < len(topic.primary) else 0
    return max(1, log.end - max(copied, log.first))
