"""The gateway to real brokers: Kafka's own admin messages over a Dialer."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from kafka.errors import for_code
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    UpdateFeaturesRequest,
)
from kafka.protocol.metadata import MetadataRequest

from controlplane.kafka.configs import apply_changes, read_cluster_defaults, read_told, read_topic_configs
from controlplane.kafka.deadline import CALL_LIMIT_S, Deadline
from controlplane.kafka.dialer import Connection, Dialer
from controlplane.kafka.effective_settings import read_broker_values, read_topic_values
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable, require_ok
from controlplane.kafka.group_offsets import commit_offsets, read_group_offsets
from controlplane.kafka.groups import read_groups
from controlplane.kafka.log_dir_requests import Wishes, prefer_log_dirs
from controlplane.kafka.offsets import read_topic_logs
from controlplane.kafka.raw import AddRaftVoterRequest, RemoveRaftVoterRequest, UnregisterBrokerRequest, directory_uuid
from controlplane.kafka.settings_live import read_some, step_changes, step_refusals
from controlplane.kafka.snapshot import read_partitions, read_snapshot
from controlplane.kafka.throttle import CLUSTER_DEFAULT, CORDON, EVERY_DIR, ConfigChange, ThrottlePlan, reconcile
from controlplane.kafka.topics import ask_topics, read_own_configs
from controlplane.kafka.zookeeper_mode import LookUp, current_controller, read_mode, registered
from planner.broker_answers import TopicLogs, ValueSeen
from planner.consumers.reset import OffsetSeen
from planner.consumers.seen import GroupsSeen
from planner.observed import KafkaSnapshot, Mode, PartitionSeen, SettingsSeen, TopicPartition
from planner.rollout.live_step import LiveStep
from planner.topics.step import TopicStep

_NO_REASSIGNMENT, _ELECTION_NOT_NEEDED, _NO_PREFERRED_LEADER = 85, 84, 80
_UNKNOWN_TOPIC, _NOT_REGISTERED, _DUPLICATE_VOTER, _NO_SUCH_VOTER = 3, 102, 126, 127
_PREFERRED, _UPGRADE = 0, 1
_ANSWER_S = 4.0
"""What each broker is given to answer for its own settings; one that does not is left out."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class AdminGateway:
    """One cluster, reached through `dialer`. See `KafkaGateway` for what each call promises."""

    def __init__(
        self,
        dialer: Dialer,
        cluster: str,
        bootstrap: Callable[[], Sequence[str]] | Sequence[str],
        *,
        now: Callable[[], datetime] = utc_now,
        limit_s: float = CALL_LIMIT_S,
        mode: Mode | None = None,
        look_up: LookUp | None = None,
    ) -> None:
        """`cluster` keys the connection (its uid). `bootstrap` (`host:port`) is read at every new
        connection. `mode` None: asked for once. `look_up`: ZooKeeper's own word in that mode."""
        self._dialer = dialer
        self._cluster = cluster
        self._bootstrap = bootstrap if callable(bootstrap) else lambda: bootstrap
        self._now = now
        self._limit_s = min(limit_s, CALL_LIMIT_S)
        self._mode = mode
        self._look_up = look_up

    def snapshot(self) -> KafkaSnapshot:
        with self._call() as (connection, deadline):
            mode = self._mode_of(connection, deadline)
            return read_snapshot(connection, deadline, self._now, mode=mode, look_up=self._look_up)

    def partitions(self) -> tuple[PartitionSeen, ...]:
        """Partitions without sizes: cheaper than a snapshot, for a frequent observer. Not part of the
        port."""
        with self._call() as (connection, deadline):
            return read_partitions(connection, deadline)

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Mapping[TopicPartition, str]:
        return self._alter_reassignments({p: list(r) for p, r in targets.items()}, "reassigning partitions")

    def prefer_log_dirs(self, wishes: Wishes) -> None:
        with self._call() as (connection, deadline):
            prefer_log_dirs(connection, wishes, deadline)

    def cancel(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        return self._alter_reassignments(dict.fromkeys(partitions), "cancelling reassignments", _NO_REASSIGNMENT)

    def set_throttle(self, plan: ThrottlePlan) -> int:
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            topics = read_topic_configs(connection, None, self._topics(connection, deadline), deadline)
            told = read_told(connection, live, topics, deadline)
            changes = reconcile(told.throttles, plan, live=told.brokers)
            apply_changes(connection, changes, deadline)
            return len(changes)

    def clear_throttles(self) -> int:
        return self.set_throttle(ThrottlePlan())

    def set_cordons(self, cordoned: Collection[int], lifted: Collection[int]) -> None:
        wanted: dict[int, str | None] = {**dict.fromkeys(cordoned, EVERY_DIR), **dict.fromkeys(lifted)}
        changes = [ConfigChange("broker", str(broker), CORDON, value) for broker, value in wanted.items()]
        with self._call() as (connection, deadline):
            apply_changes(connection, changes, deadline)

    def unregister_broker(self, broker: int) -> bool:
        with self._call() as (connection, deadline):
            if self._mode_of(connection, deadline) == "zookeeper":
                return self._is_forgotten(connection, broker, deadline)
        request = UnregisterBrokerRequest(broker_id=broker)
        return self._change(request, f"unregistering broker {broker}", already=_NOT_REGISTERED)

    def elect_preferred(self, partitions: Iterable[TopicPartition] | None) -> int:
        what = "electing preferred leaders"
        with self._call() as (connection, deadline):
            request = ElectLeadersRequest(
                election_type=_PREFERRED,
                topic_partitions=None if partitions is None else _election_topics(partitions),
                timeout_ms=int(deadline.left_s * 1000),
            )
            node = self._controller(connection, deadline)
            answer = connection.ask(request, what=what, deadline=deadline, node=node)
            self._check(answer, what)
            elected = 0
            for result in answer.replica_election_results:
                for p in result.partition_result:
                    if p.error_code in (_ELECTION_NOT_NEEDED, _NO_PREFERRED_LEADER, _UNKNOWN_TOPIC):
                        continue
                    self._check(p, f"{what} of {result.topic}-{p.partition_id}")
                    elected += 1
            return elected

    def update_feature(self, name: str, level: int, *, validate_only: bool) -> None:
        what = f"{'validating' if validate_only else 'finalising'} {name} {level}"
        with self._call() as (connection, deadline):
            self._require_kraft(connection, what, "its one level is inter.broker.protocol.version", deadline)
            key = UpdateFeaturesRequest.FeatureUpdateKey(
                feature=name, max_version_level=level, allow_downgrade=False, upgrade_type=_UPGRADE
            )
            # validate_only exists since v1 (KIP-584); an older broker would make the change
            request = UpdateFeaturesRequest(
                timeout_ms=int(deadline.left_s * 1000),
                feature_updates=[key],
                validate_only=validate_only,
                min_version=1,
            )
            answer = connection.ask(request, what=what, deadline=deadline)
            self._check(answer, what)
            for result in answer.results or ():  # per feature up to v1
                self._check(result, what)

    def describe_cluster_config(self) -> Mapping[str, str]:
        with self._call() as (connection, deadline):
            return read_cluster_defaults(connection, deadline)

    def alter_cluster_config(self, changes: Mapping[str, str | None]) -> None:
        wanted = [ConfigChange("broker", str(CLUSTER_DEFAULT), k, v) for k, v in sorted(changes.items())]
        with self._call() as (connection, deadline):
            apply_changes(connection, wanted, deadline)

    def running_settings(self, names: Collection[str]) -> SettingsSeen:
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            found = read_some(connection, names, live, timeout_s=deadline.capped(_ANSWER_S))
            defaults = read_cluster_defaults(connection, deadline)
            return SettingsSeen(found, {n: v for n, v in defaults.items() if n in names})

    def setting_refusals(self, step: LiveStep) -> Mapping[int, str | None]:
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            return step_refusals(connection, step, live, timeout_s=deadline.capped(_ANSWER_S))

    def change_settings(self, step: LiveStep) -> None:
        with self._call() as (connection, deadline):
            apply_changes(connection, step_changes(step), deadline)

    def topic_configs(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        with self._call() as (connection, deadline):
            return read_own_configs(connection, topics, deadline)

    def topic_values(self, topic: str) -> Mapping[str, ValueSeen] | None:
        with self._call() as (connection, deadline):
            return read_topic_values(connection, topic, deadline)

    def broker_values(self, broker: int) -> Mapping[str, ValueSeen]:
        with self._call() as (connection, deadline):
            return read_broker_values(connection, broker, deadline)

    def topic_logs(self, topic: str) -> TopicLogs | None:
        with self._call() as (connection, deadline):
            return read_topic_logs(connection, topic, deadline, self._now)

    def topic_refusals(self, step: TopicStep) -> Mapping[str, str]:
        with self._call() as (connection, deadline):
            found = partial(self._controller, connection, deadline)
            return ask_topics(connection, step, deadline, validate_only=True, controller=found)

    def change_topics(self, step: TopicStep) -> Mapping[str, str]:
        with self._call() as (connection, deadline):
            found = partial(self._controller, connection, deadline)
            return ask_topics(connection, step, deadline, validate_only=False, controller=found)

    def groups(self, names: Collection[str] | None = None) -> GroupsSeen:
        with self._call() as (connection, deadline):
            return read_groups(connection, names, deadline, self._now)

    def group_offsets(self, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        with self._call() as (connection, deadline):
            return read_group_offsets(connection, group, topics, at, deadline, self._now)

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        with self._call() as (connection, deadline):
            return commit_offsets(connection, group, offsets, deadline, self._now)

    def add_voter(self, controller: int, directory_id: str, *, host: str, port: int) -> bool:
        request = AddRaftVoterRequest(
            cluster_id=None,
            timeout_ms=int(self._limit_s * 800),
            voter_id=controller,
            voter_directory_id=directory_uuid(directory_id),
            listeners=[AddRaftVoterRequest.Listener(name="CONTROLLER", host=host, port=port)],
        )
        return self._change(request, f"adding voter {controller}", already=_DUPLICATE_VOTER)

    def remove_voter(self, controller: int, directory_id: str) -> bool:
        request = RemoveRaftVoterRequest(
            cluster_id=None, voter_id=controller, voter_directory_id=directory_uuid(directory_id)
        )
        return self._change(request, f"removing voter {controller}", already=_NO_SUCH_VOTER)

    def reelect_controller(self, broker: int, epoch: int) -> bool:
        words = "no ZooKeeper is known of this cluster: where a quorum leads, its active controller is restarted"
        what = f"electing another controller than {broker}"
        raise KafkaRefused(what=what, where=self._cluster, words=words, error="UnsupportedVersion")

    def close(self) -> None:
        self._dialer.hang_up(self._cluster)

    @contextmanager
    def _call(self) -> Iterator[tuple[Connection, Deadline]]:
        deadline = Deadline.after(self._limit_s)
        with self._dialer.dial(self._cluster, list(self._bootstrap()), deadline) as connection:
            yield connection, deadline

    def _change(self, request: Any, what: str, *, already: int) -> bool:
        """Send a change of one thing; False when the answer is the code that says it was so already."""
        with self._call() as (connection, deadline):
            self._require_kraft(connection, what, "it has no quorum of controllers", deadline)
            answer = connection.ask(request, what=what, deadline=deadline)
            if answer.error_code == already:
                return False
            self._check(answer, what)
            return True

    def _alter_reassignments(
        self, targets: Mapping[TopicPartition, list[int] | None], what: str, harmless: int | None = None
    ) -> Mapping[TopicPartition, str]:
        if not targets:
            return {}
        with self._call() as (connection, deadline):
            request = AlterPartitionReassignmentsRequest(
                timeout_ms=int(deadline.left_s * 1000), topics=_reassignment_topics(targets)
            )
            node = self._controller(connection, deadline)
            answer = connection.ask(request, what=what, deadline=deadline, node=node)
            self._check(answer, what)
            told = {TopicPartition(t.name, p.partition_index): p for t in answer.responses for p in t.partitions}
            refused = {p: "Kafka did not answer for this partition" for p in targets if p not in told}
            for name, p in told.items():
                if p.error_code not in (0, harmless):
                    refused[name] = f"{p.error_message or 'no words'} ({for_code(p.error_code).__name__})"
            return refused

    def _mode_of(self, connection: Connection, deadline: Deadline) -> Mode:
        if self._mode is None:
            self._mode = read_mode(connection, deadline)
        return self._mode

    def _controller(self, connection: Connection, deadline: Deadline) -> int | None:
        """Whom to send what only a controller takes. KRaft brokers pass it on, so any does (None)."""
        if self._mode_of(connection, deadline) == "kraft":
            return None
        return current_controller(connection, self._look_up, deadline).broker

    def _require_kraft(self, connection: Connection, what: str, why: str, deadline: Deadline) -> None:
        if self._mode_of(connection, deadline) == "zookeeper":
            words = f"this cluster is in ZooKeeper mode: {why}"
            raise KafkaRefused(what=what, where=self._cluster, words=words, error="UnsupportedVersion")

    def _is_forgotten(self, connection: Connection, broker: int, deadline: Deadline) -> bool:
        """In ZooKeeper mode a registration is an ephemeral node: nobody takes it away, it goes with its session. False
        once it is gone, as for one that was not registered."""
        if self._look_up is not None:
            known = frozenset(registered(self._look_up, self._cluster).brokers)
        else:
            current_controller(connection, None, deadline)
            known = connection.refresh_nodes(deadline)
        if broker not in known:
            return False
        raise KafkaUnavailable(
            what=f"unregistering broker {broker}",
            where=self._cluster,
            why="ZooKeeper still has its registration, which goes with its session (18 s after a broker that died)",
            next_step="Nothing needs to be asked for: look again.",
        )

    def _topics(self, connection: Connection, deadline: Deadline) -> list[str]:
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        answer = connection.ask(request, what="listing topics", deadline=deadline)
        return [t.name for t in answer.topics if t.error_code == 0]

    def _check(self, answer: Any, what: str) -> None:
        require_ok(answer, what=what, where=self._cluster)


def _reassignment_topics(targets: Mapping[TopicPartition, list[int] | None]) -> list[Any]:
    """Replicas None cancels (KIP-455)."""
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    by_topic: dict[str, list[Any]] = {}
    for p, replicas in sorted(targets.items()):
        by_topic.setdefault(p.topic, []).append(
            topic.ReassignablePartition(partition_index=p.partition, replicas=replicas)
        )
    return [topic(name=t, partitions=p) for t, p in by_topic.items()]


def _election_topics(partitions: Iterable[TopicPartition]) -> list[Any]:
    by_topic: dict[str, list[int]] = {}
    for p in sorted(partitions):
        by_topic.setdefault(p.topic, []).append(p.partition)
    return [ElectLeadersRequest.TopicPartitions(topic=t, partitions=p) for t, p in by_topic.items()]
