"""Everything that goes over the fleet beside the ticks goes on past a cluster it stumbles over, and says so."""

import struct
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.background.anomalies.rate_learning import RateLearning
from controlplane.background.anomalies.rates import RateWatch
from controlplane.background.anomalies.reconciler import AnomalyReconciler
from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.consumer_groups.watch import GroupWatch
from controlplane.background.dns.reconciler import NameReconciler
from controlplane.background.dns.settling import KeptZone
from controlplane.background.drift.reconciler import DriftPorts, DriftReconciler
from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.post import NoticeSpreader
from controlplane.background.rounds import RoundIncomplete
from controlplane.background.topic_names.index import TopicIndex
from controlplane.background.topic_names.record import kept_names
from controlplane.background.topic_placement.reconciler import PlacementReconciler
from controlplane.background.topic_placement.store import TopicRecord
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.cluster.observed.consumer_groups import kept_groups
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import TopicsView, TopicView
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.latest_values import LatestValue, Subject
from controlplane.storage.streams import anomalies_stream
from events import facts
from events.codec import encode
from events.envelope import NewEvent, Origin
from events.ids import ClusterUid, Epoch
from events.topic_facts import TopicDeclaration
from planner.broker_answers import LogBounds, TopicLogs
from planner.observed import KafkaSnapshot
from providers.base import Resources
from providers.dns.zone import HeldName
from tests.builders import BEFORE, NOW, a_document, a_partition, a_snapshot, a_view
from tests.fakes.dns import FakeZone
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.kafka import FakeKafka
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.outbox import MemoryOutbox
from tests.fakes.placements import MemoryPlacementStore
from tests.sim.agent_fleet import AgentFleet

ODD, SOUND = ClusterUid("a-odd"), ClusterUid("b-sound")


class TwoClusters:
    """`odd`, which is looked at first, and `sound`."""

    def __init__(self, *views: ClusterView) -> None:
        self.clusters = list(views) or [a_view(uid=ODD, name="odd"), a_view(uid=SOUND, name="sound")]
        self.snapshots: dict[str, KafkaSnapshot] = dict.fromkeys((ODD, SOUND), a_snapshot(a_partition("clicks-0")))

    def views(self) -> list[ClusterView]:
        return self.clusters

    def catch_up(self) -> None: ...

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return self.snapshots.get(uid)


class OddLatest(MemoryLatestStore):
    """Keeps nothing of `odd`."""

    def put_all(self, observations: Sequence[LatestValue]) -> int:
        if any(o.subject.cluster_uid == ODD for o in observations):
            raise ValueError("a row it cannot keep")
        return super().put_all(observations)


class GroupsOfTwo:
    """The way to brokers of both clusters. Those of `odd` answer with bytes nobody understands, or not at all."""

    def __init__(self) -> None:
        self.now = NOW
        self.sound = FakeKafka(clock=lambda: self.now)
        self.sound.add_controller(100)
        self.sound.add_broker(1000, "a")
        self.odd_takes = timedelta()
        self.odd_raises: Exception = struct.error("unpack requires a buffer of 4 bytes")
        self.asked: list[str] = []

    def of(self, view: ClusterView) -> Any:
        self.asked.append(view.name)
        if view.uid == SOUND:
            return self.sound
        self.now += self.odd_takes
        raise self.odd_raises


def test_case_04_the_watch_of_groups_goes_on_past_a_cluster_whose_groups_make_no_sense() -> None:
    kafka, latest = GroupsOfTwo(), MemoryLatestStore()
    service = GroupService(latest, kafka.of, lambda: kafka.now)
    watch = GroupWatch(service, TwoClusters(), latest, lambda: kafka.now, "always")
    for _ in range(3):
        kafka.now += timedelta(minutes=1)
        with pytest.raises(RoundIncomplete, match="groups: left out of this round: odd: error: unpack requires"):
            watch.poll()
        told = kept_groups(latest, SOUND)
        assert told is not None
        assert told.at == kafka.now


