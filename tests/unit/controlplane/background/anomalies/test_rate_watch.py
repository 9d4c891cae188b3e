"""Topics with a declared band: what is asked of Kafka, what is found, told and over again, and what is left alone."""

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest

from controlplane.background.anomalies.rates import bands
from controlplane.background.anomalies.status import Stance
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import TopicsView, TopicView
from events.topic_facts import TopicDeclaration
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind, State
from planner.anomalies.topic_rates import rate_subject
from tests.builders import BEFORE, NOW, a_drain, a_view
from tests.unit.controlplane.background.anomalies.rated_scene import RatedScene


def view_with(*, least: int | None = 100, most: int | None = 200, owned: bool = True, **changes: object) -> ClusterView:
    """One steady topic, and one nobody declares a band of."""
    plain = TopicDeclaration("plain", 1, 3, {}, "standard", "", "retain", "tell", {})
    steady = replace(plain, name="steady", rate_min=least, rate_max=most)
    topics = {d.name: TopicView(d, "api", "", "", BEFORE, owned=owned) for d in (plain, steady)}
    return a_view(topics=TopicsView(MappingProxyType(topics)), **changes)


def scene_of(view: ClusterView | None = None) -> RatedScene:
    return RatedScene(view or view_with())


def test_a_healthy_topic_raises_nothing() -> None:
    scene = scene_of()
    assert scene.minutes(60, per_s=150) == []


@pytest.mark.parametrize(("per_s", "side"), [(20, "below"), (900, "above")])
def test_a_topic_outside_its_band_is_found_told_after_its_grace_and_over_when_it_is_back(per_s: int, side: str) -> None:
    scene = scene_of()
    scene.minutes(20, per_s=150)
    minutes = 1
    while not (there := scene.minutes(1, per_s=per_s)) and minutes < 30:
        minutes += 1
    (found,) = there
    assert 10 < minutes <= 20  # three windows, the first of which may have begun before
    assert (found.kind, found.state) == (Kind.TOPIC_ANOMALY, State.FOUND)
    assert f"{side} the declared 100 to 200/s" in found.reason
    assert f"{per_s}.0/s" in found.reason
    (told,) = scene.minutes(6, per_s=per_s)
    assert (told.state, told.notified) == (State.WAITING, True)
    assert "Kedge does nothing about it" in told.words
    (over,) = scene.minutes(22, per_s=150)
    assert over.state is State.OVER


def test_a_short_burst_is_no_anomaly() -> None:
    scene = scene_of()
    scene.minutes(20, per_s=150)
    assert scene.minutes(5, per_s=900) == []
    assert scene.minutes(30, per_s=150) == []


def test_brokers_that_do_not_answer_neither_raise_nor_end_it() -> None:
    scene = scene_of()
    scene.kafka.silent = True
    assert scene.minutes(30, per_s=0) == []
    scene.kafka.silent = False
    (found,) = scene.minutes(25, per_s=10)
    scene.kafka.silent = True
    (still,) = scene.minutes(40, per_s=150)
    assert not still.is_over
    assert still.id == found.id


def test_a_server_that_starts_anew_keeps_what_is_open_until_it_can_judge() -> None:
    scene = scene_of()
    (found,) = scene.minutes(25, per_s=10)
    scene.reconciler = scene.made()
    (still,) = scene.minutes(15, per_s=150)
    assert (still.id, still.is_over) == (found.id, False)
    (over,) = scene.minutes(9, per_s=150)
    assert over.is_over


def test_only_topics_with_a_band_are_asked_for_and_only_once_a_window() -> None:
    scene = scene_of()
    scene.minutes(30, per_s=150)
    assert scene.kafka.asked == ["steady"] * 6


@pytest.mark.parametrize("view", [view_with(least=None, most=None), view_with(owned=False), a_view()])
def test_a_cluster_without_bands_costs_no_call(view: ClusterView) -> None:
    scene = scene_of(view)
    scene.minutes(12, per_s=0)
    assert scene.kafka.asked == []
    assert bands(view) == {}


def test_a_band_that_is_taken_back_ends_its_anomaly() -> None:
    scene = scene_of()
    assert scene.minutes(25, per_s=10)
    scene.fleet.view = replace(view_with(least=None, most=None), version=scene.fleet.view.version + 1)
    (over,) = scene.minutes(2, per_s=10)
    assert over.is_over


def test_during_our_own_work_it_is_kept_and_said_and_nobody_is_told() -> None:
    finding = AnomalyFinding(Kind.TOPIC_ANOMALY, rate_subject("steady"), "found")
    ours = Stance(view_with(drain=a_drain()), NOW).of(finding, NOW - timedelta(hours=1))
    assert ours.state is State.SUPPRESSED
    assert "clients find their leaders anew" in ours.words
    calm = Stance(view_with(), NOW).of(finding, NOW - timedelta(hours=1))
    assert calm.state is State.WAITING
    assert "kedge topic describe orders steady" in calm.words
