"""The server dies before and after every append and every effect: the next one goes on, nothing is lost or twice."""

import pytest

from tests.sim.stories import life_of_a_quorum, whole_life
from tests.sim.sweep import sweep
from tests.sim.world import World


def _points() -> list[str]:
    world = World()
    whole_life(world)
    return world.points.names


POINTS = _points()
"""Names of all failpoints a whole life passes, in order."""


def _first_and_last_of_each_kind() -> list[int]:
    chosen: set[int] = set()
    for name in sorted(set(POINTS)):
        places = [n for n, other in enumerate(POINTS, start=1) if other == name]
        chosen |= {places[0], places[-1]}
    return sorted(chosen)


@pytest.mark.parametrize(
    "point", _first_and_last_of_each_kind(), ids=lambda n: f"{n}-{POINTS[n - 1].replace(' ', '-')}"
)
def test_it_survives_a_crash_at(point: int) -> None:
    world = World(seed=point, crash_at=point)
    whole_life(world)
    assert world.crashes == [POINTS[point - 1]]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_it_survives_a_crash_at_every_single_point() -> None:
    def run(point: int) -> None:
        world = World(seed=point, crash_at=point)
        whole_life(world)
        assert world.crashes, f"failpoint {point} ({POINTS[point - 1]}) was not reached"

    sweep("whole_life, crash at failpoint", range(1, len(POINTS) + 1), run)


def test_every_kind_of_effect_is_among_the_crashes() -> None:
    kinds = {p.removeprefix("before ").removeprefix("after ") for p in POINTS}
    wanted = {
        "run surge",
        "run release",
        "run bind",
        "run retire",
        "reassign",
        "set_throttle",
        "clear_throttles",
        "unregister_broker",
        "update_feature",
        "surge.requested",
        "drain.requested",
        "instance.fence_requested",
        "retire.requested",
        "finalisation.requested",
    }
    assert wanted <= kinds


def _quorum_points() -> list[str]:
    world = World()
    life_of_a_quorum(world)
    return world.points.names


QUORUM_POINTS = _quorum_points()


def _votes() -> list[int]:
    """The first of each kind that is about votes."""
    kinds = {p for p in QUORUM_POINTS if "vote" in p or "volume.lost" in p}
    return sorted(QUORUM_POINTS.index(name) + 1 for name in kinds)


@pytest.mark.parametrize("point", _votes(), ids=lambda n: f"{n}-{QUORUM_POINTS[n - 1].replace(' ', '-')}")
def test_a_change_of_the_voters_survives_a_crash_at(point: int) -> None:
    world = World(seed=point, crash_at=point)
    life_of_a_quorum(world)
    assert world.crashes == [QUORUM_POINTS[point - 1]]


def test_votes_are_among_the_crashes() -> None:
    kinds = {p.removeprefix("before ").removeprefix("after ") for p in QUORUM_POINTS}
    assert {"add_voter", "remove_voter", "voter.add_requested", "voter.remove_requested", "volume.lost"} <= kinds


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_voters_survive_a_crash_at_every_single_point() -> None:
    def run(point: int) -> None:
        world = World(seed=point, crash_at=point)
        life_of_a_quorum(world)
        assert world.crashes, f"failpoint {point} ({QUORUM_POINTS[point - 1]}) was not reached"

    sweep("life_of_a_quorum, crash at failpoint", range(1, len(QUORUM_POINTS) + 1), run)