def test_a_cluster_whose_look_takes_the_whole_round_is_the_last_of_the_next_one() -> None:
    kafka, latest = GroupsOfTwo(), MemoryLatestStore()
    kafka.odd_takes = timedelta(minutes=1)
    kafka.odd_raises = KafkaUnavailable(what="listing groups", where="odd", why="nobody answers")
    service = GroupService(latest, kafka.of, lambda: kafka.now)
    watch = GroupWatch(service, TwoClusters(), latest, lambda: kafka.now, "always")
    for _ in range(4):
        kafka.now += timedelta(minutes=1)
        watch.poll()
    assert kafka.asked == ["odd", "sound", "odd", "sound", "odd", "sound", "odd"]


def test_rates_of_topics_go_on_past_a_cluster_whose_logs_make_no_sense() -> None:
    steady = TopicDeclaration("steady", 1, 3, {}, "standard", "", "retain", "tell", {}, rate_min=1, rate_max=9)
    topics = TopicsView(MappingProxyType({"steady": TopicView(steady, "api", "", "", BEFORE, owned=True)}))
    now, asked = NOW, []

    class Logs:
        def __init__(self, view: ClusterView) -> None:
            self.view = view

        def topic_logs(self, topic: str) -> TopicLogs:
            asked.append(self.view.name)
            if self.view.uid == ODD:
                raise IndexError("no such field")
            return TopicLogs(now, {0: LogBounds(0, 5)})

    fleet = TwoClusters(a_view(uid=ODD, name="odd", topics=topics), a_view(uid=SOUND, name="sound", topics=topics))
    learning = RateLearning(MemoryLatestStore())
    watch = RateWatch(fleet, Logs, lambda: now, learning)  # type: ignore[arg-type]
    with pytest.raises(RoundIncomplete, match="rates of topics: left out of this round: odd: IndexError"):
        watch.poll()
    assert asked == ["odd", "sound"]


def test_names_of_topics_are_recorded_past_a_cluster_whose_row_cannot_be_kept() -> None:
    latest = OddLatest()
    index = TopicIndex(TwoClusters(), latest, lambda: NOW)
    with pytest.raises(RoundIncomplete, match="names of topics: left out of this round: odd: ValueError"):
        index.poll()
    assert kept_names(latest, SOUND) == ("clicks",)


def test_placements_of_topics_are_recorded_past_a_cluster_whose_rows_cannot_be_kept() -> None:
    class OddStore(MemoryPlacementStore):
        def keep(self, uid: ClusterUid, changed: Sequence[TopicRecord], gone: Collection[str], at: datetime) -> None:
            if uid == ODD:
                raise ValueError("a row it cannot keep")
            super().keep(uid, changed, gone, at)

    store = OddStore()
    reconciler = PlacementReconciler(TwoClusters(), store, MemoryLatestStore(), lambda: Epoch(1))
    with pytest.raises(RoundIncomplete, match="placements of topics: left out of this round: odd: ValueError"):
        reconciler.poll()
    assert store.clusters() == {SOUND}


def test_names_in_dns_are_kept_past_a_cluster_whose_records_make_no_sense() -> None:
    class OddZone(FakeZone):
        def read(self, name: str) -> HeldName:
            if name.endswith("odd.kafka.example.com"):
                raise KeyError("ttl")
            return super().read(name)

    zone = OddZone("kafka.example.com")
    named = {n: a_document(bootstrap=f"dns: {n}.kafka.example.com") for n in ("odd", "sound")}
    fleet = TwoClusters(
        a_view(uid=ODD, name="odd", document=named["odd"]), a_view(uid=SOUND, name="sound", document=named["sound"])
    )
    reconciler = NameReconciler(
        [KeptZone(zone, 30)], fleet, MemoryLatestStore(), "test", lambda: NOW, may_act=lambda: True
    )
    with pytest.raises(RoundIncomplete, match="names in DNS: left out of this round: odd: KeyError"):
        reconciler.poll()
    assert "sound.kafka.example.com" in zone.held


