"""Placements of topics: what is written is read back, newer records stay, clusters know nothing of each other."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.background.topic_placement.store import PlacementStore, SqlPlacementStore, TopicRecord
from events.ids import ClusterUid
from tests.fakes.placements import MemoryPlacementStore

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORDERS, LEDGER = ClusterUid("c1"), ClusterUid("c2")


@pytest.fixture
def store(engine_or_memory: Engine | None) -> PlacementStore:
    return MemoryPlacementStore() if engine_or_memory is None else SqlPlacementStore(engine_or_memory)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def record(topic: str, sha256: str = "aa", seconds: float = 0) -> TopicRecord:
    return TopicRecord(topic, sha256, bytes(range(256)), at(seconds))


def test_what_was_kept_is_read_back_whole_by_name(store: PlacementStore) -> None:
    store.keep(ORDERS, [record("b"), record("a_Ü"), record("B.1")], (), START)
    assert store.records(ORDERS) == [record("B.1"), record("a_Ü"), record("b")]
    assert store.hashes(ORDERS) == {"B.1": "aa", "a_Ü": "aa", "b": "aa"}
    assert [r.topic for r in store.records(ORDERS, {"b", "a_Ü", "nothing"})] == ["a_Ü", "b"]
    assert store.records(ORDERS, ()) == []


def test_a_topic_is_replaced_and_others_stay(store: PlacementStore) -> None:
    store.keep(ORDERS, [record("a"), record("b")], (), START)
    store.keep(ORDERS, [record("a", "bb", 5)], (), at(5))
    assert store.hashes(ORDERS) == {"a": "bb", "b": "aa"}


def test_what_is_gone_is_taken_out_by_the_hundred(store: PlacementStore) -> None:
    names = [f"t{n:04}" for n in range(700)]
    store.keep(ORDERS, [record(name) for name in names], (), START)
    store.keep(ORDERS, [], names[1:], at(5))
    assert store.hashes(ORDERS) == {"t0000": "aa"}


def test_a_server_that_led_before_overwrites_and_takes_out_nothing_newer(store: PlacementStore) -> None:
    store.keep(ORDERS, [record("a", "new", 10)], (), at(10))
    store.keep(ORDERS, [record("a", "old", 5), record("b", "old", 5)], (), at(5))
    store.keep(ORDERS, [], ["a"], at(5))
    assert store.hashes(ORDERS) == {"a": "new", "b": "old"}


def test_clusters_know_nothing_of_each_other_and_are_dropped_whole(store: PlacementStore) -> None:
    store.keep(ORDERS, [record("a")], (), START)
    store.keep(LEDGER, [record("a", "cc"), record("b")], (), START)
    assert store.clusters() == {ORDERS, LEDGER}
    store.drop(LEDGER)
    assert store.clusters() == {ORDERS}
    assert store.records(LEDGER) == []
    assert store.hashes(ORDERS) == {"a": "aa"}


def test_nothing_to_write_is_no_transaction_and_no_cluster(store: PlacementStore) -> None:
    store.keep(ORDERS, [], (), START)
    assert store.clusters() == frozenset()
