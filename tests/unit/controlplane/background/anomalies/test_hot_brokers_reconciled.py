"""A hot broker from its windows to the advice: found, let pass, explained by what Kedge does, and helped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.background.anomalies.evidence import SeenCluster, evidence
from controlplane.background.anomalies.fold import AnomalyFold
from controlplane.background.anomalies.reconciler import AnomalyReconciler
from controlplane.background.anomalies.status import Stance
from controlplane.cluster.observed.hot_brokers import HOT_NOTED, HotNoted, hot_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import SwitchView
from controlplane.cluster.views.rebalances import LastRebalance
from controlplane.cluster.views.topics import TopicsView
from planner.anomalies.cooling import Cooling, Load
from planner.anomalies.hot import BYTES_IN, BYTES_OUT, CPU
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind, State
from planner.anomalies.slow import BrokerWindow
from planner.observed import TopicPartition
from tests.builders import NOW, a_document, a_drain, a_partition, a_snapshot, a_view
from tests.unit.controlplane.background.anomalies.test_anomaly_reconciler import FakeWindows, Scene

NODE = "brokers-a-0"
MIB = 1024.0 * 1024
WIDTH = timedelta(minutes=5)
PARTS = [a_partition(f"orders-{n}", (1000, 1001 + n % 2, 1002 - n % 2)) for n in range(6)]
CALM = {CPU: 0.2, BYTES_IN: 10 * MIB, BYTES_OUT: 10 * MIB}
HOT = {CPU: 0.9, BYTES_IN: 10 * MIB, BYTES_OUT: 30 * MIB}


@dataclass
class HotWindows(FakeWindows):
    reads: float = 4 * MIB

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        return {p.name: Load(MIB, self.reads) for p in PARTS}


class HotScene(Scene):
    """A reconciler over a cluster whose broker 1000 has been hot for 25 min."""

    windows: HotWindows

    def made(self) -> AnomalyReconciler:
        self.fleet.kafka, self.windows = a_snapshot(*PARTS), HotWindows()
        return super().made()

    def sees(self, figures: Mapping[str, float] = HOT, **passes: float) -> AnomalyFold:
        first = self.now + timedelta(**passes) - 25 * WIDTH
        self.windows.windows = [
            BrokerWindow(
                b, first + n * WIDTH, first + (n + 1) * WIDTH, None, 1.0, figures if b == 1000 and n >= 20 else CALM
            )
            for b in (1000, 1001, 1002)
            for n in range(25)
        ]
        return self.look(**passes)

    def advice(self) -> HotNoted | None:
        return hot_of(self.latest.of_kind(HOT_NOTED)).get(self.fleet.view.uid)


def status(view: ClusterView, *, minutes: float = 60, cure: Cooling | None = None) -> tuple[State, str]:
    coolings = {NODE: cure} if cure else {}
    stance = Stance(view, NOW, coolings=coolings)
    found = stance.of(AnomalyFinding(Kind.HOT_BROKER, NODE, "found"), NOW - timedelta(minutes=minutes))
    return found.state, found.words


def with_topics(**about: Any) -> ClusterView:
    return a_view(topics=TopicsView(**about))


def test_it_is_found_at_once_and_after_its_grace_what_others_may_lead_is_advised() -> None:
    scene = HotScene()
    fold = scene.sees()
    (hot,) = fold.open_.values()
    assert (hot.kind, hot.subject, hot.state) == (Kind.HOT_BROKER, NODE, State.FOUND)
    assert hot.reason.startswith("broker 1000 was hot in 25 of the last 25 min: CPU 90% (peers 20%, its own past 20%)")
    assert scene.advice() is None, "it may pass by itself"
    (healing,) = scene.sees(minutes=16).open_.values()
    assert healing.state is State.HEALING
    assert healing.notified
    told = scene.advice()
    assert told is not None
    assert told.lists
    assert all(n.before[0] == 1000 != n.after[0] and sorted(n.before) == sorted(n.after) for n in told.lists)
    assert told.reason.startswith(f"others lead {len(told.lists)} partitions of broker 1000: CPU 90% -> ")
    assert scene.heard.commands == [], "it is not demoted: it has its share to lead"


def test_it_is_over_once_no_window_says_so() -> None:
    scene = HotScene()
    scene.sees()
    (over,) = scene.sees(CALM, minutes=30).past
    assert (over.kind, over.state) == (Kind.HOT_BROKER, State.OVER)


def test_no_second_batch_is_advised_on_windows_from_before_the_first() -> None:
    scene = HotScene()
    scene.sees()
    scene.sees(minutes=16)
    moved = replace(scene.fleet.view, topics=TopicsView(handed_over_at=scene.now + timedelta(seconds=20)), version=30)
    scene.fleet.view = moved
    before = scene.advice()
    (still,) = scene.sees(minutes=2).open_.values()
    assert still.state is State.HEALING
    assert scene.advice() == before, "nothing of now"
    scene.sees(minutes=10)
    assert scene.advice() != before, "windows that began since say that it is still hot"


def test_a_cluster_without_hot_brokers_is_told_nothing() -> None:
    scene = HotScene()
    assert scene.sees(CALM).open_ == {}
    assert scene.advice() is None


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (a_view(recycling=2, generation=2), "a roll to generation 2 is in hand"),
        (a_view(drain=a_drain()), "a drain of brokers-a-0.g1 is in hand"),
        (a_view(replaced_at=NOW - timedelta(minutes=29)), "a broker was replaced 29 min ago"),
        (a_view(last_rebalance=LastRebalance(NOW - timedelta(minutes=5), 3.0)), "a rebalance ended 5 min ago"),
    ],
)
def test_what_kedge_does_itself_is_known_and_named(view: ClusterView, words: str) -> None:
    state, told = status(view)
    assert state is State.SUPPRESSED
    assert words in told
    assert status(a_view(replaced_at=NOW - timedelta(minutes=31)))[0] is not State.SUPPRESSED


CURE = Cooling(1000, {TopicPartition("orders", 0): (1001, 1000, 1002)})
NO_CURE = Cooling(1000, why_not="a follower receives what a leader does, so only moved replicas change it")


def test_where_leadership_is_no_cure_replicas_are_spread_where_the_spec_says_so_and_else_it_waits() -> None:
    state, told = status(a_view(), cure=NO_CURE)
    assert (state, told) == (State.WAITING, f"{NO_CURE.why_not}. Next: kedge rebalance orders")
    state, told = status(a_view(document=a_document(balance="continuous: true")), cure=NO_CURE)
    assert (state, told) == (State.HEALING, f"{NO_CURE.why_not}: replicas are spread anew (`balance.continuous`)")


def test_the_switch_the_spec_and_leaders_to_be_left_hold_it() -> None:
    off = {"hot-broker": SwitchView(False, None, "asked by anna: load test", NOW)}
    state, told = status(a_view(switches=off), cure=CURE)
    assert state is State.WAITING
    assert told.endswith("Next: kedge healing on orders --kind hot-broker")
    tell = a_view(document=a_document(healing="hotBroker: tell"))
    assert "healing.hotBroker: tell" in status(tell, cure=CURE)[1]
    leave = a_view(document=a_document(balance="preferredLeaders: leave"))
    assert "preferredLeaders: leave" in status(leave, cure=CURE)[1]
    assert status(a_view(), cure=CURE)[0] is State.HEALING


def test_what_was_handed_over_just_now_is_given_time_to_show() -> None:
    assert status(with_topics(handed_over_at=NOW - timedelta(minutes=5)))[0] is State.HEALING
    state, told = status(with_topics(handed_over_at=NOW - timedelta(minutes=40)))
    assert state is State.WAITING
    assert "not measured yet" in told


def test_silence_is_no_end_of_it() -> None:
    blind = evidence(a_view(), SeenCluster(kafka=a_snapshot(*PARTS), slow=(), hot=None, now=NOW))
    assert Kind.HOT_BROKER not in blind.looked_at
