"""Groups looked at for a person, watched for a while, kept as rows, told as a condition."""

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.consumer_groups.watch import GroupWatch, WatchGroups, watched
from controlplane.cluster.observed.consumer_groups import (
    GROUPS,
    GROUPS_NOTED,
    GroupNoted,
    GroupsNoted,
    kept_groups,
    kept_note,
    notes_of,
)
from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.consumers import consumers_stuck
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.latest_values import LatestValue, Subject
from events.spec.document import load_documents
from tests.builders import NOW, a_situation, a_spec, a_view, an_instance
from tests.fakes.kafka import FakeKafka
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.services import NoGroups

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class Room:
    """A cluster with one topic of two partitions, which `billing` reads."""

    def __init__(self) -> None:
        self.now = START
        self.latest = MemoryLatestStore()
        self.kafka = FakeKafka(clock=lambda: self.now)
        self.kafka.add_controller(100)
        self.kafka.add_broker(1000, "a")
        self.kafka.create_topic("clicks", partitions=2, rf=1)
        self.kafka.consumers.produce("clicks", 0, 10)
        self.kafka.consumers.join("billing", "clicks")
        self.kafka.consumers.commit("billing", "clicks", 0, 7)
        self.view = a_view(an_instance())
        self.service = GroupService(self.latest, lambda view: self.kafka, lambda: self.now)

    def views(self) -> list[ClusterView]:
        return [self.view]

    def catch_up(self) -> None: ...

    def watch(self, which: WatchGroups = "asked") -> GroupWatch:
        return GroupWatch(self.service, self, self.latest, lambda: self.now, which)

    def pass_time(self, seconds: float, *, records: int = 1) -> None:
        self.now += timedelta(seconds=seconds)
        self.kafka.consumers.produce("clicks", 0, records)

    @property
    def noted(self) -> GroupsNoted:
        noted = kept_note(self.latest, self.view.uid)
        assert noted is not None
        return noted


@pytest.fixture
def room() -> Room:
    return Room()


def test_who_asks_again_at_once_gets_the_look_there_is(room: Room) -> None:
    first = room.service.look(room.view)
    room.pass_time(9)
    assert room.service.look(room.view) == first
    assert room.kafka.consumers.asked == 1
    room.pass_time(1)
    later = room.service.look(room.view)
    assert (room.kafka.consumers.asked, later.groups[0].lag) == (2, 5)


def test_who_asks_again_at_once_gets_the_failure_there_was(room: Room) -> None:
    room.kafka.outage = True
    with pytest.raises(KafkaUnavailable):
        room.service.look(room.view)
    room.kafka.outage = False
    room.pass_time(9)
    with pytest.raises(KafkaUnavailable):
        room.service.look(room.view)
    room.pass_time(1)
    assert room.service.look(room.view).groups


def test_asking_prolongs_the_watch_though_there_is_a_look_already(room: Room) -> None:
    room.watch("always").poll()
    room.pass_time(5)
    assert room.noted.asked_at is None
    room.service.look(room.view)
    assert (room.noted.asked_at, room.kafka.consumers.asked) == (room.now, 1)


def test_a_look_is_kept_whole_and_in_short(room: Room) -> None:
    told = room.service.look(room.view)
    assert kept_groups(room.latest, room.view.uid) == told
    assert room.noted == GroupsNoted(START, START, (GroupNoted("billing", "Reading", 1, 2, 3),))


def test_a_row_another_release_wrote_is_read_as_none(room: Room) -> None:
    for kind in (GROUPS, GROUPS_NOTED):
        room.latest.put(LatestValue(Subject(kind, room.view.uid, "groups"), {"at": "soon"}, "kafka", START))
    assert kept_groups(room.latest, room.view.uid) is None
    assert notes_of(room.latest.of_kind(GROUPS_NOTED)) == {}
    assert room.service.look(room.view).groups


def test_groups_nobody_asked_for_are_not_watched(room: Room) -> None:
    room.watch().poll()
    assert room.kafka.consumers.asked == 0
    room.watch("always").poll()
    assert room.kafka.consumers.asked == 1


def test_groups_somebody_asked_for_are_watched_for_a_quarter_of_an_hour(room: Room) -> None:
    room.service.look(room.view)
    room.kafka.consumers.commit("billing", "clicks", 0, 11)
    for _ in range(20):
        room.pass_time(60, records=0)
        room.watch().poll()
    assert room.kafka.consumers.asked == 1 + 15
    assert room.noted.asked_at == START


