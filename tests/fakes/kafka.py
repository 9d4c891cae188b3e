"""A Kafka cluster in memory that answers like real brokers do, for the simulator and for tests of the converger.

It passes the same contract suite as the gateway to real brokers. Nothing happens by itself: `advance(seconds)` moves
time, and only then do copies progress, sessions end and controllers catch up. The same calls give the same cluster.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.features import metadata_level_of, release_levels
from controlplane.kafka.log_dir_requests import Wishes
from controlplane.kafka.throttle import ThrottlePlan
from planner.broker_answers import ValueSeen
from planner.observed import KafkaSnapshot, PartitionSeen, SettingsSeen, TopicPartition
from planner.rollout.live_step import LiveStep
from planner.topics.step import TopicStep
from tests.fakes.kafka_controllers import FakeControllers
from tests.fakes.kafka_groups import FakeGroups, GroupCalls
from tests.fakes.kafka_laggards import LaggardCalls
from tests.fakes.kafka_log_dirs import FakeLogDirs
from tests.fakes.kafka_parts import (
    Copy,
    FakeBroker,
    FakeHangs,
    FakePartition,
    assignment_problem,
    broker_seen,
    features_seen,
    listed,
    quorum_seen,
    supported_by,
    transfers,
    without_directories,
)
from tests.fakes.kafka_rights import FakeRights, RightsCalls
from tests.fakes.kafka_settings import FakeSettings
from tests.fakes.kafka_throttles import KEYS, FakeThrottles, visible
from tests.fakes.kafka_topics import FakeTopics
from tests.fakes.kafka_values import broker_values, topic_values
from tests.fakes.migration import FakeMigration


@dataclass(frozen=True, slots=True)
class FellBelow:
    """A partition that went from enough in-sync replicas to too few, when and by what."""

    at: datetime
    partition: TopicPartition
    cause: str


def _finalised_by(level: int) -> dict[str, int]:
    return {"metadata.version": level, **release_levels(level)}


class FakeKafka(FakeControllers, GroupCalls, LaggardCalls, RightsCalls):
    """One cluster: the `KafkaGateway` port, and beside it what a test or the simulator does to the machines."""

    def __init__(
        self,
        *,
        cluster_id: str = "fake-cluster",
        version: str = "4.1.1",
        min_isr: int = 2,
        link_bytes_per_s: float = 100e6,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """`min_isr` is the cluster-wide default. Without `clock` the cluster's own time, moved by `advance`, is the
        time of snapshots."""
        super().__init__()
        in_zookeeper_mode = version.startswith("3.")
        self.cluster_id, self.link_bytes_per_s = cluster_id, link_bytes_per_s
        self.outage = False
        """While true every call raises KafkaUnavailable."""
        self.hangs = FakeHangs()
        self.bytes_moved = 0.0
        """Bytes copied between brokers since the beginning."""
        self.under_min_isr_s = 0.0
        """Seconds in which at least one partition was below its min ISR."""
        self.fell_below: list[FellBelow] = []
        self.finalised: dict[str, int] = {} if in_zookeeper_mode else _finalised_by(metadata_level_of(version))
        self._brokers: dict[int, FakeBroker] = {}
        self._partitions: dict[TopicPartition, FakePartition] = {}
        self.on_disk = FakeLogDirs(self._brokers, self._partitions)
        self.throttles = FakeThrottles(self._brokers, self._partitions)
        self.settings = FakeSettings({"min.insync.replicas": str(min_isr)}, self._follow_min_isr)
        self.topics = FakeTopics(self._brokers, self._partitions, self.settings)
        self.consumers = FakeGroups(self._brokers, self._partitions)
        self.users = FakeRights()
        """The default quota of users' producers, bytes/s."""
        self.put_by_hand: dict[TopicPartition, tuple[int, ...]] = {}
        """Where somebody moved partitions to that are not to stay there: until they are elsewhere it is no rest."""
        self.migration = FakeMigration(self, self._brokers, in_zookeeper_mode=in_zookeeper_mode)
        self._seconds, self._clock = 0.0, clock
        self._began = datetime(2026, 1, 1, tzinfo=UTC)
        self._known: tuple[list[TopicPartition], list[TopicPartition]] = ([], [])  # as they came, and in order
        self._known_below: set[TopicPartition] = set()

    # ---- the port -----------------------------------------------------------------------------------------------

    def snapshot(self) -> KafkaSnapshot:
        self._require_quorum("reading metadata")
        live = [b for b in self._brokers.values() if b.serves]
        controllers, brokers = self._controllers.values(), self._registered()
        quorum = quorum_seen(self._leader, self._epoch, controllers, self._voters, brokers, self._seconds)
        return KafkaSnapshot(
            at=self.now(),
            cluster_id=self.cluster_id,
            brokers={b.id: broker_seen(b.id, b.rack, b.fenced) for b in listed(brokers, live)},
            partitions=self.partitions(),
            quorum=without_directories(quorum) if self.is_static else quorum,
            features=features_seen(live, self.finalised),
            log_dirs={b.id: self.on_disk.log_dirs(b) for b in live if not b.failed_dirs},
            failed_dirs={b.id: self.on_disk.failed_dirs(b) for b in live if b.failed_dirs},
            throttles=replace(
                self.throttles.visible().seen,
                log_dirs_rate={b: r for b, r in self.on_disk.rates.items() if self._brokers[b].serves},
            ),
            cordoned=frozenset(b.id for b in live if b.cordoned),
            mode=self.migration.mode,
            controller=self.migration.controller,
            controller_epoch=self.migration.controller_epoch,
        )

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Mapping[TopicPartition, str]:
        self._require_quorum("reassigning partitions")
        refused = {}
        for name, target in sorted(targets.items()):
            problem = assignment_problem(name, target, self._partitions, self._brokers)
            if problem:
                refused[name] = problem
            else:
                self._partitions[name].reassign(list(target))
                if not self._partitions[name].adding:
                    self._partitions[name].settle(self._brokers, self.hangs.ends_moves(self.active))
        self.on_disk.sort_in()
        self._note_falls("a reassignment")
        return refused

    def prefer_log_dirs(self, wishes: Wishes) -> None:
        what = "naming log directories"
        self._require_quorum(what)
        for broker, paths in sorted(wishes.items()):
            found = self._brokers.get(broker)
            if found is None or not found.serves:
                raise KafkaUnavailable(what=what, where=self.cluster_id, why=f"broker {broker} did not answer")
            strange = [path for path in paths.values() if path not in found.log_dirs]
            if strange:
                words, error = f"the broker has no {strange[0]}", "LogDirNotFoundError"
                raise KafkaRefused(what=what, where=self.cluster_id, words=words, error=error)
            self.on_disk.prefer(broker, paths)

    def set_log_dirs_throttle(self, rates: Mapping[int, int | None]) -> None:
        self._require_quorum("changing configs")
        for broker, rate in rates.items():
            if not self._brokers[broker].serves:
                words = f"broker {broker} did not answer"
                raise KafkaUnavailable(what="changing configs", where=self.cluster_id, why=words)
            self.on_disk.rates.pop(broker, None)
            if rate is not None:
                self.on_disk.rates[broker] = rate

    def cancel(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        self._require_quorum("cancelling reassignments")
        refused = {}
        for name in sorted(partitions):
            if name not in self._partitions:
                refused[name] = f"Unable to find partition {name} (UnknownTopicOrPartitionError)"
            elif self._partitions[name].is_moving:
                self._partitions[name].cancel()
                self._partitions[name].settle(self._brokers)
        return refused

    def set_throttle(self, plan: ThrottlePlan) -> int:
        self._require_quorum("changing configs")
        return self.throttles.set(plan)

    def clear_throttles(self) -> int:
        return self.set_throttle(ThrottlePlan())

    def set_cordons(self, cordoned: Collection[int], lifted: Collection[int]) -> None:
        self._require_quorum("changing configs")
        for broker in (*cordoned, *lifted):
            if not self._brokers[broker].serves:
                words = f"broker {broker} did not answer"
                raise KafkaUnavailable(what="changing configs", where=self.cluster_id, why=words)
            self._brokers[broker].cordoned = broker in cordoned

    def unregister_broker(self, broker: int) -> bool:
        self._require_quorum(f"unregistering broker {broker}")
        found = self._brokers.get(broker)
        if found is None or not found.registered:
            return False
        self._fence(found, f"unregistering broker {broker}")
        found.registered = False
        return True

    def elect_preferred(self, partitions: Iterable[TopicPartition] | None) -> int:
        self._require_quorum("electing preferred leaders")
        elected = 0
        wanted: Iterable[TopicPartition] = self._partitions if partitions is None else set(partitions)
        wanted = wanted if self.hangs.elects(self.active) else ()
        for name in sorted(set(wanted) & set(self._partitions)):
            p = self._partitions[name]
            preferred = p.target[0]
            if p.leader != preferred and preferred in p.isr and self._brokers[preferred].serves:
                p.leader = preferred
                elected += 1
        return elected

    def update_feature(self, name: str, level: int, *, validate_only: bool) -> None:
        what = f"{'validating' if validate_only else 'finalising'} {name} {level}"
        self._require_quorum(what)
        known = {c: supported_by(v) for c, v in self._registered_controllers.items()}
        nodes = [(f"Local controller {self._leader}", known.pop(self._leader))]
        nodes += [(f"Controller {c}", ranges) for c, ranges in sorted(known.items())]
        nodes += [(f"Broker {b.id}", b.supports) for b in self._registered()]
        for node, ranges in nodes:
            low, high = ranges.get(name, (0, 0))
            if not low <= level <= high:
                raise KafkaRefused(
                    what=what,
                    where=self.cluster_id,
                    words=f"Invalid update version {level} for feature {name}. "
                    f"{node} only supports versions {low}-{high}",
                    error="InvalidUpdateVersionError",
                )
        self._require_heard(what, name, level)
        if not validate_only:
            self.finalised[name] = level

    def describe_cluster_config(self) -> Mapping[str, str]:
        self._require_quorum("reading cluster configs")
        return self.settings.defaults | self.throttles.defaults()

    def alter_cluster_config(self, changes: Mapping[str, str | None]) -> None:
        self._require_quorum("changing configs")
        merged = {**self.settings.defaults, **changes}
        kept = {k: v for k, v in merged.items() if v is not None and k not in KEYS}
        self.settings.defaults = kept
        self._follow_min_isr()
        self.throttles.change_defaults(changes)

    def running_settings(self, names: Collection[str]) -> SettingsSeen:
        self._require_quorum("reading settings")
        return self.settings.running(self._serving(), names)

    def setting_refusals(self, step: LiveStep) -> Mapping[int, str | None]:
        self._require_quorum("checking settings")
        return self.settings.refusals(self._serving(), step)

    def change_settings(self, step: LiveStep) -> None:
        self._require_quorum("changing configs")
        self.settings.change(self._serving(), step)

    def topic_configs(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        self._require_quorum("reading topic configs")
        return self.topics.configs(topics)

    def topic_values(self, topic: str) -> Mapping[str, ValueSeen] | None:
        self._require_quorum("reading the settings of a topic")
        return topic_values(self.topics, self.settings, self._serving(), topic)

    def broker_values(self, broker: int) -> Mapping[str, ValueSeen]:
        what = f"reading the settings of broker {broker}"
        self._require_quorum(what)
        found = next((b for b in self._serving() if b.id == broker), None)
        if found is None:
            raise KafkaUnavailable(what=what, where=self.cluster_id, why=f"broker {broker} did not answer")
        return broker_values(self.settings, found)

    def topic_refusals(self, step: TopicStep) -> Mapping[str, str]:
        self._require_quorum("checking topics")
        return self.topics.refusals(step)

    def change_topics(self, step: TopicStep) -> Mapping[str, str]:
        self._require_quorum("changing topics")
        refused = self.topics.change(step)
        self._note_falls("a change of topics")
        return refused

    def close(self) -> None:
        """Nothing is held."""

    # ---- what happens to the machines ---------------------------------------------------------------------------

    def now(self) -> datetime:
        return self._clock() if self._clock else self._began + timedelta(seconds=self._seconds)

    def add_broker(
        self,
        broker: int,
        rack: str,
        *,
        version: str = "4.1.1",
        disk_bytes: int = 100 * 10**9,
        log_dirs: tuple[str, ...] = ("/data",),
    ) -> None:
        """A broker with empty disks, equal parts of `disk_bytes`, starts and is unfenced at once."""
        self._brokers[broker] = FakeBroker(broker, rack, version, disk_bytes, log_dirs)
        self.migration.joins(self._brokers[broker])

    def start_broker(self, broker: int, *, version: str | None = None, rack: str | None = None) -> None:
        """A stopped broker comes back on its own disk, registers again and catches up."""
        found = self._brokers[broker]
        found.running, found.registered, found.fenced, found.fence_at = True, True, False, None
        found.version, found.rack = version or found.version, rack or found.rack
        self._settle()

    def stop_broker(self, broker: int, *, cause: str = "") -> bool:
        """SIGTERM: leaders move, it leaves the ISRs, is fenced, ends. False when it hangs and goes on running. `cause`
        says who wanted it, where that was none of us."""
        found = self._brokers[broker]
        if found.hangs:
            return False
        found.running = False
        self._fence(found, cause or f"stopping broker {broker}")
        return True

    def kill_broker(self, broker: int) -> None:
        """A power cut, or a process that does nothing any more: it is called live until its session ends."""
        found = self._brokers[broker]
        found.running = False
        if found.registered and not found.fenced:
            found.fence_at = self._seconds + self.migration.session_s

    def fail_dir(self, broker: int, path: str) -> None:
        """What is in a directory that fails leaves the broker's ISRs; the rest serves on. One that migrates ends."""
        for name in self.on_disk.held_in(broker, path):
            p = self._partitions[name]
            p.offline.add(broker)
            p.copies[broker] = Copy()
            p.leave_isr(broker)
        self._brokers[broker].failed_dirs.add(path)
        if self.migration.ends_over_a_disk(broker):
            self.kill_broker(broker)
        self._settle()
        self._note_falls(f"the disk {path} of broker {broker}")

    def renew_dir(self, broker: int, path: str) -> None:
        """An empty directory stands in its place: a broker that starts on it copies anew what was there."""
        self._brokers[broker].failed_dirs.discard(path)
        for name in self.on_disk.held_in(broker, path):
            p = self._partitions[name]
            p.offline.discard(broker)
            p.copies[broker] = Copy()
            p.leave_isr(broker)

    def destroy_broker(self, broker: int) -> None:
        """Its VM and disk are gone for good. The registration stays until it is unregistered."""
        self.kill_broker(broker)
        for p in self._partitions.values():
            p.copies.pop(broker, None)

    def is_running(self, broker: int) -> bool:
        return broker in self._brokers and self._brokers[broker].running

    def create_topic(
        self, name: str, *, partitions: int, rf: int, min_isr: int | None = None, bytes_per_partition: int = 0
    ) -> None:
        """Replicas go round robin over racks and unfenced brokers, whatever a rollout has in mind for them."""
        by_rack: dict[str, list[int]] = {}
        for b in self._registered():
            if not b.fenced and not b.cordoned:
                by_rack.setdefault(b.rack, []).append(b.id)
        racks = [sorted(by_rack[r]) for r in sorted(by_rack)]
        order = [r[i] for i in range(max(map(len, racks), default=0)) for r in racks if i < len(r)]
        if len(order) < rf:
            raise KafkaRefused(
                what=f"creating {name}",
                where=self.cluster_id,
                words=f"Unable to replicate the partition {rf} time(s): only {len(order)} broker(s) are unfenced.",
                error="InvalidReplicationFactorError",
            )
        configured = min_isr if min_isr is not None else int(self.settings.defaults["min.insync.replicas"])
        for i in range(partitions):
            replicas = [order[(i + k) % len(order)] for k in range(rf)]
            tp = TopicPartition(name, i)
            copies = {r: Copy() for r in replicas}
            made = FakePartition(tp, configured, replicas, list(replicas), replicas[0], copies=copies)
            made.follows_default = min_isr is None
            self._partitions[tp] = made
            if min_isr is not None:
                self.topics.own.setdefault(name, {})["min.insync.replicas"] = str(min_isr)
            if bytes_per_partition:
                self._partitions[tp].append(max(1, bytes_per_partition // 1000), bytes_per_partition)

    def delete_topic(self, name: str) -> None:
        self.topics.by_others = True
        self.topics.forget(name)

    def write(self, topic: str, records: int, *, bytes_per_record: int = 1000) -> int:
        """Produce with acks=all, spread evenly. Returns how many were acknowledged: a partition takes none without a
        live leader, below min ISR, or while a member of its ISR is dead but not out of it yet."""
        names = [n for n in sorted(self._partitions) if n.topic == topic]
        acknowledged = 0
        for i, name in enumerate(names):
            p, share = self._partitions[name], records // len(names) + (i < records % len(names))
            if p.leader != -1 and not p.is_below_min and all(self._brokers[r].serves for r in p.isr):
                p.append(share, share * bytes_per_record)
                acknowledged += share
        return acknowledged

    def advance(self, seconds: float) -> None:
        """Let time pass: copies run at their throttled speed, sessions of dead brokers end, controllers catch up."""
        end = self._seconds + seconds
        self._settle()
        self.on_disk.advance(seconds)
        while self._seconds < end:
            all_copies = transfers(self._partitions.values(), self._brokers, self.throttles.plan, self.link_bytes_per_s)
            still = self.hangs.fetchers | self.lagging() | self.on_disk.full()
            copying = [t for t in all_copies if t.destination not in still]
            fences = [b.fence_at for b in self._brokers.values() if b.fence_at is not None]
            ends = [self._seconds + t.missing / t.bytes_per_s for t in copying if t.bytes_per_s > 0]
            step = max(min([end, *fences, *ends]) - self._seconds, 1e-6)
            for t in copying:
                copied = min(t.missing, t.bytes_per_s * step)
                copy = t.partition.copies[t.destination]
                done = t.missing - copied < 1.0
                copy.bytes = t.partition.bytes if done else copy.bytes + copied
                copy.records = t.partition.acknowledged if done else copy.records
                self.bytes_moved += copied
            self._seconds += step
            self.under_min_isr_s += step if self._known_below else 0.0
            if copying or any(at <= self._seconds for at in fences):
                self._settle()

    # ---- questions for invariants -------------------------------------------------------------------------------

    def partitions(self) -> tuple[PartitionSeen, ...]:
        """As a snapshot shows them, even while nobody could be asked."""
        if list(self._partitions) != self._known[0]:
            self._known = list(self._partitions), sorted(self._partitions)
        return tuple([self._partitions[n].seen() for n in self._known[1]])

    def under_min_isr(self) -> tuple[TopicPartition, ...]:
        """Partitions with fewer in-sync replicas than a leader asks for."""
        return tuple(sorted(n for n, p in self._partitions.items() if p.is_below_min))

    def serves(self, broker: int) -> bool:
        """Whether it is registered and unfenced, as the controllers have it."""
        return broker in self._brokers and self._brokers[broker].registered and not self._brokers[broker].fenced

    def is_at_rest(self) -> bool:
        """Nobody is down, nothing moves or is throttled, each partition is in sync and led by its first replica."""
        parts = self._partitions.values()
        settled = all(not p.is_moving and p.leader == p.replicas[0] and set(p.isr) == set(p.replicas) for p in parts)
        calm = not visible(self.throttles.plan, set(self._brokers)).seen.any and not self.outage
        ours = not self.settings.by_others and not any(
            name in self._partitions and tuple(self._partitions[name].replicas) == where
            for name, where in self.put_by_hand.items()
        )
        calm &= not self.on_disk.is_moving and not self.on_disk.rates
        return (
            settled
            and calm
            and ours
            and not self.topics.by_others
            and not self.users.by_others
            and all(b.serves for b in self._registered())
        )

    def scene(self) -> object:
        """All of it that a person could have changed, to be compared."""
        parts = [(n, tuple(p.replicas), tuple(p.isr), p.leader) for n, p in self._partitions.items()]
        brokers = tuple((b.id, b.running, b.fenced) for b in self._brokers.values())
        return (tuple(parts), brokers, self._leader, self.settings.scene(), self.topics.scene())

    def acknowledged(self) -> int:
        return sum(p.acknowledged for p in self._partitions.values())

    def lost(self) -> int:
        """Acknowledged records that are on no assigned disk any more."""
        return sum(p.lost for p in self._partitions.values())

    # ---- inside -------------------------------------------------------------------------------------------------

    def _registered(self) -> list[FakeBroker]:
        return [self._brokers[b] for b in sorted(self._brokers) if self._brokers[b].registered]

    def _serving(self) -> list[FakeBroker]:
        return [b for b in self._registered() if b.serves]

    def _follow_min_isr(self) -> None:
        for p in self._partitions.values():
            if p.follows_default:
                p.configured_min_isr = int(self.settings.defaults["min.insync.replicas"])
        self._note_falls("a change of min.insync.replicas")

    def _require_quorum(self, what: str) -> None:
        why = "an outage" if self.outage else "the quorum has no leader" if self._leader == -1 else ""
        if not why and not any(b.serves for b in self._brokers.values()):
            why = "no broker answers"
        if why:
            raise KafkaUnavailable(what=what, where=self.cluster_id, why=why)
        self.migration.refuse(what)

    def _settle(self) -> None:
        for broker in self._brokers.values():
            if broker.fence_at is not None and broker.fence_at <= self._seconds:
                self._fence(broker, f"broker {broker.id} died")
        ends_moves = self.hangs.ends_moves(self.active)
        for p in self._partitions.values():
            p.settle(self._brokers, ends_moves)
        self._note_falls("a reassignment")

    def _fence(self, broker: FakeBroker, cause: str) -> None:
        broker.fenced, broker.fence_at = True, None
        for p in self._partitions.values():
            p.leave_isr(broker.id)
            p.settle(self._brokers, self.hangs.ends_moves(self.active))
        self._note_falls(cause)

    def _note_falls(self, cause: str) -> None:
        below = {n for n, p in self._partitions.items() if p.is_below_min}
        for name in sorted(below - self._known_below):
            self.fell_below.append(FellBelow(self.now(), name, cause))
        self._known_below = below
