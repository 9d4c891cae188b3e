"""What a server remembers is walked by the garbage collector once; what becomes garbage later is found all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from controlplane.runtime.gc_tuning import COUNTED_EVERY_S, EARLY, ShortWalks
from planner.observed import PartitionSeen, TopicPartition

# The collector walks all that the process holds, which in a suite is what thousands of tests left.
pytestmark = pytest.mark.timeout(600)

MANY = 20_000


class Knot:
    """Holds itself: only the collector finds it."""

    def __init__(self) -> None:
        self.itself = self


class Hours:
    """A clock that stands still until it is put on by an hour."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def pass_one(self) -> None:
        self.now_s += COUNTED_EVERY_S


@pytest.fixture
def hours() -> Hours:
    return Hours()


@pytest.fixture
def walks(hours: Hours) -> Iterator[ShortWalks]:
    begun = ShortWalks(hours).begin()
    yield begun
    begun.end()


def remembered(count: int) -> list[PartitionSeen]:
    return [PartitionSeen(TopicPartition("orders", n), 1000, (1000,), (1000,), 1) for n in range(count)]


def walked() -> int:
    """Objects the next walk of the oldest generation goes through."""
    return sum(len(gc.get_objects(generation)) for generation in range(3))


def test_what_outlived_a_walk_is_not_walked_again(walks: ShortWalks) -> None:
    kept = remembered(MANY)
    gc.collect()
    assert gc.get_freeze_count() >= len(kept)
    assert walked() < MANY // 10


def test_a_fleet_that_is_read_in_is_walked_in_small_parts(walks: ShortWalks) -> None:
    longest, kept = 0, []
    for _ in range(40):
        kept.append(remembered(MANY // 20))
        longest = max(longest, walked())
    assert longest < MANY * 2, "of 2 objects for each of 40,000 partitions"
    assert gc.get_freeze_count() > MANY


def test_what_is_frozen_is_freed_as_soon_as_nobody_holds_it(walks: ShortWalks) -> None:
    kept = remembered(2 * MANY)
    gc.collect()
    frozen = gc.get_freeze_count()
    kept.clear()
    assert gc.get_freeze_count() <= frozen - 2 * MANY


def test_a_knot_that_was_in_use_at_a_walk_is_found_in_the_hour_in_which_the_heap_has_grown(
    walks: ShortWalks, hours: Hours
) -> None:
    knot = Knot()
    seen = weakref.ref(knot)
    hours.pass_one()
    gc.collect()  # counted for the first time
    del knot
    gc.collect()
    assert seen() is not None, "nothing walks it now"
    kept = remembered(gc.get_freeze_count() // 5)  # two objects each
    hours.pass_one()
    gc.collect()  # counted: more by two fifths
    gc.collect()
    assert seen() is None
    assert kept
    gc.collect()
    assert walked() < MANY // 10, "frozen again after everything was walked"


def test_a_heap_that_has_not_grown_is_not_walked_as_a_whole(walks: ShortWalks, hours: Hours) -> None:
    knot = Knot()
    seen = weakref.ref(knot)
    for _ in range(4):
        hours.pass_one()
        gc.collect()
    del knot
    gc.collect()
    assert seen() is not None


def test_at_the_end_the_collector_is_as_it_was_before() -> None:
    before, callbacks = gc.get_threshold(), list(gc.callbacks)
    begun = ShortWalks().begin()
    assert gc.get_threshold() == (*before[:2], EARLY)
    assert gc.get_freeze_count() > 0
    begun.end()
    assert (gc.get_threshold(), gc.callbacks, gc.get_freeze_count()) == (before, callbacks, 0)
