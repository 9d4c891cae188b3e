"""Stories of ticks that fail: told once, nothing is done meanwhile, over by themselves."""

from collections.abc import Callable

import pytest

from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.settingstories import born
from tests.sim.world import World


def _is_told(world: World, reason: str = "Unexpected") -> bool:
    told = world.view().conditions
    return told["TickFailing"].status and told["TickFailing"].reason == reason and not told["Converged"].status


def _for(world: World, seconds: int) -> int:
    """Ticks for so long, while what fails goes on failing. Returns how many conditions changed."""
    before = _changes(world)
    for _ in range(seconds):
        world.disturbed()
        world.tick()
    return _changes(world) - before


def _changes(world: World) -> int:
    return sum(r.type == "condition.changed" for r in world.history())


def observations_fail_at_rest(world: World) -> None:
    """Other words each time: one event, and one when it is over."""
    born(world)
    world.inventory.breaks = "looks"
    assert _for(world, 600) == 2
    assert _is_told(world)
    world.inventory.breaks = ""
    world.disturbed()
    world.converge(ticks=60)
    assert not world.view().conditions["TickFailing"].status
    assert world.view().conditions["Converged"].status


def decisions_fail_in_a_roll(world: World) -> None:
    """The roll stands still meanwhile and says so; a replacement that is asked for is begun once it is over."""
    born(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=100)
    world.inventory.breaks = "decisions"
    assert _for(world, 60) == 2
    assert _is_told(world)
    world.person(facts.NodeReplaceRequested("brokers-c-0.g1", "its disk clicks"))
    assert _for(world, 120) == 0
    world.inventory.breaks = ""
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}


def half_a_minute_of_failing_observations_is_told_of_nobody(world: World) -> None:
    born(world)
    world.inventory.breaks = "looks"
    assert _for(world, 25) == 0
    world.inventory.breaks = ""
    world.disturbed()
    world.converge(ticks=60)
    assert "TickFailing" not in world.view().conditions


def observations_fail_and_the_server_is_started_anew(world: World) -> None:
    """The next one counts from nothing, and what was told stands until one of its ticks succeeds."""
    born(world)
    world.inventory.breaks = "looks"
    assert _for(world, 60) == 2
    world.start_server()
    assert _for(world, 120) == 0
    assert _is_told(world)
    world.inventory.breaks = ""
    world.disturbed()
    world.converge(ticks=60)
    assert not world.view().conditions["TickFailing"].status


SCENARIOS: tuple[Callable[[World], None], ...] = (
    observations_fail_at_rest,
    decisions_fail_in_a_roll,
    half_a_minute_of_failing_observations_is_told_of_nobody,
    observations_fail_and_the_server_is_started_anew,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_failing_ticks_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