def test_what_is_stuck_is_watched_until_it_moves_whoever_asked(room: Room) -> None:
    room.service.look(room.view)
    for _ in range(30):
        room.pass_time(60)
        room.watch().poll()
    assert room.kafka.consumers.asked == 31
    (stuck,) = room.noted.troubled
    assert (stuck.word, stuck.stuck, stuck.named, stuck.since) == ("Stuck", 1, ("clicks-0",), START)
    room.kafka.consumers.commit("billing", "clicks", 0, 40)
    for _ in range(3):
        room.pass_time(60)
        room.watch().poll()
    assert (room.noted.troubled, room.kafka.consumers.asked) == ((), 32)


def test_brokers_that_do_not_answer_do_not_stop_the_round(room: Room) -> None:
    room.kafka.outage = True
    room.watch("always").poll()
    assert kept_note(room.latest, room.view.uid) is None
    with pytest.raises(KafkaUnavailable):
        room.service.look(room.view)


def test_the_one_looked_at_longest_ago_is_the_first_of_a_round() -> None:
    uids = ("a" * 32, "b" * 32, "c" * 32)
    views = [a_view(an_instance(), uid=uid) for uid in uids]
    notes = {views[0].uid: GroupsNoted(START), views[1].uid: GroupsNoted(START - timedelta(minutes=1))}
    assert [v.uid[0] for v in watched(views, notes, "always", START)] == ["c", "b", "a"]
    assert watched(views, notes, "off", START) == []


def test_a_spec_asks_for_its_groups_to_be_watched_though_nobody_looked() -> None:
    text = a_spec().replace("spec:\n", "spec:\n  health: {watchGroups: true}\n", 1)
    watching = load_documents(text, file="").documents
    views = [a_view(an_instance(), uid="a" * 32), a_view(an_instance(), uid="b" * 32, document=watching[0])]
    assert [v.uid[0] for v in watched(views, {}, "asked", START)] == ["b"]
    assert watched(views, {}, "off", START) == []


def test_a_cluster_without_brokers_is_not_watched() -> None:
    assert watched([a_view(founding=None)], {}, "always", START) == []


def test_a_server_that_asks_no_brokers_says_so(room: Room) -> None:
    with pytest.raises(KafkaUnavailable, match="asks no brokers"):
        NoGroups().look(room.view)


STUCK = GroupNoted("billing", "Stuck", 1, 6, 9, stuck=2, named=("clicks-0", "clicks-1"), since=START)
UNREAD = GroupNoted("audit", "Unread", 1, 3, 0, unread=1, named=("audit-2",), since=START)


def test_groups_in_trouble_are_a_condition_that_names_them() -> None:
    told = consumers_stuck(a_situation(a_view(), groups=GroupsNoted(NOW, None, (UNREAD, STUCK))))
    assert told is not None
    assert (told.type, told.status, told.reason) == ("ConsumersStuck", True, "Several")
    assert "billing: it stands still in 2 of 6 partitions while their logs grow since 2026-01-01 12:00" in told.message
    assert "audit: none of its members reads 1 of 3 partitions it subscribes to" in told.message
    assert told.message.endswith("Next: kedge groups orders")


@pytest.mark.parametrize(("group", "reason"), [(STUCK, "Stuck"), (UNREAD, "Unread")])
def test_the_reason_is_what_all_of_them_have(group: GroupNoted, reason: str) -> None:
    told = consumers_stuck(a_situation(a_view(), groups=GroupsNoted(NOW, None, (group,))))
    assert told is not None
    assert told.reason == reason


def test_the_condition_ends_when_a_young_look_finds_nothing() -> None:
    told = consumers_stuck(a_situation(a_view(), groups=GroupsNoted(NOW)))
    assert told is not None
    assert (told.status, told.reason) == (False, "Free")


@pytest.mark.parametrize("noted", [None, GroupsNoted(NOW - timedelta(minutes=6)), GroupsNoted(NOW, silent=(1001,))])
def test_without_a_young_whole_look_the_condition_stays_as_it_is(noted: GroupsNoted | None) -> None:
    assert consumers_stuck(a_situation(a_view(), groups=noted)) is None
