"""What is asked of the brokers of a warm pair, with the topics it is of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.copying import Tails
from controlplane.fleet.failovers.replicators import copied_topics, not_groups
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.view import PairState
from controlplane.kafka.errors import KafkaFault, KafkaUnavailable
from controlplane.kafka.pair_copies.port import PairLogs
from controlplane.kafka.pair_copies.values import CopyPositions, FlowEnd, FlowEnds
from planner.observed import TopicPartition

_MOST_REPLICAS = 3
_NEXT = "look at both clusters"


class CopyImpossible(KafkaFault):
    """The logs are not such that records could be copied from one to the other."""


@dataclass(frozen=True, slots=True)
class CopyWork:
    """At one pair, as its clusters are now. `partitions`: of each topic of the primary that there are two of, as it is
    declared. Every call raises KafkaFault."""

    pair: RegisteredPair
    primary: ClusterView
    standby: ClusterView
    partitions: Mapping[str, int]
    logs: PairLogs

    @property
    def topics(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.partitions)

    def positions(self) -> CopyPositions:
        """Where both logs are. Raises KafkaUnavailable, too, where the primary's brokers do not tell of all that it
        has by its declarations: what one broker has not heard of yet is not drained."""
        seen = self.logs.positions(self._flow, self.topics)
        for topic, declared in self.partitions.items():
            told = sum(1 for p in seen.source if p.topic == topic)
            if told < declared:
                why = f"its brokers tell of {told} of the {declared} partitions of {topic}"
                raise KafkaUnavailable(what="reading where logs end", where=self.primary.name, why=why)
        return seen

    def tails(self, partitions: Iterable[TopicPartition]) -> Tails:
        """The last records of both."""
        return self.logs.read_tails(self._flow, partitions)

    def aligned(self) -> Mapping[str, int]:
        """Sets offsets of groups; by group, what it reads again."""
        return self.logs.align(self._flow, self.topics, not_groups(self.pair)) if self.topics else {}

    def seeds(self) -> Mapping[str, int] | None:
        """Where the copy begins, once the replicator that is started next has been told. None while that is not due:
        topics are missing, or what is there has to be judged by a person. None runs while there is no flow."""
        view = self.pair.view
        is_due = view.state in (PairState.SEEDING, PairState.REVERSING) and view.doors[view.standby].is_shut
        is_built = set(self.topics) <= set(copied_topics(self.pair, self.standby))
        if not is_due or not is_built or view.may_diverge:
            return None
        found = self._begins() if view.flows == 0 else self._goes_on()
        if found:
            self.logs.write_seeds(self._flow, found)
        return {str(p): end for p, end in sorted(found.items()) if end}

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
        """Behind what the old primary has, which is all that it ever got."""
        seen = self.positions()
        found = self.logs.seed_positions(self._flow, seen.source)
        unknown = sorted(str(p) for p in seen.source if found.get(p) is None)
        if unknown:
            raise self._impossible("going on with a copy", unknown, "a last record that is nowhere on the new primary")
        return {p: end for p, end in found.items() if end is not None}

    def _impossible(self, what: str, partitions: list[str], has: str) -> CopyImpossible:
        more = f" (and {len(partitions) - 1} more)" if len(partitions) > 1 else ""
        why = f"{partitions[0]}{more} has {has}"
        return CopyImpossible(what=what, where=self.standby.name, why=why, next_step=_NEXT)
