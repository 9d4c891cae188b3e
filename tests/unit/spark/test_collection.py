"""The collector stands still while a cluster is planned, and only then."""

import gc
from collections.abc import Iterator

import pytest

from spark.collection import uncollected


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


def test_nothing_is_collected_inside_and_everything_as_before_after_it() -> None:
    gc.enable()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_plan_that_fails_does_not_leave_the_collector_off() -> None:
    gc.enable()
    with pytest.raises(ValueError, match="a defect"), uncollected():
        raise ValueError("a defect")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()
