"""What every event store guarantees, run over memory, SQLite and PostgreSQL."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine

from events.envelope import NewEvent, Origin, Recorded
from events.errors import EventIdTaken, StreamConflict
from events.sql_store import SqlEventStore
from events.store import EventStore
from tests.fakes.event_store import MemoryEventStore
from tests.present import present

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
PERSON = Origin("person:ada")


@pytest.fixture
def store(engine_or_memory: Engine | None) -> EventStore:
    if engine_or_memory is None:
        return MemoryEventStore(clock=lambda: NOON)
    return SqlEventStore(engine_or_memory, clock=lambda: NOON)


def event(event_id: str, **data: object) -> NewEvent:
    return NewEvent(event_id, "test.happened", 1, data)


def append(store: EventStore, stream: str, *ids: str, at: int = 0, origin: Origin = PERSON) -> list[Recorded]:
    return store.append(stream, [event(one) for one in ids], expected_version=at, origin=origin)


def test_an_empty_store_has_head_zero_and_nothing_to_read(store: EventStore) -> None:
    assert store.head() == 0
    assert store.read_all() == []
    assert store.read_stream("a") == []
    assert list(store.iterate_all()) == []


def test_what_was_appended_is_read_back_whole(store: EventStore) -> None:
    origin = Origin("git:fleet", cause="earlier", command_id="command", epoch=7)
    data = {"text": "ä \U0001f6a2 \\ \" '%s :name", "n": 2**53, "x": 0.1, "list": [1, None, True], "deep": {"k": {}}}
    appended = store.append("a", [NewEvent("one", "test.happened", 3, data)], expected_version=0, origin=origin)
    expected = Recorded(1, "a", 1, "one", "test.happened", 3, data, "git:fleet", "earlier", "command", 7, NOON)
    assert appended == [expected]
    assert store.read_stream("a") == [expected]
    assert store.read_all() == [expected]
    assert present(store.read_all()[0].recorded_at.utcoffset()).total_seconds() == 0


def test_versions_count_per_stream_and_positions_over_all(store: EventStore) -> None:
    append(store, "a", "1", "2")
    append(store, "b", "3")
    append(store, "a", "4", at=2)
    assert [(one.position, one.stream, one.version) for one in store.read_all()] == [
        (1, "a", 1),
        (2, "a", 2),
        (3, "b", 1),
        (4, "a", 3),
    ]
    assert [one.event_id for one in store.read_stream("a", after_version=1)] == ["2", "4"]
    assert store.head() == 4


def test_reading_all_is_paged_by_position(store: EventStore) -> None:
    append(store, "a", *map(str, range(10)))
    assert [one.position for one in store.read_all(3, 4)] == [4, 5, 6, 7]
    assert [one.position for one in store.iterate_all(7)] == [8, 9, 10]
    assert store.read_all(10) == []


def test_iterating_ends_at_the_head_of_the_time_of_the_call(store: EventStore) -> None:
    append(store, "a", "1", "2")
    events = store.iterate_all()
    append(store, "a", "3", at=2)
    assert [one.position for one in events] == [1, 2]


def test_an_append_of_nothing_writes_nothing(store: EventStore) -> None:
    assert store.append("a", [], expected_version=5, origin=PERSON) == []
    assert store.head() == 0


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_a_wrong_expected_version_is_a_conflict_that_says_both_versions(store: EventStore, expected: int) -> None:
    append(store, "a", "1", "2")
    with pytest.raises(StreamConflict) as conflict:
        append(store, "a", "new", at=expected)
    assert (conflict.value.stream, conflict.value.expected, conflict.value.actual) == ("a", expected, 2)
    assert store.head() == 2


def test_a_stream_that_must_exist_but_does_not_is_a_conflict(store: EventStore) -> None:
    with pytest.raises(StreamConflict):
        append(store, "a", "1", at=1)
    assert store.head() == 0


def test_a_refused_batch_leaves_nothing_and_no_gap(store: EventStore) -> None:
    append(store, "a", "1")
    with pytest.raises(EventIdTaken):
        append(store, "a", "2", "1", at=1)
    assert [one.event_id for one in store.read_all()] == ["1"]
    assert append(store, "a", "3", at=1)[0].position == 2


def test_data_that_is_no_json_is_refused_whole(store: EventStore) -> None:
    with pytest.raises((TypeError, ValueError)):
        store.append("a", [event("1"), event("2", at=NOON)], expected_version=0, origin=PERSON)
    with pytest.raises(ValueError, match="JSON"):
        store.append("a", [event("1", x=float("nan"))], expected_version=0, origin=PERSON)
    assert store.head() == 0
    assert append(store, "a", "3")[0].position == 1


class TestIdempotence:
    def test_the_same_event_ids_again_answer_as_the_first_time(self, store: EventStore) -> None:
        first = append(store, "a", "1", "2")
        append(store, "a", "3", at=2)
        assert append(store, "a", "1", "2", at=0) == first
        assert append(store, "a", "1", "2", at=3) == first
        assert store.head() == 3

    def test_the_same_command_again_answers_as_the_first_time_even_with_other_events(self, store: EventStore) -> None:
        first = append(store, "a", "1", "2", origin=Origin("person:ada", command_id="apply-1"))
        again = append(store, "a", "7", at=2, origin=Origin("person:ada", command_id="apply-1"))
        assert again == first
        assert store.head() == 2

    def test_a_command_id_counts_within_its_stream_only(self, store: EventStore) -> None:
        command = Origin("person:ada", command_id="apply-1")
        append(store, "a", "1", origin=command)
        append(store, "b", "2", origin=command)
        assert store.head() == 2

    def test_events_without_a_command_are_not_taken_for_each_other(self, store: EventStore) -> None:
        append(store, "a", "1")
        append(store, "a", "2", at=1)
        append(store, "b", "3")
        assert store.head() == 3

    def test_an_id_recorded_on_another_stream_is_refused(self, store: EventStore) -> None:
        append(store, "a", "1")
        with pytest.raises(EventIdTaken, match="1"):
            append(store, "b", "1")
        assert store.read_stream("b") == []

    def test_an_id_twice_in_one_batch_is_refused(self, store: EventStore) -> None:
        with pytest.raises(EventIdTaken):
            append(store, "a", "1", "1")
        assert store.head() == 0

    def test_a_retry_after_a_lost_reply_and_a_rivals_append_finds_its_own_events(self, store: EventStore) -> None:
        append(store, "a", "mine", origin=Origin("converger", epoch=1))  # the reply to this one was lost
        append(store, "a", "rival", at=1)
        again = append(store, "a", "mine", origin=Origin("converger", epoch=2))
        assert [(one.event_id, one.version, one.epoch) for one in again] == [("mine", 1, 1)]


class TestConcurrency:
    def test_of_fifty_appends_at_one_version_exactly_one_wins(self, store: EventStore) -> None:
        append(store, "a", "first")
        start = threading.Barrier(50)

        def attempt(number: int) -> str:
            start.wait()
            try:
                append(store, "a", f"rival-{number}", at=1)
            except StreamConflict as conflict:
                return f"expected {conflict.expected}, found {conflict.actual}"
            return "won"

        with ThreadPoolExecutor(50) as pool:
            outcomes = list(pool.map(attempt, range(50)))
        assert outcomes.count("won") == 1
        assert outcomes.count("expected 1, found 2") == 49
        assert [one.version for one in store.read_stream("a")] == [1, 2]
        assert store.head() == 2

    def test_the_same_command_from_ten_threads_is_recorded_once(self, store: EventStore) -> None:
        start = threading.Barrier(10)

        def attempt(number: int) -> list[Recorded]:
            start.wait()
            return append(store, "a", f"try-{number}", origin=Origin("person:ada", command_id="apply-1"))

        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(attempt, range(10)))
        assert store.head() == 1
        assert all(answer == answers[0] for answer in answers)

    def test_batches_of_concurrent_writers_never_interleave(self, store: EventStore) -> None:
        def write(writer: int) -> None:
            for batch in range(10):
                ids = [f"{writer}-{batch}-{part}" for part in range(3)]
                append(store, f"stream-{writer}", *ids, at=batch * 3)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        events = list(store.iterate_all())
        assert [one.position for one in events] == list(range(1, 241))
        for start in range(0, 240, 3):
            batch = [one.event_id.rsplit("-", 1)[0] for one in events[start : start + 3]]
            assert len(set(batch)) == 1, batch
