"""What a pair's server asks brokers about its copy. Brokers and the fake pass the same contract suite."""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from controlplane.kafka.pair_copies.values import CopyPositions, FlowEnds, PartitionTail
from planner.observed import TopicPartition


class PairLogs(Protocol):
    """Both clusters. Each call is bounded, and raises KafkaUnavailable where it was not answered whole in that time:
    nothing that was cut short is told. KafkaRefused: never so. All of them can be repeated."""

    def positions(self, flow: FlowEnds, topics: Collection[str]) -> CopyPositions:
        """Where both logs of each partition begin and end, and how far MirrorMaker says it has come. A topic that a
        cluster does not have is missing there."""

    def copied(self, flow: FlowEnds, topics: Collection[str]) -> CopyPositions:
        """As `positions`, of the target alone: nothing is told of the source, whose brokers are not asked."""

    def write_seeds(self, flow: FlowEnds, seeds: Mapping[TopicPartition, int]) -> None:
        """Have a replicator that is started next go on behind these offsets of the source: by partition the one behind
        the last record that both have, 0 for the beginning. Makes MirrorMaker's topic where it is missing, and returns
        once what is read back is what was to be written.

        Only while no replicator of this flow runs, which is the caller's to prove: one that runs reads it never, and
        writes its own over it. Partitions that are not named keep what was there.
        """

    def read_tails(
        self, flow: FlowEnds, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, PartitionTail]:
        """Compares the last data record of both logs: key, value, headers, and timestamp where the log did not set its
        own. Markers of transactions are no records; records of aborted ones are, since MirrorMaker copies them. A
        partition whose leader does not answer is UNKNOWN."""

    def seed_positions(
        self, flow_back: FlowEnds, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """Seeds of the way back after a planned switch, while `flow_back.target`, the old primary, stands still and is
        a true prefix: the offset behind the record of the new primary that is the old one's last.

        Looked for at the same offset first, then from that record's time on, in a bounded number of records; the first
        that is identical counts. 0 where the old primary never had a record there; None where it is not found, or the
        old primary holds no data record any more: a person has to say.
        """

    def groups_to_align(self, flow: FlowEnds, topics: Collection[str], not_groups: Collection[str]) -> tuple[str, ...]:
        """Groups of the source with offsets in these topics, but for those whose whole names are of one of the patterns
        `not_groups`. Raises KafkaRefused, with their names, where groups have members at the target."""

    def align(self, flow: FlowEnds, topics: Collection[str], groups: Collection[str]) -> Mapping[str, int]:
        """Put the offsets that these groups of the source have in these topics at the same records of the target; both
        have to be drained, else KafkaUnavailable.

        Each place is proved by comparing the record there with the one at the source. Where that fails, the group
        begins at what MirrorMaker has synced, and where that is not there either, at the log's beginning: never behind
        a record that it has not read. Returns how many records each group reads again, those included that the target
        holds twice; told by offsets, so that markers among the unread records of the source hide as many. Raises
        KafkaRefused, with their names, before anything is changed, where groups have members at the target.
        """
