"""The gateway to real brokers: Kafka's own admin messages over a Dialer."""

from controlplane.kafka.admin_calls.brokers import BrokerCalls
from controlplane.kafka.admin_calls.groups import GroupCalls
from controlplane.kafka.admin_calls.quorum import QuorumCalls
from controlplane.kafka.admin_calls.quotas import QuotaCalls
from controlplane.kafka.admin_calls.reassignments import ReassignmentCalls
from controlplane.kafka.admin_calls.rights import RightsCalls
from controlplane.kafka.admin_calls.settings import SettingCalls
from controlplane.kafka.admin_calls.topics import TopicAdminCalls
from controlplane.kafka.snapshot import read_partitions, read_snapshot
from planner.observed import KafkaSnapshot, PartitionSeen


class AdminGateway(
    ReassignmentCalls,
    BrokerCalls,
    QuotaCalls,
    RightsCalls,
    SettingCalls,
    TopicAdminCalls,
    GroupCalls,
    QuorumCalls,
):
    """One cluster, reached through a dialer. See `KafkaGateway` for what each call promises."""

    def snapshot(self) -> KafkaSnapshot:
        with self._call() as (connection, deadline):
            mode = self._mode_of(connection, deadline)
            return read_snapshot(connection, deadline, self._now, mode=mode, look_up=self._look_up)

    def partitions(self) -> tuple[PartitionSeen, ...]:
        """Partitions without sizes: cheaper than a snapshot, for a frequent observer. Not part of the
        port."""
        with self._call() as (connection, deadline):
            return read_partitions(connection, deadline)
