"""Topics whose band is learned: what is kept of them and where, when it is not learned from, what is found and over."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.background.anomalies.rate_learning import learned_now
from controlplane.background.anomalies.rates import bands, learning
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import TopicsView, TopicView
from controlplane.storage.latest_values import LatestValue, Subject
from events.errors import StoreUnavailable
from events.topic_facts import TopicDeclaration
from planner.anomalies.learned_rates import HourOfDay, LearnedBand, NotJudged, with_hour
from tests.builders import BEFORE, NOW, a_drain, a_view
from tests.changed_view import changed_view
from tests.unit.controlplane.background.anomalies.rated_scene import RatedScene

START = datetime(2026, 3, 16, 9, 50, tzinfo=UTC)
UID = a_view().uid


def view_with(*, learns: bool = True, version: int = 1, **changes: object) -> ClusterView:
    declared = TopicDeclaration("steady", 1, 3, {}, "standard", "", "retain", "tell", {}, rate_learn=learns)
    topics = {"steady": TopicView(declared, "api", "", "", BEFORE, owned=True)}
    return a_view(topics=TopicsView(MappingProxyType(topics)), version=version, **changes)


class Learning(RatedScene):
    """A cluster with a topic that learns, from `START` on, in steps of a minute."""

    def __init__(self, view: ClusterView | None = None, *, days: int = 0, per_s: float = 1000.0) -> None:
        super().__init__(view or view_with(), start=START)
        if days:
            self.teach(days, per_s)

    def teach(self, days: int, per_s: float) -> None:
        """As it is after so many days, of every hour."""
        for hour in range(24):
            past: tuple[HourOfDay, ...] = ()
            for ago in range(days, 0, -1):
                past = with_hour(past, HourOfDay((START - timedelta(days=ago)).date(), (per_s,) * 12))
            told = [{"day": h.day.isoformat(), "per_s": list(h.per_s)} for h in past]
            self.latest.put(LatestValue(self.subject(hour), {"days": told}, "kafka", START - timedelta(days=1)))

    def subject(self, hour: int) -> Subject:
        return Subject(f"topic-rates-{hour:02d}", UID, "steady")

    def kept(self, hour: int) -> list[Mapping[str, Any]]:
        row = self.latest.get(self.subject(hour))
        return [] if row is None else list(row.value["days"])

    def known(self) -> LearnedBand | NotJudged:
        return learned_now(self.latest, UID, "steady", self.now)


def test_each_hour_is_kept_once_it_is_over_and_not_before() -> None:
    scene = Learning()
    scene.minutes(94, per_s=1000)  # to 11:24
    assert (scene.kept(9), scene.kept(10)) == ([], [])
    scene.minutes(6, per_s=1000)
    (day,) = scene.kept(10)
    assert day["day"] == "2026-03-16"
    assert day["per_s"] == [1000.0] * 12
    assert scene.kept(9) == []  # less than half of it was seen
    assert scene.known() == NotJudged("not learned yet: 0 of 7 days of this hour are known", is_known=False)


def test_nothing_is_judged_before_a_week_is_known_whatever_comes() -> None:
    scene = Learning(days=6)
    assert scene.minutes(60, per_s=5) == []


@pytest.mark.parametrize(("per_s", "side"), [(500, "below"), (2000, "above")])
def test_a_rate_that_halves_or_doubles_is_found_after_three_windows_and_over_when_it_is_back(
    per_s: float, side: str
) -> None:
    scene = Learning(days=9)
    assert scene.minutes(40, per_s=1000) == []
    minutes = 1
    while not (there := scene.minutes(1, per_s=per_s)) and minutes < 40:
        minutes += 1
    assert 10 < minutes <= 20
    assert f"{side} what was learned from 9 days: 750 to 1250 records/s at this hour of the day" in there[0].reason
    (told,) = scene.minutes(6, per_s=per_s)
    assert told.words.endswith(
        "take `rate.learn` out for two minutes where this is usual from here on: what was learned is forgotten then"
    )
    (over,) = scene.minutes(30, per_s=1000)
    assert over.is_over


def test_a_rate_that_stays_is_never_found_through_the_hours_of_two_days() -> None:
    scene = Learning(days=9)
    for _ in range(48):
        assert scene.minutes(60, per_s=1000) == []
    band = scene.known()
    assert isinstance(band, LearnedBand)
    assert len(scene.kept(12)) == 11


@pytest.mark.parametrize("after", [30, 45, 55, 60, 64, 67])  # it begins between 10:20 and 10:57
def test_nothing_is_learned_while_it_is_odd_not_even_from_the_windows_before_it_was_found(after: int) -> None:
    scene = Learning(days=9)
    scene.minutes(after, per_s=1000)
    (found,) = scene.minutes(180, per_s=400)
    assert not found.is_over
    assert [len(scene.kept(hour)) for hour in (10, 11, 12)] == [9, 9, 9]
    scene.minutes(200, per_s=1000)
    assert scene.kept(15)[-1]["per_s"] == [1000.0] * 12


def test_nothing_is_learned_while_kedge_is_at_work_there_nor_right_after() -> None:
    scene = Learning()
    scene.minutes(10, per_s=1000)  # to 10:00
    scene.fleet.view = view_with(version=2, drain=a_drain())
    scene.minutes(25, per_s=100)
    scene.fleet.view = view_with(version=3)
    scene.minutes(80, per_s=1000)
    (day,) = scene.kept(10)
    assert set(day["per_s"]) == {1000.0}
    assert 6 <= len(day["per_s"]) <= 7


def test_what_was_learned_outlives_the_server() -> None:
    scene = Learning(days=9)
    scene.minutes(20, per_s=1000)
    scene.reconciler = scene.made()
    (found,) = scene.minutes(30, per_s=300)
    assert "learned from 9 days" in found.reason


def test_two_servers_that_lead_in_turn_do_not_lose_each_others_hours() -> None:
    scene = Learning()
    first = scene.watch
    scene.minutes(105, per_s=1000)  # to 11:35
    scene.watch = scene.watching()
    scene.minutes(120, per_s=1000)
    second, scene.watch = scene.watch, first
    scene.minutes(24 * 60 - 120, per_s=1000)
    scene.watch = second
    scene.minutes(120, per_s=1000)
    assert [len(scene.kept(hour)) for hour in (10, 12)] == [2, 2]


def test_a_server_that_leads_again_after_a_day_does_not_take_back_what_another_learned_meanwhile() -> None:
    scene = Learning()
    first = scene.watch
    scene.minutes(60, per_s=1000)  # to 10:50, with most of the hour in memory
    scene.watch = scene.watching()
    scene.minutes(25 * 60, per_s=1000)  # to 11:50 of the next day
    scene.watch = first
    scene.minutes(2, per_s=1000)
    assert [day["day"] for day in scene.kept(10)] == ["2026-03-16", "2026-03-17"]


def test_what_was_done_while_nobody_looked_is_not_learned_from() -> None:
    scene = Learning()
    scene.minutes(42, per_s=1000)
    scene.kafka.end += 6 * 60 * 100  # a restart, say, of which this server saw nothing
    scene.now += timedelta(minutes=6)
    scene.minutes(60, per_s=1000)
    (day,) = scene.kept(10)
    assert set(day["per_s"]) == {1000.0}


def test_what_was_done_while_the_store_could_not_be_read_is_not_learned_from() -> None:
    """Each of those rounds began, and none of them saw what Kedge was doing."""
    scene = Learning()
    scene.minutes(42, per_s=1000)
    read = scene.latest.get

    def fails(subject: Subject) -> LatestValue | None:
        raise StoreUnavailable("the database is away")

    scene.latest.get = fails  # type: ignore[method-assign]
    for _ in range(6):
        scene.kafka.end += 60 * 100  # a restart, say, that is over before the store can be read again
        scene.now += timedelta(minutes=1)
        with pytest.raises(StoreUnavailable):
            scene.watch.poll()
    scene.latest.get = read  # type: ignore[method-assign]
    scene.minutes(60, per_s=1000)
    (day,) = scene.kept(10)
    assert set(day["per_s"]) == {1000.0}


def test_an_anomaly_ends_where_what_it_was_held_against_is_too_old() -> None:
    scene = Learning(days=9)
    (found,) = scene.minutes(30, per_s=300)
    scene.now += timedelta(days=25)
    (over,) = scene.minutes(30, per_s=300)
    assert (over.id, over.is_over) == (found.id, True)


def test_one_that_is_open_stays_through_an_hour_that_is_not_stable() -> None:
    scene = Learning(days=9)
    unstable = [{"day": f"2026-03-{n:02d}", "per_s": [500.0, 1500.0] * 6} for n in range(6, 16)]
    scene.latest.put(LatestValue(scene.subject(11), {"days": unstable}, "kafka", START))
    scene.minutes(30, per_s=1000)
    (found,) = scene.minutes(60, per_s=300)
    (still,) = scene.minutes(35, per_s=1000)  # to 11:55
    assert (still.id, still.is_over) == (found.id, False)
    (over,) = scene.minutes(30, per_s=1000)
    assert over.is_over


def test_a_topic_that_learns_no_more_is_forgotten_and_its_anomaly_ends() -> None:
    scene = Learning(days=9)
    assert scene.minutes(30, per_s=300)
    scene.fleet.view = view_with(learns=False, version=2)
    asked = len(scene.kafka.asked)
    (over,) = scene.minutes(10, per_s=300)
    assert over.is_over
    assert len(scene.kafka.asked) == asked
    assert all(scene.kept(hour) == [] for hour in range(24))
    scene.fleet.view = view_with(version=3)
    assert len(scene.minutes(60, per_s=300)) == 1
    assert scene.known() == NotJudged("not learned yet: 0 of 7 days of this hour are known", is_known=False)


def test_a_server_that_leads_again_forgets_what_another_learned_where_nobody_asks_for_it_now() -> None:
    scene = Learning(view_with(learns=False))
    scene.minutes(5, per_s=1000)
    scene.teach(9, 1000.0)  # by the other, while it led
    scene.now += timedelta(days=1)
    scene.minutes(1, per_s=1000)
    assert all(scene.kept(hour) == [] for hour in range(24))


def test_of_a_cluster_that_cannot_be_read_nothing_is_forgotten() -> None:
    scene = Learning(changed_view(view_with(learns=False), unreadable="a newer event"), days=9)
    scene.minutes(5, per_s=1000)
    assert len(scene.kept(3)) == 9


def test_brokers_that_do_not_answer_teach_nothing_and_find_nothing() -> None:
    scene = Learning(days=9)
    scene.minutes(30, per_s=1000)
    scene.kafka.silent = True
    assert scene.minutes(120, per_s=0) == []
    assert [len(scene.kept(hour)) for hour in (10, 11)] == [9, 9]


def test_a_row_of_another_release_is_learned_anew() -> None:
    scene = Learning()
    scene.latest.put(LatestValue(scene.subject(10), {"days": [{"week": 3}]}, "kafka", START))
    scene.minutes(100, per_s=1000)
    assert len(scene.kept(10)) == 1


def test_the_bands_of_a_cluster_tell_which_are_to_be_learned() -> None:
    assert (bands(view_with()), learning(view_with())) == ({"steady": None}, frozenset({"steady"}))
    assert (bands(view_with(learns=False)), learning(a_view())) == ({}, frozenset())


def test_where_nobody_learns_nothing_is_read_after_the_first_round() -> None:
    scene = Learning(a_view())
    scene.minutes(1, per_s=0)
    scene.latest.of_kind = lambda kind: pytest.fail(kind)  # type: ignore[method-assign]
    scene.watch.poll()
    assert scene.now > NOW or scene.kafka.asked == []
