"""What is to be done about topics: as they are declared, beside what Kafka shows. Pure.

Per tick a small batch is looked at; at rest, all of them as often as the metadata is read. A topic that nobody asked
Kedge to keep is never touched, one that is gone is not made again by itself, and no partition is ever taken away.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import TopicView
from controlplane.converger.questions.disk_room import overfull_disk, untold_disks
from controlplane.converger.questions.running.min_isr import fall_gate, rise_gate, stop_in_progress
from controlplane.kafka.gates import may_move
from events.spec.broker_sets import set_words
from events.spec.setting_values import reads_alike
from events.spec.settings import DEFAULT_MIN_ISR, as_integer
from events.spec.topic_table import every_topic_key
from events.spec.topic_tiers import MIN_ISR, cluster_default
from events.topic_facts import ReplicaMove, TopicTrouble
from planner.drain.plan import Move
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.topics.placement import NoPlace, ReplicaHosts, replica_hosts_of, shrunk, verified
from planner.topics.step import Growth, NewTopic, TopicStep

BATCH = 50
"""Topics changed in one go."""
BATCH_PARTITIONS = 1000
"""Partitions made in one go, but for a single topic that has more: a controller takes 10000 in one request."""
ASKED = 500
"""Topics looked at in a tick that has some in hand: one request for their configuration."""
MOVES = 20
"""Partitions in one batch of replicas."""
MOVED_BYTES = 20 * 1024**3
"""Bytes copied by one batch, but for a single partition that is larger."""


@dataclass(frozen=True, slots=True)
class TopicWork:
    """What the look at `asked` topics comes to. `troubles`: those of them that cannot be as declared, and why."""

    asked: frozenset[str]
    step: TopicStep
    troubles: Mapping[str, TopicTrouble]
    settled: frozenset[str]
    gone: frozenset[str]
    """Tombstoned, and not in Kafka any more."""
    released: frozenset[str]
    """Tombstoned, and to be left in Kafka."""
    there: frozenset[str]
    moves: tuple[Move, ...]
    """The next batch of replicas to be added or taken away."""


def names_to_ask(view: ClusterView, *, everything: bool) -> frozenset[str]:
    """The topics to look at now: what is in hand, then what is to be made, then other changes."""
    topics = view.topics
    if everything:
        return frozenset(topics.by_name)
    in_hand = topics.change.names if topics.change else frozenset[str]()
    waiting = sorted(topics.pending, key=lambda name: (topics.by_name[name].owned, name))
    return (in_hand | frozenset(waiting[:ASKED])) & topics.by_name.keys()


def topic_work(
    view: ClusterView,
    kafka: KafkaSnapshot,
    configs: Mapping[str, Mapping[str, str]],
    asked: frozenset[str],
    *,
    away: Collection[int] = (),
) -> TopicWork:
    """`configs`: what is set on those of the asked topics that exist. `away`: brokers known not to serve, whether Kafka
    has noticed or not."""
    return _Look(view, kafka, configs, asked, away).work()


class _Look:
    """One look. Collects as it goes through the topics by name."""

    def __init__(
        self,
        view: ClusterView,
        kafka: KafkaSnapshot,
        configs: Mapping[str, Mapping[str, str]],
        asked: frozenset[str],
        away: Collection[int],
    ) -> None:
        self._view, self._kafka, self._configs, self._away = view, kafka, configs, away
        self._asked = asked & view.topics.by_name.keys()
        self._change = view.topics.change
        self._may_stop = bool(stop_in_progress(view, kafka))
        self._parts: dict[str, list[PartitionSeen]] = {}
        for p in kafka.partitions:
            if p.name.topic in self._asked:
                self._parts.setdefault(p.name.topic, []).append(p)
        self._receivers = frozenset(i.service_id for i in view.receivers()) & kafka.live_brokers()
        self._racks = {b: kafka.brokers[b].rack for b in self._receivers}
        self._hosts: ReplicaHosts | None = None
        self._sets = broker_sets(view)
        self._create: dict[str, NewTopic] = {}
        self._grow: dict[str, Growth] = {}
        self._configure: dict[str, Mapping[str, str | None]] = {}
        self._delete: list[str] = []
        self._made = 0
        self._moves: list[Move] = []
        self._troubles: dict[str, TopicTrouble] = {}
        self._settled: set[str] = set()
        self._gone: set[str] = set()
        self._released: set[str] = set()

    def work(self) -> TopicWork:
        for name in sorted(self._asked):
            self._judge(self._view.topics.by_name[name])
        return TopicWork(
            self._asked,
            TopicStep(self._create, self._grow, self._configure, tuple(self._delete)),
            self._troubles,
            frozenset(self._settled),
            frozenset(self._gone),
            frozenset(self._released),
            frozenset(self._parts),
            tuple(self._moves),
        )

    def _judge(self, topic: TopicView) -> None:
        name, parts = topic.name, self._parts.get(topic.name, [])
        if topic.tombstone:
            self._bury(topic, exists=bool(parts))
        elif not parts:
            self._absent(topic)
        elif not self._is_ours(topic):
            if self._is_as_declared(topic, parts):
                self._settled.add(name)
            else:
                self._trouble(name, "Exists", f"made outside Kedge, and not as declared: {self._differences(topic)}")
        else:
            self._present(topic, parts)

    def _is_ours(self, topic: TopicView) -> bool:
        return topic.owned or (self._change is not None and topic.name in self._change.create)

    def _bury(self, topic: TopicView, *, exists: bool) -> None:
        if not exists:
            self._gone.add(topic.name)
        elif topic.policy == "retain" or not topic.owned:
            self._released.add(topic.name)
        elif self._has_room(topic.name):
            self._delete.append(topic.name)

    def _absent(self, topic: TopicView) -> None:
        name = topic.name
        made_now = self._change is not None and name in self._change.create
        if topic.owned and not made_now and topic.declared.on_loss != "recreate":
            message = "it was deleted outside Kedge; declare `onLoss: recreate` to have it made anew, empty"
            self._trouble(name, "Missing", message)
        elif self._lacks_brokers(topic) or self._has_no_spare_replica(topic):
            return
        elif self._has_room(name, topic.declared.partitions):
            placed = self._replica_hosts(name).place(topic.declared.partitions, topic.declared.replicas)
            self._create[name] = NewTopic(placed, topic.declared.config or {})

    def _present(self, topic: TopicView, parts: list[PartitionSeen]) -> None:
        name, wanted = topic.name, topic.declared
        more = len(parts) > wanted.partitions
        if more:
            message = f"it has {len(parts)} partitions, {wanted.partitions} are declared; Kafka takes none away"
            self._trouble(name, "MorePartitions", message)
        elif len(parts) < wanted.partitions and not (self._lacks_brokers(topic) or self._has_no_spare_replica(topic)):
            self._extend(topic, len(parts))
        changes = self._config_changes(topic)
        differing = [p for p in parts if len(p.target) != wanted.replicas]
        is_held = MIN_ISR in changes and self._holds_min_isr(changes[MIN_ISR], parts, wanted.replicas)
        to_send = {k: v for k, v in changes.items() if not (is_held and k == MIN_ISR)}
        if to_send and self._has_room(name):
            self._configure[name] = to_send
        if is_held and not differing and not any(p.is_moving for p in parts):
            # Without what it waits for just now, which changes all the time: each other word would be an event.
            message = f"{MIN_ISR} is set once enough replicas are in sync, and nothing rolls or is started anew"
            self._trouble(name, "MinIsrWaits", message)
        if differing and name not in self._troubles:
            self._replicate(topic, differing)
        if not more and len(parts) == wanted.partitions and not changes and not differing:
            self._settled.add(name)

    def _extend(self, topic: TopicView, count: int) -> None:
        missing = topic.declared.partitions - count
        if self._has_room(topic.name, missing):
            placed = self._replica_hosts(topic.name).place(missing, topic.declared.replicas)
            self._grow[topic.name] = Growth(topic.declared.partitions, placed)

    def _lacks_brokers(self, topic: TopicView) -> bool:
        """Kafka would take it with two replicas in one rack; Kedge waits for the rack, and says so."""
        wanted, able = topic.declared.replicas, self._sets.may_hold(topic.name, self._receivers)
        own = f" of {set_words(self._sets.of_topic(topic.name))}" if self._sets else ""
        home = self._sets.may_hold(topic.name, {i.service_id for i in self._view.brokers()})
        racks = {i.planned.rack for i in self._view.brokers() if i.service_id in home}
        if wanted > len(able):
            message = f"{wanted} replicas need {wanted} brokers{own} that take replicas"
            self._trouble(topic.name, "TooFewBrokers", message)
        elif len({self._racks[b] for b in able}) < min(wanted, len(racks)):
            self._trouble(topic.name, "TooFewRacks", f"a rack has no broker{own} that takes replicas now")
        else:
            return False
        return True

    def _has_no_spare_replica(self, topic: TopicView) -> bool:
        """Whether it would lose a replica it cannot spare: the gate of a stop that was asked for has not seen it."""
        if not self._may_stop:
            return False
        wanted = topic.declared
        least = as_integer((wanted.config or {}).get(MIN_ISR, "")) or self._default_min_isr()
        return wanted.replicas <= least

    def _default_min_isr(self) -> int:
        cluster = self._view.document
        return cluster_default(cluster, DEFAULT_MIN_ISR, 1) if cluster else 1

    def _config_changes(self, topic: TopicView) -> dict[str, str | None]:
        """What is to be set, and what is to be taken back (None)."""
        has, wants = self._configs.get(topic.name), topic.declared.config
        if has is None or wants is None:
            return {}
        values: dict[str, str | None] = {k: v for k, v in wants.items() if not _is_same(k, has.get(k), v)}
        return values | {k: None for k in has if k not in wants}

    def _holds_min_isr(self, value: str | None, parts: list[PartitionSeen], replicas: int) -> bool:
        """Whether another value of it has to wait: replicas arrive first, then min ISR rises, at rest (`min_isr`)."""
        wanted = as_integer(value) if value is not None else self._default_min_isr()
        if wanted is None or all(p.configured_min_isr >= wanted for p in parts):
            return not fall_gate(parts).open
        return not rise_gate(self._view, self._kafka, parts, wanted, replicas=replicas, away=self._away).open

    def _is_as_declared(self, topic: TopicView, parts: list[PartitionSeen]) -> bool:
        wanted = topic.declared
        shape = len(parts) == wanted.partitions and all(len(p.target) == wanted.replicas for p in parts)
        return shape and topic.name in self._configs and not self._config_changes(topic)

    def _differences(self, topic: TopicView) -> str:
        parts, wanted = self._parts[topic.name], topic.declared
        differences = []
        if len(parts) != wanted.partitions:
            differences.append(f"{len(parts)} partitions, not {wanted.partitions}")
        replicas = sorted({len(p.target) for p in parts})
        if replicas != [wanted.replicas]:
            differences.append(f"{' to '.join(map(str, replicas))} replicas, not {wanted.replicas}")
        keys = sorted(self._config_changes(topic))
        differences += [f"other values of {', '.join(keys)}"] if keys else []
        return "; ".join(differences) or "its configuration is not known yet"

    def _replicate(self, topic: TopicView, differing: list[PartitionSeen]) -> None:
        """The next moves of its partitions, each one replica more or less than now when it shrinks."""
        reasons = []
        for p in differing:
            if p.is_moving or len(self._moves) >= MOVES:
                continue
            try:
                reason = self._moved(topic, p)
            except NoPlace as error:
                reason = str(error)
            if reason:
                reasons.append(reason)
        if len(reasons) == len(differing):
            self._trouble(
                topic.name, "ReplicasWait", f"{topic.declared.replicas} replicas are not possible: {reasons[0]}"
            )

    def _moved(self, topic: TopicView, p: PartitionSeen) -> str:
        """Adds the move of one partition to the batch. Returns why not, "" when it was added or has its turn later."""
        wanted = topic.declared.replicas
        if p.leader < 0:
            return f"{p.name} has no leader"
        if len(p.replicas) < wanted:
            after: tuple[int, ...] | None = self._replica_hosts(p.name.topic).grown(p, wanted)
        else:
            after = shrunk(p, {b: seen.rack for b, seen in self._kafka.brokers.items()})
        if after is None:
            return f"{p.name} has {len(p.isr)} of {len(p.replicas)} replicas in sync, none can go"
        wrong = verified(p.replicas, after, self._racks)
        if wrong:
            return f"{p.name}: {wrong}"
        excused = self._view.document.spec.rollout.allow_unavailable if self._view.document else ()
        gate = may_move(p, after, allow_unavailable=frozenset(excused))
        if not gate.open:
            return gate.reason
        added = max(0, len(after) - len(p.replicas))
        move = Move(p.name.topic, p.name.partition, p.replicas, after, p.size_bytes * added)
        planned = [*self._moves, move]
        if len(planned) > 1 and sum(m.bytes for m in planned) > MOVED_BYTES:
            return ""
        if added:
            untold = untold_disks(self._kafka, [move])
            full = (
                f"broker {untold[0]} has not told how full its disk is"
                if untold
                else overfull_disk(self._kafka, planned)
            )
            if full:
                return full
        self._moves.append(move)
        return ""

    def _trouble(self, name: str, reason: str, message: str) -> None:
        self._troubles[name] = TopicTrouble(name, reason, message)

    def _has_room(self, name: str, partitions: int = 0) -> bool:
        """Whether the batch has room for this topic. What is in hand has its room already; nothing else has then."""
        if self._change is not None:
            return name in self._change.names
        listed = len(self._create) + len(self._grow) + len(self._configure) + len(self._delete)
        if listed >= BATCH or (self._made and self._made + partitions > BATCH_PARTITIONS):
            return False
        self._made += partitions
        return True

    def _replica_hosts(self, topic: str) -> ReplicaHosts:
        """Who may get replicas of the topic."""
        if self._hosts is None:
            self._hosts = replica_hosts_of(self._kafka, self._receivers)
        return self._hosts.within(self._sets.may_hold(topic, self._receivers)) if self._sets else self._hosts


def as_fact(move: Move) -> ReplicaMove:
    """The move as it is recorded."""
    return ReplicaMove(move.topic, move.partition, move.before, move.after)


def as_move(recorded: ReplicaMove, size_bytes: int = 0) -> Move:
    """The move as it is carried out."""
    return Move(recorded.topic, recorded.partition, recorded.before, recorded.after, size_bytes)


def _is_same(key: str, has: str | None, wanted: str) -> bool:
    """Whether Kafka reads both values alike."""
    return has is not None and reads_alike(every_topic_key().get(key), has, wanted)
