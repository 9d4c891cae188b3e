"""The stories of moves between the disks of a broker, told and compared as those of rolls are."""

from collections.abc import Callable

import pytest

from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.asking import ask_for_disk_moves, cancel_disk_moves
from tests.sim.crashes import Crashes
from tests.sim.world import World

SIZE = 50_000_000


def _born(world: World, *, mib_per_s: int = 20, share: float = 0.0) -> int:
    """Three brokers with two disks each; the id of the one in zone b. `share`: how much of a disk one log takes."""
    world.declare(a_document(disks=", count: 2", throttle=f", throttleMibPerS: {mib_per_s}"))
    world.converge()
    disk = world.kafka.snapshot().log_dirs[1001].dirs[0].total_bytes
    size = int(disk * share) or SIZE
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=size)
    for _ in range(3):
        world.tick()
    return world.view().instances["brokers-b-0.g1"].service_id


def _held(world: World, broker: int) -> dict[str, int]:
    """Replicas by the volume they are on."""
    return {d.path.split("/")[-2]: len(d.replicas) for d in world.kafka.snapshot().log_dirs[broker].dirs}


def disk_is_emptied(world: World) -> None:
    """Two replicas at a time under a throttle; nothing crosses the network, and nobody leaves an ISR."""
    broker = _born(world)
    moved_before, lists = world.kafka.bytes_moved, {p.name: p.replicas for p in world.kafka.partitions()}
    ask_for_disk_moves(world, broker, "data2", reason="it is to go")
    world.converge()
    assert _held(world, broker) == {"data": 12, "data2": 0}
    assert world.kafka.bytes_moved == moved_before
    assert {p.name: p.replicas for p in world.kafka.partitions()} == lists
    assert world.kafka.snapshot().throttles.log_dirs_rate == {}
    assert world.kafka.on_disk.moved_bytes == pytest.approx(6 * SIZE)


def disks_are_evened_out(world: World) -> None:
    """What was emptied fills again by as much as evens the two out."""
    broker = _born(world, mib_per_s=1000, share=0.04)
    ask_for_disk_moves(world, broker, "data2", reason="a test")
    world.converge()
    assert _held(world, broker) == {"data": 12, "data2": 0}
    ask_for_disk_moves(world, broker, "", reason="it stays after all")
    world.converge()
    assert abs(_held(world, broker)["data"] - _held(world, broker)["data2"]) <= 2


def emptying_is_cancelled(world: World) -> None:
    """What moves arrives, the others stay, and the throttle goes."""
    broker = _born(world)
    ask_for_disk_moves(world, broker, "data2", reason="it is to go")
    world.run(until=lambda w: w.kafka.on_disk.is_moving, ticks=50)
    cancel_disk_moves(world, broker)
    world.converge()
    assert _held(world, broker) == {"data": 8, "data2": 4}
    assert world.kafka.snapshot().throttles.log_dirs_rate == {}


STORIES = (disk_is_emptied, disks_are_evened_out, emptying_is_cancelled)


@pytest.mark.parametrize("scenario", STORIES)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


CRASHES = Crashes(disk_is_emptied)


def test_a_server_that_is_killed_in_between_loses_nothing_and_does_nothing_twice() -> None:
    first = next(n for n, name in enumerate(CRASHES.points, start=1) if name.endswith("set_log_dirs_throttle"))
    for point in range(first, len(CRASHES.points) + 1):
        CRASHES.at(point)
