"""The stories of disks that are nearly full (`test_golden_rolls` tells how stories are compared)."""

from collections.abc import Callable

import pytest

from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.crashes import Crashes
from tests.sim.world import World

OWN = 50_000_000.0


def fill(world: World, broker: int, share: float) -> None:
    """What is not Kafka's takes so much of this broker's disk that this share is in use."""
    total = world.kafka.snapshot().log_dirs[broker].total_bytes
    world.kafka.on_disk.taken[broker] = 0
    world.kafka.on_disk.taken[broker] = world.kafka.on_disk.free_bytes(broker) - int((1 - share) * total)
    world.disturbed()


def _wait(world: World, ticks: int = 65) -> None:
    for _ in range(ticks):
        world.tick()


def _protected(world: World, disks: str, own: float | None) -> None:
    world.declare(a_document(disks=disks))
    world.converge()
    world.kafka.default_producer_rate = own
    fill(world, 1001, 0.96)
    world.run(until=lambda w: w.kafka.default_producer_rate != own, ticks=200)
    assert world.view().conditions["DiskNearlyFull"].reason == "ProducersSlowed"
    fill(world, 1001, 0.92)
    _wait(world)
    assert world.kafka.default_producer_rate != own, "it is not over yet"
    fill(world, 1001, 0.7)
    world.run(until=lambda w: w.kafka.default_producer_rate == own, ticks=200)
    world.converge(ticks=200)
    _wait(world)
    assert not world.view().conditions["DiskNearlyFull"].status
    assert world.view().settings.producer_quota is None


def producers_are_slowed_before_a_disk_is_full(world: World) -> None:
    """A default quota that somebody had set comes back to the letter."""
    _protected(world, ", protect: quota", OWN)


def full_disk_whose_spec_only_tells(world: World) -> None:
    world.declare(a_document())
    world.converge()
    world.kafka.default_producer_rate = OWN
    fill(world, 1001, 0.97)
    _wait(world)
    assert world.view().conditions["DiskNearlyFull"].reason == "NearlyFull"
    assert world.kafka.default_producer_rate == OWN
    fill(world, 1001, 0.5)
    _wait(world)
    assert not world.view().conditions["DiskNearlyFull"].status


STORIES: tuple[Callable[[World], None], ...] = (
    producers_are_slowed_before_a_disk_is_full,
    full_disk_whose_spec_only_tells,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.__name__)
def test_a_story_is_told_as_recorded(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)


def _without_one_before(world: World) -> None:
    _protected(world, ", protect: quota", None)
    assert len([r for r in world.history() if r.type == "producer_quota.lowered"]) == 1


CRASHES = Crashes(_without_one_before)
QUOTA = [n for n, name in enumerate(CRASHES.points, start=1) if "producer_quota" in name]


@pytest.mark.parametrize("point", QUOTA, ids=CRASHES.id_of)
def test_what_was_there_before_comes_back_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)
