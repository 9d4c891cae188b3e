"""What the converger needs of a Kafka cluster. Real brokers and the in-memory fake pass the same contract
suite."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from controlplane.kafka.throttle import ThrottlePlan
from planner.observed import KafkaSnapshot, TopicPartition


class KafkaGateway(Protocol):
    """One cluster. Every call ends within 10 s and raises only KafkaUnavailable (later) or KafkaRefused
    (never so).

    After KafkaUnavailable a change may or may not have been taken; all changes here can be repeated safely.
    """

    def snapshot(self) -> KafkaSnapshot:
        """Kafka's metadata now. `at` is before the first request; a broker that did not answer for its disks
        is missing from `log_dirs`, never guessed."""
        ...

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Mapping[TopicPartition, str]:
        """Ask for these replica lists (first = preferred leader). Returns the refused partitions with Kafka's
        words; empty when all were taken. A running reassignment of the same partition is replaced."""
        ...

    def cancel(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        """Revert running reassignments. A partition without one is left alone. Returns refusals as `reassign`
        does."""
        ...

    def set_throttle(self, plan: ThrottlePlan) -> int:
        """Make the throttles exactly these: what is set and not in the plan is removed, a stranger's too.
        Brokers that are not live are left alone. Returns the number of keys changed, 0 when all was so
        already."""
        ...

    def clear_throttles(self) -> int:
        """Remove every throttle: rates of all live brokers and of the cluster default, lists of all
        topics."""
        ...

    def unregister_broker(self, broker: int) -> bool:
        """Forget a broker. Kafka takes this for a live broker too, which then hangs: ask `may_unregister`
        first. Returns False when it was not registered."""
        ...

    def elect_preferred(self, partitions: Iterable[TopicPartition] | None) -> int:
        """Give leadership back to the first replica where that is in sync; None = all partitions. Returns the
        number of leaders that changed."""
        ...

    def update_feature(self, name: str, level: int, *, validate_only: bool) -> None:
        """Finalise a feature level, or only ask whether that would be taken."""
        ...

    def describe_cluster_config(self) -> Mapping[str, str]:
        """The cluster-wide dynamic broker defaults that are set, by key. Sensitive values are left out."""
        ...

    def alter_cluster_config(self, changes: Mapping[str, str | None]) -> None:
        """Set (or delete, with None) cluster-wide dynamic broker defaults; other keys stay."""
        ...

    def add_voter(self, controller: int, directory_id: str, *, host: str, port: int) -> bool:
        """Make a caught-up observer a voter of the controller quorum. One that lags is KafkaUnavailable.
        Returns False when it is one already."""
        ...

    def remove_voter(self, controller: int, directory_id: str) -> bool:
        """Take the voter with this id *and* directory out of the quorum. Returns False when it is none."""
        ...

    def close(self) -> None:
        """Drop the connections."""
        ...
