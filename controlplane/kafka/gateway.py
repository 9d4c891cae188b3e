"""What the converger needs of a Kafka cluster. Real brokers and the in-memory fake pass the same contract
suite."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Protocol

from controlplane.kafka.log_dir_requests import Wishes
from controlplane.kafka.scram import ScramCredential
from controlplane.kafka.throttle import ThrottlePlan
from planner.broker_answers import TopicLogs, ValueSeen
from planner.consumers.reset import OffsetSeen
from planner.consumers.seen import GroupsSeen
from planner.observed import KafkaSnapshot, SettingsSeen, TopicPartition
from planner.rights.acls import Acl
from planner.rights.seen import RightsSeen
from planner.rights.step import QuotaChange, RightsStep
from planner.rights.wanted import QuotaEntity
from planner.rollout.live_step import LiveStep
from planner.topics.step import TopicStep


class ReassignmentGateway(Protocol):
    """Replicas that move, and who leads. Each call as in `KafkaGateway`."""

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Mapping[TopicPartition, str]:
        """Ask for these replica lists (first = preferred leader). Returns the refused partitions with Kafka's
        words; empty when all were taken. A running reassignment of the same partition is replaced."""

    def prefer_log_dirs(self, wishes: Wishes) -> None:
        """Have brokers make replicas they are about to get in these log directories. To be told before `reassign`;
        a broker that restarts before it has the replica forgets. A replica that is in another directory of its broker
        begins to move to this one (`LogDirSeen.arriving`). One without such a directory is KafkaRefused."""

    def cancel(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        """Revert running reassignments. A partition without one is left alone. Returns refusals as `reassign`
        does."""

    def elect_preferred(self, partitions: Iterable[TopicPartition] | None) -> int:
        """Give leadership back to the first replica where that is in sync; None = all partitions. Returns the
        number of leaders that changed."""


class BrokerGateway(Protocol):
    """Throttles, cordons and registrations of brokers. Each call as in `KafkaGateway`."""

    def set_throttle(self, plan: ThrottlePlan) -> int:
        """Make the throttles exactly these: what is set and not in the plan is removed, a foreign one too.
        Brokers that are not live are left alone. Returns the number of keys changed, 0 when all was so
        already."""

    def clear_throttles(self) -> int:
        """Remove every throttle: rates of all live brokers and of the cluster default, lists of all
        topics."""

    def set_log_dirs_throttle(self, rates: Mapping[int, int | None]) -> None:
        """How fast replicas may move between the log directories of live brokers, by id, in bytes/s for all of one
        broker together; None takes the broker's own value back. Raises KafkaUnavailable when one does not answer."""

    def set_cordons(self, cordoned: Collection[int], lifted: Collection[int]) -> None:
        """Cordon live brokers, by id: no new replica is placed on them (Kafka 4.3 and its metadata level); and lift
        the cordons of others. What is so already stays so. Raises KafkaUnavailable when one does not answer."""

    def unregister_broker(self, broker: int) -> bool:
        """Forget a broker. Kafka takes this for a live broker too, which then loops on STALE_BROKER_EPOCH and
        does not even stop on SIGTERM (seen on 4.1.1 and 4.2.0): only for one that is proved stopped. Returns False
        when it was not registered."""


class QuotaGateway(Protocol):
    """Quotas of clients. Each call as in `KafkaGateway`."""

    def producer_quota(self) -> float | None:
        """`producer_byte_rate` of the default user: bytes/s that each user without a quota of its own may send to each
        broker. None where nobody set one."""

    def set_producer_quota(self, bytes_per_s: float | None) -> None:
        """Make it so, None takes it away. Brokers apply it within seconds; no other quota is touched."""

    def client_quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """All that are of no single user: of client ids, and the defaults of users and of client ids."""

    def change_client_quotas(self, changes: Mapping[QuotaEntity, QuotaChange]) -> Mapping[QuotaEntity, str]:
        """Make these changes; what is not named stays. Returns whose were refused, with Kafka's words; it can be
        repeated. Brokers apply it within seconds."""


class RightsGateway(Protocol):
    """ACLs, quotas and credentials of users. Each call as in `KafkaGateway`."""

    def user_rights(self) -> RightsSeen:
        """All there is of it, whoever made it."""

    def acls_of(self, principals: Collection[str]) -> tuple[Acl, ...] | None:
        """The ACLs of these principals alone, as `User:alice`; None where the brokers have no authorizer."""

    def change_user_rights(self, step: RightsStep, credentials: Mapping[str, ScramCredential]) -> Mapping[str, str]:
        """Make these changes, in the order of `RightsStep.stages`; `credentials` of all who are to get one. Returns the
        users that were refused with Kafka's words; it can be repeated. Brokers apply it within seconds."""


