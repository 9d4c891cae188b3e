"""What a server remembers is walked by the garbage collector once; what becomes garbage later is found all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from controlplane.garbage import ShortWalks, shorten_walks
from planner.observed import PartitionSeen, TopicPartition

MANY = 20_000


class Knot:
    """Holds itself: only the collector finds it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def walks() -> Iterator[ShortWalks]:
    callback = shorten_walks(MANY)
    for _ in range(3):  # what the process holds already is settled first
        gc.collect()
    callback._walks_all = True  # so the next walk freezes, whatever the one before did
    yield callback
    gc.callbacks.remove(callback)
    gc.unfreeze()


def remembered(count: int) -> list[PartitionSeen]:
    return [PartitionSeen(TopicPartition("orders", n), 1000, (1000,), (1000,), 1) for n in range(count)]


def test_what_outlived_a_walk_is_not_walked_again(walks: ShortWalks) -> None:
    kept = remembered(3 * MANY)
    gc.collect()
    assert gc.get_freeze_count() >= len(kept)
    gc.collect()
    assert len(gc.get_objects(2)) < MANY


def test_what_is_frozen_is_freed_as_soon_as_nobody_holds_it(walks: ShortWalks) -> None:
    kept = remembered(2 * MANY)
    gc.collect()
    frozen = gc.get_freeze_count()
    kept.clear()
    assert gc.get_freeze_count() <= frozen - 2 * MANY


def test_few_survivors_stay_where_every_walk_looks_at_them(walks: ShortWalks) -> None:
    gc.collect()
    before = gc.get_freeze_count()
    kept = remembered(MANY // 10)
    gc.collect()
    assert gc.get_freeze_count() <= before
    assert kept


def test_a_knot_that_was_in_use_while_it_was_frozen_is_found_once_the_heap_has_grown_by_half(
    walks: ShortWalks,
) -> None:
    knot = Knot()
    seen = weakref.ref(knot)
    kept = [remembered(3 * MANY)]
    gc.collect()
    del knot
    gc.collect()
    assert seen() is not None, "nothing walks it now"
    for _ in range(20):
        kept.append(remembered(3 * MANY))
        gc.collect()
        if seen() is None:
            break
    assert seen() is None
