"""A cold pair as a server has it: two clusters, the agents of their brokers, and Kafka on the standby."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from agent.wire import DoorDocument, DoorReport
from controlplane.background.failovers.look import PairLook
from controlplane.background.failovers.reconciler import PairReconciler
from controlplane.cluster.commands import Command, CommandRefused
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.standby_commands import CopyTopics, GrowStandby
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.topics import TopicView
from controlplane.fleet.failovers.pair_documents import door_of
from controlplane.fleet.failovers.seen import NamesSeen
from controlplane.fleet.failovers.standby_size import grown_to
from controlplane.fleet.failovers.state import PairCache, RegisteredPair
from controlplane.fleet.failovers.view import DoorState, PairView
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts as facts
from events.codec import encode
from events.envelope import Origin
from events.ids import ClusterUid, Epoch, derived_id
from events.spec.failover_model import KafkaFailoverDocument
from events.topic_facts import TopicDeclaration
from planner.observed import KafkaSnapshot
from tests.builders import BEFORE, NOW, a_document, a_partition, a_report, a_snapshot, a_view, an_instance
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.latest_values import MemoryLatestStore

EU, US = ClusterUid("uid-eu"), ClusterUid("uid-us")
LEADS = Epoch(1)
NODES = ("brokers-a-0", "brokers-b-0", "brokers-c-0")
FIRST_IDS = {EU: 2**44, US: 2**45}
PAIR = KafkaFailoverDocument.model_validate(
    {
        "metadata": {"name": "both"},
        "spec": {
            "clusters": ["eu", "us"],
            "bootstrap": {"dns": "both.example.com"},
            "mode": "cold",
            "standby": {"size": 3},
            "topics": {"include": ["*"], "exclude": ["debug-*"]},
        },
    }
)


def a_topic(name: str = "orders", *, partitions: int = 2, tier: str = "") -> TopicView:
    declared = TopicDeclaration(name, partitions, 3, {"min.insync.replicas": "2"}, tier, "", "retain", "refuse", {})
    return TopicView(declared, "api", "", "", BEFORE, owned=True)


def a_cluster(uid: ClusterUid, name: str, *topics: TopicView) -> ClusterView:
    nets = {EU: 1, US: 2}
    vms = [an_instance(node, address=f"10.0.{nets[uid]}.{n + 4}") for n, node in enumerate(NODES)]
    document = a_document()
    document = document.model_copy(update={"metadata": document.metadata.model_copy(update={"name": name})})
    view = a_view(*vms, uid=uid, name=name, document=document)
    assert view.quorum.founding is not None
    founding = replace(view.quorum.founding, first_producer_id=FIRST_IDS[uid])
    view = replace(view, quorum=replace(view.quorum, founding=founding))
    return replace(view, topics=replace(view.topics, by_name={one.name: one for one in topics}))


@dataclass
class ColdPair:
    """`silent`: VMs, by cluster and key, whose agents say nothing any more; all others do as they are told."""

    store: MemoryEventStore = field(init=False)
    cache: PairCache = field(default_factory=PairCache)
    latest: MemoryLatestStore = field(default_factory=MemoryLatestStore)
    now: datetime = NOW
    epoch: Epoch | None = LEADS
    views: dict[ClusterUid, ClusterView] = field(default_factory=dict)
    snapshots: dict[ClusterUid, KafkaSnapshot] = field(default_factory=dict)
    names: NamesSeen | None = None
    silent: set[tuple[str, str]] = field(default_factory=set)
    asked: list[Command] = field(default_factory=list)
    refuses: str = ""
    """Why what is asked of clusters is refused."""
    looked_again: list[str] = field(default_factory=list)
    seq: int = 0
    _seen: int = 0

    def __post_init__(self) -> None:
        self.store = MemoryEventStore(clock=lambda: self.now)
        self.views = {
            EU: a_cluster(EU, "eu", a_topic(), a_topic("debug-1"), a_topic("tmp", tier="scratch")),
            US: a_cluster(US, "us"),
        }
        self.kafka_of(EU, "orders", "debug-1", "tmp")
        self.kafka_of(US)
        self.record(FAILOVERS, facts.PairRegistered("p1", "both", (EU, US)), 0)
        document = PAIR.model_dump(mode="json", by_alias=True)
        self.record(pair_stream("p1"), facts.FailoverDeclared("both", EU, US, "cold", document, "api"), 0)
        look = PairLook(self, self.latest, lambda pair, now: self._named(pair), lambda: self.now)
        self.reconciler = PairReconciler(
            self.store,
            self.cache,
            look,
            epoch=lambda: self.epoch,
            catch_up=self.catch_up,
            ask=self._ask,
            wake=lambda uid: None,
            look_again=self.looked_again.append,
            latest=self.latest,
            clock=lambda: self.now,
        )

    # --- what a server has ---------------------------------------------------------------------------------------

    def view(self, uid: ClusterUid) -> ClusterView | None:
        return self.views.get(uid)

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return self.snapshots.get(uid)

    def catch_up(self) -> None:
        for recorded in self.store.read_all(self._seen):
            self.cache.take_in(recorded)
            self._seen = recorded.position

    @property
    def pair(self) -> PairView:
        return self.cache.pairs().by_uid["p1"].view

    @property
    def door_states(self) -> tuple[DoorState, DoorState]:
        return self.pair.doors[EU].state, self.pair.doors[US].state

    @property
    def facts(self) -> list[str]:
        """Types of all events of the pair, the first left out."""
        return [event.type for event in self.store.read_stream(pair_stream("p1"))][1:]

    # --- what happens --------------------------------------------------------------------------------------------

    def record(self, stream: str, fact: object, version: int) -> None:
        event = encode(fact, derived_id("test", stream, str(version)))
        self.store.append(stream, [event], expected_version=version, origin=Origin("person:ada"))
        self.catch_up()

    def order(self, *, planned: bool = True) -> None:
        self.record(pair_stream("p1"), facts.FailoverRequested("f1", planned, "drill"), self.pair.version)

    def kafka_of(self, uid: ClusterUid, *topics: str, isr: tuple[int, ...] = (1000, 1001, 1002)) -> None:
        parts = [a_partition(f"{topic}-{n}", isr=isr) for topic in topics for n in range(2)]
        brokers = sorted(broker.service_id for broker in self.views[uid].brokers())
        self.snapshots[uid] = a_snapshot(*parts, at=self.now, brokers=brokers)

    def rounds(self, count: int = 6) -> None:
        """The server looks, agents do as their documents say, and so on, as slowly as a pair at rest is looked at."""
        for _ in range(count):
            self.now += timedelta(seconds=4)
            self.snapshots = {uid: replace(one, at=self.now) for uid, one in self.snapshots.items()}
            self.reconciler.poll()
            self.now += timedelta(seconds=1)
            for view in self.views.values():
                self.agents(view)

    def agents(self, view: ClusterView) -> None:
        told = door_of(self.cache.pairs(), view, lambda address: ("10.9.9.9/32",))
        for broker in view.brokers():
            if (view.uid, broker.key) not in self.silent and told is not None:
                self.says(view, broker, door_report(told))

    def says(self, view: ClusterView, broker: InstanceView, door: DoorReport | None) -> None:
        self.seq += 1
        said = a_report(broker, received_at=self.now)
        report = said.report.model_copy(update={"door": door, "cluster_uid": view.uid, "seq": self.seq})
        assert keep_report(self.latest, view.uid, broker.key, report, self.now)

    def _named(self, pair: RegisteredPair) -> NamesSeen | None:
        return self.names or NamesSeen(pair.view.names_lead_to, True)

    def _ask(self, command: Command) -> None:
        self.asked.append(command)
        if self.refuses:
            raise CommandRefused("other-source", self.refuses)
        if isinstance(command, GrowStandby):
            self._grow(command)
            return
        assert isinstance(command, CopyTopics)
        standby = next(view for view in self.views.values() if view.name == command.name)
        declared: Mapping[str, TopicView] = {
            **standby.topics.by_name,
            **{t.name: TopicView(t, "api", "", "", self.now, owned=True) for t in command.topics},
        }
        self.views[standby.uid] = replace(standby, topics=replace(standby.topics, by_name=declared))
        if standby.uid in self.snapshots:
            self.kafka_of(standby.uid, *declared)

    def _grow(self, command: GrowStandby) -> None:
        """New brokers come up by themselves; their doors are shut by the first document."""
        view = next(view for view in self.views.values() if view.name == command.name)
        assert view.document is not None
        document, count = grown_to(view.document, command.brokers), command.brokers
        new = [an_instance(f"brokers-a-{n}", address=f"10.0.2.{n + 40}", service_id=1000 + n) for n in range(3, count)]
        there = {**view.instances, **{one.key: one for one in new}}
        self.views[view.uid] = replace(view, document=document, instances=there)
        self.snapshots[view.uid] = a_snapshot(at=self.now, brokers=range(1000, 1000 + count))


def door_report(told: DoorDocument) -> DoorReport:
    return DoorReport(pair=told.pair, state=told.state, epoch=told.epoch, in_force=True, connections=0)