class SettingGateway(Protocol):
    """Settings of brokers that change while they run. Each call as in `KafkaGateway`."""

    def running_settings(self, names: Collection[str]) -> SettingsSeen:
        """These settings as each live broker runs with them, by its own word; a broker that did not answer is missing,
        and so is a name it does not know."""

    def setting_refusals(self, step: LiveStep) -> Mapping[int, str | None]:
        """What each live broker says to these values, in its words; None is a yes. Nothing is changed. Brokers that do
        not answer are missing."""

    def change_settings(self, step: LiveStep) -> None:
        """Set (or delete, with None) these live values. Ask `setting_refusals` first: Kafka takes a default that one
        broker can take, and another that cannot blocks there every later change."""

    def broker_values(self, broker: int) -> Mapping[str, ValueSeen]:
        """Every setting this broker runs with and where it comes from, by its own word."""


class TopicGateway(Protocol):
    """Topics, their settings and their logs. Each call as in `KafkaGateway`."""

    def topic_configs(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """What is set on these topics themselves, the executor's keys left out. One that is gone is missing."""

    def topic_values(self, topic: str) -> Mapping[str, ValueSeen] | None:
        """Every setting of a topic as it counts and where it comes from, the executor's keys left out. None for a topic
        that is not there."""

    def topic_logs(self, topic: str) -> TopicLogs | None:
        """Where each log of a topic begins and ends, by its leader's word. None for a topic that is not there."""

    def topic_refusals(self, step: TopicStep) -> Mapping[str, str]:
        """What of this Kafka would not take, in its words, by topic. Nothing is changed. What is so already is no
        refusal; deletions cannot be asked about."""

    def change_topics(self, step: TopicStep) -> Mapping[str, str]:
        """Make these changes. Returns what was refused, as `topic_refusals` does; it can be repeated."""


class GroupGateway(Protocol):
    """Consumer groups and their offsets. Each call as in `KafkaGateway`."""

    def groups(self, names: Collection[str] | None = None) -> GroupsSeen:
        """These consumer groups, or all up to a bound, with what they committed and where the logs end. `silent` names
        the brokers that did not answer: groups they coordinate are missing."""

    def group_offsets(self, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        """One consumer group, and where the logs begin and end of what it committed and of these topics; with `at` the
        first record at or after it too. None for a group no broker knows."""

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        """Put the offsets of a group without members. Returns the refused ones with Kafka's words: all of them where
        somebody is a member by now."""


class QuorumGateway(Protocol):
    """Voters, controllers and feature levels. Each call as in `KafkaGateway`."""

    def update_feature(self, name: str, level: int, *, validate_only: bool) -> None:
        """Finalise a feature level, or only ask whether that would be taken."""

    def add_voter(self, controller: int, directory_id: str, *, host: str, port: int) -> bool:
        """Make a caught-up observer a voter of the controller quorum. One that lags is KafkaUnavailable.
        Returns False when it is one already."""

    def remove_voter(self, controller: int, directory_id: str) -> bool:
        """Take the voter with this id *and* directory out of the quorum. Returns False when it is none."""

    def reelect_controller(self, broker: int, epoch: int) -> bool:
        """ZooKeeper mode: end the reign of this controller, of this epoch, so that the brokers elect one anew; it may
        be the same broker again. Returns False where another reigns by now, or none. Elsewhere KafkaRefused."""


class KafkaGateway(
    ReassignmentGateway,
    BrokerGateway,
    QuotaGateway,
    RightsGateway,
    SettingGateway,
    TopicGateway,
    GroupGateway,
    QuorumGateway,
    Protocol,
):
    """One cluster. Every call ends within 10 s and raises only KafkaUnavailable (later) or KafkaRefused
    (never so).

    After KafkaUnavailable a change may or may not have been taken; all changes here can be repeated safely.
    """

    def snapshot(self) -> KafkaSnapshot:
        """Kafka's metadata now. `at` is before the first request; a broker that did not answer for its disks
        is missing from `log_dirs`, never guessed."""

    def close(self) -> None:
        """Drop the connections."""
