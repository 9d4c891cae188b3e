"""Keys that callers gave their writes: one suite over memory, SQLite and PostgreSQL."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.api.idempotency_keys import KEPT_FOR, CallKey, CallKeys, SqlCallKeys
from tests.fakes.call_keys import MemoryCallKeys

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIRST = CallKey("id", "request", NOW)


@pytest.fixture
def keys(engine_or_memory: Engine | None) -> CallKeys:
    return MemoryCallKeys() if engine_or_memory is None else SqlCallKeys(engine_or_memory)


def test_the_first_one_is_new_and_the_next_finds_it(keys: CallKeys) -> None:
    assert keys.claim(FIRST) is None
    assert keys.claim(CallKey("id", "another", NOW)) == FIRST
    keys.settle("id", 200)
    assert keys.claim(FIRST) == CallKey("id", "request", NOW, 200)
    assert keys.claim(CallKey("other", "request", NOW)) is None


def test_one_that_is_forgotten_is_new_again(keys: CallKeys) -> None:
    keys.claim(FIRST)
    keys.forget("id")
    keys.settle("id", 200)
    assert keys.claim(FIRST) is None


def test_it_is_kept_for_a_week(keys: CallKeys) -> None:
    keys.claim(FIRST)
    late = NOW + KEPT_FOR
    assert keys.claim(CallKey("id", "later", late - timedelta(seconds=1))) == FIRST
    assert keys.claim(CallKey("id", "later", late)) is None


def test_of_many_at_once_one_is_new(keys: CallKeys) -> None:
    found: list[CallKey | None] = []
    threads = [threading.Thread(target=lambda: found.append(keys.claim(FIRST))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one for one in found if one is None] == [None]
    assert len(found) == 8
