"""The stories of changed JVM options, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from controlplane.cluster.fold import fold
from controlplane.cluster.view import empty_view
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from planner.rollout.diff import Change
from tests.builders import a_document, a_zookeeper_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.crashes import Crashes
from tests.sim.world import UID, World

BAD, WORDS = "-XX:+UseFooGC", "Unrecognized VM option 'UseFooGC'"


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _of(world: World, pool: str) -> set[tuple[str, ...]]:
    """What runs: the options each process of a pool was started with."""
    vms = (vm for key, vm in sorted(world.machines.vms.items()) if key.startswith(pool))
    return {vm.process.document.jvm_options for vm in vms if vm.process}


def _starts(world: World) -> list[int]:
    return sorted(i.start.count for i in world.view().alive())


def jvm_option_changed(world: World) -> None:
    """One pool alone: the first is watched, the others follow rack by rack, and every VM stays."""
    _born(world)
    world.declare(a_document(jvm="-XX:+UseZGC"))
    world.converge(ticks=200)
    assert (_of(world, "brokers"), _of(world, "controllers")) == ({("-XX:+UseZGC",)}, {()})
    assert _starts(world) == [1, 1, 1, 2, 2, 2]


def jvm_option_no_jvm_starts_with(world: World) -> None:
    """The first one does not come up: it gets the options it had, Java's words stand in the condition, and nobody else
    is touched until the next spec."""
    _born(world, join_deadline="20s")
    world.machines.refused_options = {BAD: WORDS}
    world.declare(a_document(jvm=BAD, join_deadline="20s"))
    world.run(until=lambda w: w.is_held(), ticks=300)
    for _ in range(10):
        world.tick()
    assert _of(world, "brokers") == {()}
    assert _starts(world) == [1, 1, 1, 1, 1, 3]
    refusal = world.view().settings.restart_refusal
    assert refusal is not None
    assert WORDS in refusal[1]
    world.declare(a_document(jvm="-XX:+UseZGC", join_deadline="20s"))
    world.converge(ticks=200)
    assert _of(world, "brokers") == {("-XX:+UseZGC",)}


def jvm_option_that_nobody_is_born_with(world: World) -> None:
    """A founding that no JVM comes up for: the very VMs start anew once the spec says something else."""
    world.machines.refused_options = {BAD: WORDS}
    world.declare(a_document(jvm=BAD))
    world.run(until=lambda w: w.is_held(), ticks=300)
    world.declare(a_document())
    world.converge(ticks=300)
    assert _of(world, "brokers") == {()}
    assert {i.planned.generation for i in world.view().alive()} == {1}


def jvm_option_and_version_changed(world: World) -> None:
    """New VMs come with it: one roll, and nothing is started anew after it."""
    _born(world)
    world.declare(a_document(jvm="-XX:+UseZGC", version="4.2.0"))
    world.converge(ticks=900)
    assert _of(world, "brokers") == {("-XX:+UseZGC",)}
    assert set(_starts(world)) == {1}


SCENARIOS: tuple[Callable[[World], None], ...] = (
    jvm_option_changed,
    jvm_option_no_jvm_starts_with,
    jvm_option_that_nobody_is_born_with,
    jvm_option_and_version_changed,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def _taken_back(world: World) -> None:
    """As far as the old options are back, and rest there."""
    _born(world, join_deadline="20s")
    world.machines.refused_options = {BAD: WORDS}
    world.declare(a_document(jvm=BAD, join_deadline="20s"))
    world.run(until=lambda w: w.is_held(), ticks=100)
    assert _of(world, "brokers") == {()}


CRASHES = Crashes(_taken_back)
FIRST = next(n for n, name in enumerate(CRASHES.points, start=1) if "restart." in name)


@pytest.mark.parametrize("point", range(FIRST, len(CRASHES.points) + 1), ids=CRASHES.id_of)
def test_an_option_no_jvm_starts_with_is_taken_back_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)


def test_the_servers_of_an_ensemble_are_started_with_the_options_of_their_pool() -> None:
    world = World()
    world.declare(a_zookeeper_document())
    world.converge(ticks=200)
    world.declare(a_zookeeper_document(quorum_jvm="-XX:+UseParallelGC"))
    world.converge(ticks=200)
    assert (_of(world, "zookeepers"), _of(world, "brokers")) == ({("-XX:+UseParallelGC",)}, {()})


def test_a_history_of_before_these_options_restarts_nobody() -> None:
    """What an earlier release recorded lacks the field: with it or without, nothing is left to do."""
    world = World()
    _born(world, heap=512)
    world.declare(a_document(heap=1024))
    world.converge(ticks=200)
    stripped = [replace(e, data=_without(e.data)) for e in world.history()]
    view = fold(empty_view(UID), stripped)
    assert not view.history.unreadable
    assert {c.change for c in pending_changes(view)} == {Change.KEEP}
    assert view == world.view()


def _without(data: Mapping[str, object]) -> dict[str, object]:
    return {k: _inside(v) for k, v in data.items() if k != "jvm_options"}


def _inside(data: object) -> object:
    if isinstance(data, dict):
        return _without(data)
    return [_inside(v) for v in data] if isinstance(data, list) else data
