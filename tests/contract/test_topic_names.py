"""Names of topics at rest: what was kept is read back, and the hash tells whether to read at all."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.background.topic_names.record import hash_of, keep_names, kept_hashes, kept_names
from controlplane.storage.latest_values import LatestStore, SqlLatestStore
from events.ids import ClusterUid
from tests.fakes.latest_values import MemoryLatestStore

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORDERS, LEDGER = ClusterUid("u1"), ClusterUid("u2")


@pytest.fixture
def latest(engine_or_memory: Engine | None) -> LatestStore:
    return MemoryLatestStore() if engine_or_memory is None else SqlLatestStore(engine_or_memory)


def test_the_newest_names_are_read_back_with_their_hash(latest: LatestStore) -> None:
    many = tuple(f"topic-{n:05d}" for n in range(10_000))
    keep_names(latest, ORDERS, ("payments", "refunds"), START)
    keep_names(latest, LEDGER, ("payments",), START)
    keep_names(latest, ORDERS, many, START + timedelta(seconds=1))
    assert kept_names(latest, ORDERS) == many
    assert kept_hashes(latest) == {ORDERS: hash_of(many), LEDGER: hash_of(["payments"])}


def test_a_cluster_nobody_looked_at_has_no_names(latest: LatestStore) -> None:
    assert kept_names(latest, ORDERS) is None
    assert kept_hashes(latest) == {}
