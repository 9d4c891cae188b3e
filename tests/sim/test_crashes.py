"""The server dies before and after every append and every effect: the next one goes on, nothing is lost or twice."""

import pytest

from tests.sim.crashes import Crashes
from tests.sim.stories import life_of_a_quorum, whole_life

LIFE = Crashes(whole_life)


def _first_and_last_of_each_kind() -> list[int]:
    chosen: set[int] = set()
    for name in sorted(set(LIFE.points)):
        places = [n for n, other in enumerate(LIFE.points, start=1) if other == name]
        chosen |= {places[0], places[-1]}
    return sorted(chosen)


@pytest.mark.parametrize("point", _first_and_last_of_each_kind(), ids=LIFE.id_of)
def test_it_survives_a_crash_at(point: int) -> None:
    LIFE.at(point)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_it_survives_a_crash_at_every_single_point() -> None:
    LIFE.at_every_single_point()


def test_every_kind_of_effect_is_among_the_crashes() -> None:
    kinds = {p.removeprefix("before ").removeprefix("after ") for p in LIFE.points}
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


QUORUM = Crashes(life_of_a_quorum)


def _votes() -> list[int]:
    """The first of each kind that is about votes."""
    kinds = {p for p in QUORUM.points if "vote" in p or "volume.lost" in p}
    return sorted(QUORUM.points.index(name) + 1 for name in kinds)


@pytest.mark.parametrize("point", _votes(), ids=QUORUM.id_of)
def test_a_change_of_the_voters_survives_a_crash_at(point: int) -> None:
    QUORUM.at(point)


def test_votes_are_among_the_crashes() -> None:
    kinds = {p.removeprefix("before ").removeprefix("after ") for p in QUORUM.points}
    assert {"add_voter", "remove_voter", "voter.add_requested", "voter.remove_requested", "volume.lost"} <= kinds


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_voters_survive_a_crash_at_every_single_point() -> None:
    QUORUM.at_every_single_point()
