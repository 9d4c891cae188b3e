"""A broker that is emptied and has the only copy of something may freeze: nobody else can be copied from."""

from collections.abc import Callable

import pytest

from controlplane.cluster.lifecycle import Phase
from events import facts
from tests.builders import a_document
from tests.sim.world import World

OLD = "brokers-a-0.g1"


def _draining_alone(*, asked: bool) -> World:
    """Broker 1000 is emptied, for a roll or as a person asked, and has all there is of some partitions."""
    world = World()
    world.declare(a_document(healing="perDay: 20"))
    world.converge(ticks=200)
    world.kafka.create_topic("scratch", partitions=9, rf=1, min_isr=1, bytes_per_partition=500_000_000)
    if asked:
        world.person(facts.NodeReplaceRequested(OLD, "asked for by anna"))
    else:
        world.declare(a_document(healing="perDay: 20", version="4.2.0"))
    _tick_until(world, lambda: (drain := world.view().moves.drain) is not None and drain.progress.batch >= 0)
    assert world.view().instances[OLD].phase is Phase.DRAINING
    return world


def _tick_until(world: World, reached: Callable[[], bool]) -> None:
    for _ in range(400):
        if reached():
            return
        world.tick()
    raise AssertionError(world.story[-1])


@pytest.mark.parametrize("asked", [False, True], ids=["for a roll", "as a person asked"])
def test_one_that_freezes_with_the_only_copy_is_restarted(asked: bool) -> None:
    """The drain waited for it for ever: only those that stay were looked at."""
    world = _draining_alone(asked=asked)
    world.machines.breakdowns.freeze(world.machines, OLD)
    world.converge(ticks=1500)
    cures = [(r.data["key"], r.data["cure"]) for r in world.history() if r.type == "healing.requested"]
    assert cures == [(OLD, "restart")]
