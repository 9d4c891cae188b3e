"""The stories of brokers that are restarted together, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable
from typing import Any

import pytest

from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.crashes import Crashes
from tests.sim.world import World

TWO: dict[str, Any] = {"brokers": 6, "max_unavailable": 2, "parallel": ", maxParallelRestarts: 2"}
OLD, NEW = ", config: {num.partitions: 3}", ", config: {num.partitions: 6}"


def _born(world: World, *, rf: int = 3, min_isr: int = 2, **spec: Any) -> None:
    world.declare(a_document(**{**TWO, "config": OLD, **spec}))
    world.converge(ticks=300)
    world.kafka.create_topic("orders", partitions=12, rf=rf, min_isr=min_isr, bytes_per_partition=50_000_000)


def _batches(world: World) -> list[tuple[str, ...]]:
    """Keys of what was asked to start anew at the same time, in order."""
    found: list[tuple[str, ...]] = []
    for r in world.history():
        if r.type == "restart.requested":
            key = r.data["key"].removesuffix(".g1")
            found[len(found) :] = [(key,)] if not r.data.get("beside") else [(*found.pop(), key)]
    return found


def _told(world: World) -> set[str]:
    return {i.settings["num.partitions"] for i in world.view().alive()}


def _starting(world: World, key: str) -> bool:
    process = world.machines.vms[key].process
    return process is not None and process.document.start_id == f"{key}-2" and not process.up


def brokers_of_a_rack_restart_together(world: World) -> None:
    """The first one alone, for it is watched; then two of a rack, and the controllers one by one."""
    _born(world)
    world.declare(a_document(**TWO, config=NEW))
    world.converge(ticks=200)
    assert _batches(world)[:4] == [
        ("brokers-a-0",),
        ("brokers-a-1",),
        ("brokers-b-0", "brokers-b-1"),
        ("brokers-c-0", "brokers-c-1"),
    ]
    assert [len(b) for b in _batches(world)[4:]] == [1, 1, 1]
    assert (_told(world), {i.start.count for i in world.view().alive()}) == ({"6"}, {2})


def asked_for_restarts_go_together(world: World) -> None:
    """Nothing is new to them, so nobody is watched: three times two brokers."""
    _born(world)
    keys = tuple(i.key for i in world.view().brokers())
    world.person(facts.RollingRestartRequested("request-1", keys, "asked by anna: new certificates"))
    world.converge(ticks=200)
    assert [len(b) for b in _batches(world)] == [2, 2, 2]


def partition_on_two_of_a_rack_keeps_them_apart(world: World) -> None:
    """With four replicas and a min ISR of three no partition can spare two."""
    _born(world, rf=4, min_isr=3)
    keys = tuple(i.key for i in world.view().brokers())
    world.person(facts.RollingRestartRequested("request-1", keys, "asked by anna: new certificates"))
    world.converge(ticks=300)
    assert [len(b) for b in _batches(world)] == [1] * 6


def one_of_two_does_not_come_back(world: World) -> None:
    """It gets its old settings back; the other one keeps the new ones, and nobody else is touched."""
    _born(world)
    world.declare(a_document(**TWO, config=NEW))
    world.run(until=lambda w: _starting(w, "brokers-b-1.g1"), ticks=200)
    process = world.machines.vms["brokers-b-1.g1"].process
    assert process is not None
    process.ready_at = 1e9  # it never gets to serving; its next start does
    world.run(until=lambda w: w.is_held(), ticks=300)
    for _ in range(20):
        world.tick()
    told = {i.key: i.settings["num.partitions"] for i in world.view().brokers()}
    assert (told["brokers-b-0.g1"], told["brokers-b-1.g1"], told["brokers-c-0.g1"]) == ("6", "3", "3")
    assert all(world.kafka.serves(i.service_id) for i in world.view().brokers())


def one_of_two_is_lost(world: World) -> None:
    """Its VM is gone in the middle of its restart: the other one is seen through, the lost one gets a successor."""
    _born(world)
    world.declare(a_document(**TWO, config=NEW))
    world.run(until=lambda w: len(w.view().settings.restarts) == 2, ticks=200)
    world.machines.power_cut("brokers-b-1.g1")
    world.disturbed()
    for _ in range(310):
        world.tick()
    world.converge(ticks=600)
    assert _told(world) == {"6"}


SCENARIOS: tuple[Callable[[World], None], ...] = (
    brokers_of_a_rack_restart_together,
    asked_for_restarts_go_together,
    partition_on_two_of_a_rack_keeps_them_apart,
    one_of_two_does_not_come_back,
    one_of_two_is_lost,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def _together(world: World) -> None:
    """A rolling restart in which every broker has company; in the middle of it the server dies."""
    asked_for_restarts_go_together(world)


CRASHES = Crashes(_together)
FIRST = next(n for n, name in enumerate(CRASHES.points, start=1) if "restart." in name)


@pytest.mark.parametrize("point", range(FIRST, len(CRASHES.points) + 1), ids=CRASHES.id_of)
def test_brokers_that_restart_together_are_seen_through_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)