def test_audits_start_past_a_cluster_whose_resources_make_no_sense() -> None:
    started: list[str] = []

    def existing(view: ClusterView, place: Any) -> Resources:
        if view.uid == ODD:
            raise KeyError("zone")
        return Resources("inst", view.uid, view.name, place)

    ports = DriftPorts(
        fleet=TwoClusters(),
        jobs=MemoryJobStore(lambda: NOW),
        latest=MemoryLatestStore(),
        runner=type("Runner", (), {"audit": lambda _, job, audit, *, epoch: started.append(audit.of)})(),
        existing=existing,
        clock=lambda: NOW,
        epoch=lambda: Epoch(1),
    )
    reconciler = DriftReconciler(ports, every=timedelta(seconds=1), at_once=2)
    with pytest.raises(RoundIncomplete, match=r"audits: left out of this round: a-odd .*: KeyError"):
        reconciler.poll()
    assert started == [SOUND]


def test_agents_of_one_cluster_that_said_what_nobody_reads_keep_its_stage_and_no_other_cluster_waiting() -> None:
    fleet = AgentFleet(soak_s=0, odd="staging", sound="staging", later="production")
    for agent in fleet.agents.values():
        agent.is_silent = True
    fleet.step()
    fleet.publish("0.2.0")
    for (name, key), agent in fleet.agents.items():
        agent.is_silent = name == "odd"
        if agent.is_silent:
            told = Subject(AGENT_REPORT, ClusterUid(name), key)
            fleet.latest.put(LatestValue(told, {"services": "of a newer release"}, "agent", fleet.now))
    told = set()
    for _ in range(60):
        try:
            fleet.step()
        except RoundIncomplete as incomplete:
            told.add(str(incomplete)[:54])
        fleet.catch_up()
    assert told == set(), "its agents are taken for not heard, and nobody's round ends over it"
    assert set(fleet.versions("sound")) == {"0.2.0"}
    assert set(fleet.versions("odd")) == set(fleet.versions("later")) == {"0.1.0"}
    assert "its agent was never heard" in fleet.reconciler.asked.waits


def test_notices_go_out_past_a_cluster_with_an_event_this_release_cannot_read() -> None:
    store, outbox = MemoryEventStore(clock=lambda: NOW), MemoryOutbox()
    spreader = NoticeSpreader([NotifierBinding(name="oncall", kind="log")], store, outbox, {})
    spreader.poll()
    newer = NewEvent(event_id="1", type="AnomalyPondered", schema=1, data={})
    store.append(anomalies_stream(ODD), [newer], expected_version=0, origin=Origin("anomalies"))
    found = facts.AnomalyFound("sound-1", "sound", "slow-broker", "b", "why", "healing", "words")
    store.append(anomalies_stream(SOUND), [encode(found, "2")], expected_version=0, origin=Origin("anomalies"))
    with pytest.raises(RoundIncomplete, match="notices: left out of this round: a-odd: UnknownEventType"):
        spreader.poll()
    (waiting,) = outbox.waiting("oncall", NOW)
    assert waiting.notice.cluster == "sound"
    spreader.poll()  # the event is behind it: what it would have told is lost, and was told as such


def test_anomalies_are_looked_for_past_a_cluster_that_makes_no_sense() -> None:
    looked: list[str] = []

    class OddFleet(TwoClusters):
        def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
            looked.append(uid)
            if uid == ODD:
                raise KeyError("no such cluster")
            return super().last_snapshot(uid)

    windows = type("Windows", (), {"recent": lambda _, now: {}})()
    reconciler = AnomalyReconciler(
        OddFleet(),
        MemoryEventStore(clock=lambda: NOW),
        MemoryLatestStore(),
        windows,
        None,  # type: ignore[arg-type]
        lambda: NOW,
        epoch=lambda: 1,
    )
    with pytest.raises(RoundIncomplete, match="anomalies: left out of this round: odd: KeyError"):
        reconciler.poll()
    assert looked == [ODD, SOUND]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Tracebacks of what is left out belong to the log."""
    caplog.set_level("CRITICAL")
