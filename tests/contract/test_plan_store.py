"""Plans under their hash: what comes back is what was put, or nothing."""

import hashlib
import logging

import pytest
from sqlalchemy import Engine, text

from controlplane.storage.plan_store import PlanStore, SqlPlanStore
from events.engine import writing
from tests.fakes.plans import MemoryPlanStore

BODY = bytes(range(256)) * 40


@pytest.fixture
def plans(engine_or_memory: Engine | None) -> PlanStore:
    return MemoryPlanStore() if engine_or_memory is None else SqlPlanStore(engine_or_memory)


def test_a_plan_comes_back_by_its_hash(plans: PlanStore) -> None:
    key = plans.put(BODY)
    assert key == hashlib.sha256(BODY).hexdigest()
    assert plans.get(key) == BODY


def test_an_empty_plan_is_a_plan(plans: PlanStore) -> None:
    assert plans.get(plans.put(b"")) == b""


def test_putting_twice_is_putting_once(plans: PlanStore) -> None:
    assert plans.put(BODY) == plans.put(BODY)


def test_a_missing_plan_is_none(plans: PlanStore) -> None:
    assert plans.get("0" * 64) is None


def test_a_corrupt_plan_is_none_is_logged_and_is_repaired_by_putting_it_again(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    plans = SqlPlanStore(engine)
    key = plans.put(BODY)
    with writing(engine) as transaction:
        transaction.execute(text("UPDATE plan_blob SET body = :body"), {"body": b"something else"})
    with caplog.at_level(logging.ERROR):
        assert plans.get(key) is None
    assert key in caplog.text
    assert "corrupt" in caplog.text
    plans.put(BODY)
    assert plans.get(key) == BODY
