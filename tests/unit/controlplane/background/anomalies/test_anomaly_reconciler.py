"""What is found in a cluster, where it stands, what is recorded and what is handed over to be done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.background.anomalies.evidence import DiskFailure, SeenCluster, evidence
from controlplane.background.anomalies.fold import AnomalyFold, folded, read_anomalies
from controlplane.background.anomalies.reconciler import HOLD, AnomalyReconciler, OfPairs, held_down
from controlplane.background.anomalies.record import ANOMALIES_NOTED, noted_of
from controlplane.background.anomalies.status import Stance
from controlplane.cluster.commands import Command, DemoteBroker, PromoteBroker
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.healing import DemotionView, SwitchView
from controlplane.cluster.views.running_settings import RestartView
from controlplane.storage.streams import anomalies_stream
from events.topic_facts import TopicTrouble
from planner.anomalies.cooling import Load
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import HEALED, Kind, State
from planner.anomalies.slow import BrokerWindow
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from spark.metrics.read_trends import ClusterTrends
from tests.builders import NOW, a_document, a_drain, a_partition, a_report, a_snapshot, a_view, an_instance
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.latest_values import MemoryLatestStore

KEY, NODE = "brokers-a-0.g1", "brokers-a-0"
CALM = {"produce_local_p99_ms": 8.0, "request_queue_p99_ms": 6.0}
SLOW = {"produce_local_p99_ms": 200.0, "request_queue_p99_ms": 150.0}
WIDTH = timedelta(minutes=5)


@dataclass
class FakeFleet:
    view: ClusterView
    kafka: KafkaSnapshot | None = None

    def views(self) -> list[ClusterView]:
        return [self.view]

    def last_snapshot(self, uid: str) -> KafkaSnapshot | None:
        return self.kafka


@dataclass
class FakeWindows:
    windows: Sequence[BrokerWindow] = ()

    def recent(self, now: datetime) -> Mapping[str, Sequence[BrokerWindow]]:
        return {"c0ffee": [w for w in self.windows if w.start >= now - timedelta(minutes=40)]}

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        return [w for w in self.windows if w.broker in brokers]

    def trends(self) -> Mapping[str, ClusterTrends]:
        return {}

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        return {}


@dataclass
class Heard:
    commands: list[Command] = field(default_factory=list)

    def handle(self, command: Command) -> object:
        self.commands.append(command)
        return command


class Scene:
    """A reconciler over one cluster, with a clock of its own."""

    def __init__(self, view: ClusterView | None = None) -> None:
        self.now = NOW
        self.fleet = FakeFleet(view or a_view(), a_snapshot(a_partition()))
        self.store = MemoryEventStore(clock=lambda: self.now)
        self.latest, self.windows, self.heard = MemoryLatestStore(), FakeWindows(), Heard()
        self.of_pairs: OfPairs = {}
        self.reconciler = self.made()

    def made(self) -> AnomalyReconciler:
        return AnomalyReconciler(
            self.fleet,
            self.store,
            self.latest,
            self.windows,
            self.heard,
            lambda: self.now,
            epoch=lambda: 1,
            pairs=lambda: self.of_pairs,
        )

    def look(self, **passes: float) -> AnomalyFold:
        self.now += timedelta(**passes)
        if self.fleet.kafka is not None:
            self.fleet.kafka = replace(self.fleet.kafka, at=self.now)
        self.reconciler.poll()
        return self.fold()

    def fold(self) -> AnomalyFold:
        return read_anomalies(self.store, self.fleet.view.uid)

    def slow(self, broker: int = 1000) -> None:
        """It has been slow for three windows, after a calm day."""
        first = self.now - 23 * WIDTH
        self.windows.windows = [
            BrokerWindow(
                b, first + n * WIDTH, first + (n + 1) * WIDTH, None, 1.0, SLOW if b == broker and n >= 20 else CALM
            )
            for b in (1000, 1001, 1002)
            for n in range(23)
        ]


def status(
    view: ClusterView, kind: Kind, subject: str = NODE, *, minutes: float = 0, slow: int = 1
) -> tuple[State, str]:
    stance = Stance(view, NOW, slow=slow).of(AnomalyFinding(kind, subject, "found"), NOW - timedelta(minutes=minutes))
    return stance.state, stance.words


def kinds(view: ClusterView, **seen: object) -> dict[Kind, str]:
    values: dict[str, object] = {"kafka": a_snapshot(a_partition()), "slow": (), "now": NOW, **seen}
    return {f.kind: f.reason for f in evidence(view, SeenCluster(**values)).findings}  # type: ignore[arg-type]


def test_a_cluster_at_rest_has_none_and_what_cannot_be_seen_is_not_looked_at() -> None:
    whole = evidence(
        a_view(), SeenCluster(kafka=a_snapshot(a_partition()), slow=(), hot=(), forecasts={1: ()}, now=NOW)
    )
    assert whole.findings == ()
    assert whole.looked_at == set(Kind)
    blind = evidence(a_view(), SeenCluster(kafka=None, slow=None, disks=None, now=NOW))
    assert blind.looked_at == {Kind.TOPIC_ANOMALY, Kind.MAINTENANCE_EVENT, Kind.CONDITION}
    old = a_snapshot(a_partition(), at=NOW - timedelta(minutes=4))
    assert Kind.BROKER_FAILURE not in evidence(a_view(), SeenCluster(kafka=old, now=NOW)).looked_at


def test_a_cluster_that_serves_nobody_yet_or_any_more_has_none() -> None:
    down = a_snapshot(a_partition(), brokers=(1001, 1002), fenced=(1000,))
    assert Kind.BROKER_FAILURE in kinds(a_view(), kafka=down)
    assert kinds(a_view(converged=0), kafka=down) == {}
    assert kinds(a_view(tombstone="asked"), kafka=down) == {}


def test_each_kind_is_found_with_its_numbers() -> None:
    down = a_snapshot(a_partition(), brokers=(1001, 1002), fenced=(1000,))
    assert kinds(a_view(), kafka=down)[Kind.BROKER_FAILURE] == (
        f"broker 1000 ({KEY}) is fenced: 1 partitions lack a replica"
    )
    lost = a_view(an_instance(NODE, lost_at=NOW))
    assert "the cloud says that the VM of brokers-a-0.g1 is gone" in kinds(lost)[Kind.BROKER_FAILURE]
    assert kinds(a_view(), disks=(DiskFailure(NODE, "data failed"),)) == {Kind.DISK_FAILURE: "data failed"}
    told = {"MaintenanceScheduled": ConditionView(True, "Announced", "the host goes down", NOW)}
    assert kinds(a_view(conditions=told)) == {Kind.MAINTENANCE_EVENT: "the host goes down"}


def test_a_topic_that_is_not_as_declared_is_an_anomaly_of_that_topic() -> None:
    view = a_view()
    trouble = TopicTrouble("orders", "Refused", "no broker takes 9 replicas")
    told = replace(view, topics=replace(view.topics, troubles={"orders": trouble}))
    (found,) = evidence(told, SeenCluster(kafka=a_snapshot(a_partition()), slow=(), now=NOW)).findings
    assert (found.kind, found.subject) == (Kind.TOPIC_ANOMALY, "orders")
    assert found.reason == "Refused: no broker takes 9 replicas"


def test_replicas_in_one_zone_violate_a_goal_and_so_does_a_share_far_from_even_where_the_spec_cares() -> None:
    two_in_a = a_view(an_instance("brokers-a-1", service_id=1003))
    kafka = a_snapshot(a_partition("orders-0", (1000, 1003, 1001)), brokers=(1000, 1001, 1002, 1003))
    assert kinds(two_in_a, kafka=kafka)[Kind.GOAL_VIOLATION] == (
        "1 partitions have replicas in one zone though another has room: orders-0 on [1000, 1003, 1001]"
    )
    assert Kind.GOAL_VIOLATION not in kinds(two_in_a, kafka=kafka, goals=False)
    uneven = a_snapshot(*(a_partition(f"orders-{n}", (1000, 1001, 1002)) for n in range(9)))
    assert kinds(a_view(), kafka=uneven) == {}
    cares = a_view(document=a_document(balance="continuous: true"))
    assert kinds(cares, kafka=uneven)[Kind.GOAL_VIOLATION].startswith(
        "goal leaders is 167 % from its even share, 20 % are allowed"
    )


@pytest.mark.parametrize(
    ("view", "kind", "words"),
    [
        (a_view(recycling=2, generation=2), Kind.SLOW_BROKER, "a roll to generation 2 is in hand"),
        (a_view(recycling=2, generation=2), Kind.GOAL_VIOLATION, "a roll to generation 2 is in hand"),
        (a_view(replaced_at=NOW - timedelta(minutes=5)), Kind.SLOW_BROKER, "a broker was replaced 5 min ago"),
        (
            a_view(restarts={KEY: RestartView(KEY, 1, NOW, False, None)}),  # type: ignore[arg-type]
            Kind.BROKER_FAILURE,
            f"{KEY} is being restarted",
        ),
        (a_view(an_instance(NODE, phase=Phase.FENCING)), Kind.BROKER_FAILURE, f"{KEY} is being replaced"),
    ],
)
def test_what_kedge_does_itself_is_suppressed_and_says_so(view: ClusterView, kind: Kind, words: str) -> None:
    state, told = status(view, kind, minutes=60)
    assert state is State.SUPPRESSED
    assert words in told


def rolling(*, since_min: float = 60, **about: Any) -> ClusterView:
    """A roll of which something was recorded last so many minutes ago."""
    told = {"Blocked": ConditionView(True, "RunFailed", "the run failed. Next: kedge resume orders", NOW)}
    values = {"recycling": 2, "generation": 2, "progressed_at": NOW - timedelta(minutes=since_min), **about}
    return a_view(**{"conditions": told, **values})


@pytest.mark.parametrize("kind", [Kind.SLOW_BROKER, Kind.GOAL_VIOLATION, Kind.TOPIC_ANOMALY])
def test_a_roll_that_waits_for_a_person_explains_nothing_after_a_while(kind: Kind) -> None:
    assert status(rolling(since_min=29), kind, minutes=60)[0] is State.SUPPRESSED
    state, words = status(rolling(), kind, minutes=60)
    assert state is State.WAITING
    assert words == (
        "a roll to generation 2 is in hand and goes before, but nothing has gone on for 60 min: the run failed. "
        "Next: kedge describe orders"
    )
    paused = rolling(paused="a look", conditions={})
    assert status(paused, kind, minutes=60) == (
        State.WAITING,
        "nothing begins: paused: a look. Next: kedge resume orders",
    )


def test_a_drain_that_copies_for_hours_is_still_what_explains_it() -> None:
    blocked = ConditionView(True, "DrainMoves", "12 of 900 moves done", NOW)
    long_drain = rolling(drain=a_drain(), conditions={"Blocked": blocked})
    assert status(long_drain, Kind.SLOW_BROKER, minutes=60)[0] is State.SUPPRESSED
    hung = {"ReassignmentHung": ConditionView(True, "NoProgress", "", NOW)}
    assert status(rolling(drain=a_drain(), conditions=hung), Kind.SLOW_BROKER, minutes=60)[0] is State.WAITING


def test_grace_comes_first_and_the_spec_may_say_another() -> None:
    assert status(a_view(), Kind.SLOW_BROKER, minutes=14)[0] is State.FOUND
    assert status(a_view(), Kind.SLOW_BROKER, minutes=16)[0] is State.HEALING
    at_once = a_view(document=a_document(healing="grace: {slow-broker: 0s}"))
    assert status(at_once, Kind.SLOW_BROKER)[0] is State.HEALING


def test_what_is_switched_off_waits_and_says_by_whose_word() -> None:
    off = {"slow-broker": SwitchView(False, NOW + timedelta(hours=1), "asked by anna: load test", NOW)}
    state, told = status(a_view(switches=off), Kind.SLOW_BROKER, minutes=60)
    assert (state, told) == (
        State.WAITING,
        "healing of slow-broker is off until 2026-01-01 13:00 UTC: asked by anna: load test. "
        "Next: kedge healing on orders --kind slow-broker",
    )
    over = {"slow-broker": replace(off["slow-broker"], until=NOW)}
    assert status(a_view(switches=over), Kind.SLOW_BROKER, minutes=60)[0] is State.HEALING
    tell = a_view(document=a_document(healing="slowBroker: tell"))
    assert "healing.slowBroker: tell" in status(tell, Kind.SLOW_BROKER, minutes=60)[1]


def test_many_slow_brokers_are_told_and_none_is_demoted() -> None:
    state, told = status(a_view(), Kind.SLOW_BROKER, minutes=60, slow=2)
    assert state is State.WAITING
    assert "2 of 3 brokers are slow at once" in told


@pytest.mark.parametrize("kind", sorted(HEALED))
def test_every_kind_says_what_it_waits_for(kind: Kind) -> None:
    state, told = status(a_view(paused="release day"), kind, minutes=600)
    assert state is State.WAITING
    assert "kedge resume orders" in told
    assert status(a_view(), kind, minutes=600)[1]


def test_a_slow_broker_is_recorded_once_and_demoted_after_its_grace() -> None:
    scene = Scene()
    scene.slow()
    assert [a.state for a in scene.look().open_.values()] == [State.FOUND]
    assert scene.look(minutes=1).version == 1
    assert scene.heard.commands == []
    scene.slow()
    fold = scene.look(minutes=15)
    (slow,) = fold.open_.values()
    assert (slow.kind, slow.subject, slow.state, slow.notified) == (Kind.SLOW_BROKER, NODE, State.HEALING, True)
    (command,) = scene.heard.commands
    assert isinstance(command, DemoteBroker)
    assert (command.key, command.reason) == (KEY, slow.reason)
    noted = noted_of(scene.latest.of_kind(ANOMALIES_NOTED))
    assert [n.state for n in noted[scene.fleet.view.uid].open_] == [State.HEALING]


def test_a_demoted_broker_is_kept_so_for_an_hour_and_then_tried_again() -> None:
    scene = Scene()
    scene.slow()
    scene.look()
    scene.slow()
    scene.look(minutes=16)
    scene.heard.commands.clear()
    demoted = {KEY: DemotionView(1000, "slow", scene.now, done_at=scene.now)}
    scene.fleet.view = replace(
        scene.fleet.view, version=30, requests=replace(scene.fleet.view.requests, demotions=demoted)
    )
    scene.windows.windows = []
    assert [a.state for a in scene.look(minutes=59).open_.values()] == [State.HEALING]
    scene.now += timedelta(minutes=2)
    scene.slow(broker=-1)
    fold = scene.look()
    assert [a.state for a in fold.past] == [State.OVER]
    (command,) = scene.heard.commands
    assert isinstance(command, PromoteBroker)
    again = replace(demoted[KEY], requested_at=scene.now, done_at=scene.now)
    assert held_down(
        replace(scene.fleet.view, requests=replace(scene.fleet.view.requests, demotions={KEY: again})), fold
    ) == {NODE: scene.now + 2 * HOLD}


def test_a_demoted_broker_may_lead_again_once_its_healing_is_switched_off() -> None:
    scene = Scene(
        a_view(
            demotions={KEY: DemotionView(1000, "slow", NOW, done_at=NOW)},
            switches={"": SwitchView(False, None, "asked by anna", NOW)},
        )
    )
    scene.look()
    assert [type(c) for c in scene.heard.commands] == [PromoteBroker]


def test_a_server_that_begins_reads_what_was_found_and_says_nothing_twice() -> None:
    scene = Scene()
    scene.fleet.kafka = a_snapshot(a_partition(), brokers=(1001, 1002), fenced=(1000,))
    assert scene.look().version == 1
    scene.reconciler = scene.made()
    assert scene.look(seconds=1).version == 1
    scene.fleet.kafka = a_snapshot(a_partition())
    over = scene.look(seconds=10)
    assert [a.words for a in over.past] == ["it passed by itself within its grace, after 0 min"]


class Walked(tuple[PartitionSeen, ...]):
    """Partitions that count how often somebody walks over them."""

    walks = 0

    def __iter__(self) -> Iterator[PartitionSeen]:
        Walked.walks += 1
        return super().__iter__()


def test_a_cluster_at_rest_costs_no_walk_over_its_partitions() -> None:
    scene = Scene()
    scene.fleet.kafka = a_snapshot(a_partition(), partitions=Walked([a_partition()]))
    scene.look()
    walked = Walked.walks
    assert walked > 0
    scene.reconciler.poll()
    scene.look(minutes=1)
    once_a_reading = 2  # leaderless, below min ISR: kept with the snapshot, and every page and scrape asks for them
    assert Walked.walks == walked + once_a_reading, "goals are looked at every five minutes"
    scene.look(minutes=5)
    assert Walked.walks > walked


def test_the_stream_of_another_release_is_told_and_nothing_is_written() -> None:
    scene = Scene()
    scene.fleet.kafka = a_snapshot(a_partition(), brokers=(1001, 1002), fenced=(1000,))
    scene.look()
    stream = anomalies_stream(scene.fleet.view.uid)
    strange = replace(scene.store.read_stream(stream)[0], type="anomaly.dreamt", version=2)
    fold = folded(scene.fold(), [strange])
    assert "anomaly.dreamt" in fold.unreadable
    assert fold.version == 2


@pytest.mark.parametrize(
    ("finding", "is_found"),
    [("log_dir_failed", True), ("directory_lost:data", True), ("directory_lost", False), ("deadlock", False)],
    ids=["offline", "of a broker that does not start", "of a controller: that is on record", "another finding"],
)
def test_a_disk_an_agent_found_failed_is_one_until_the_agent_tells_it_no_more(finding: str, is_found: bool) -> None:
    scene = Scene()
    instance = scene.fleet.view.instances[KEY]
    for passed, findings in ((0, [{"name": finding, "since": NOW, "message": "as found"}]), (30, [])):
        scene.now += timedelta(seconds=passed)
        told = a_report(instance, findings=findings, received_at=scene.now).report
        keep_report(scene.latest, scene.fleet.view.uid, KEY, told.model_copy(update={"seq": passed}), scene.now)
        open_ = [(a.kind, a.subject) for a in scene.look(seconds=1).open_.values()]
        assert open_ == ([(Kind.DISK_FAILURE, NODE)] if is_found and findings else [])
