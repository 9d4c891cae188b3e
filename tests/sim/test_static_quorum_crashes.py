"""A static quorum of others is made dynamic, and a VM of ours joins it: the server dies at each point. P1-P9 hold after
every step, and the level is raised with all voters there or not at all."""

import pytest

from controlplane.kafka.features import KRAFT
from tests.external_clusters import an_external_document, made_by_others
from tests.sim.crashes import Crashes
from tests.sim.world import World

VOTERS = (9, 10, 11)


def made_dynamic(world: World) -> None:
    """Watched; asked for while a voter is away; raised once it is back; then the pool joins."""
    made_by_others(world.kafka, voters=VOTERS, static=True)
    world.declare(an_external_document(voters=VOTERS))
    world.converge(ticks=100)
    world.kafka.stop_controller(11)
    for _ in range(5):
        world.tick()
    world.declare(an_external_document(voters=VOTERS, ours=3, quorum="dynamic"))
    for _ in range(5):
        world.tick()
    assert world.kafka.finalised[KRAFT] == 0
    assert not world.machines.created
    world.kafka.start_controller(11)
    world.disturbed()
    world.converge(ticks=400)
    assert world.kafka.finalised[KRAFT] == 1
    assert world.view().roll.finalised[KRAFT] == 1
    assert len(world.machines.vms) == 3


CRASHES = Crashes(made_dynamic)


@pytest.mark.parametrize(
    "kind",
    ["after finalisation.requested", "before update_feature", "after update_feature", "before feature.finalised"],
)
def test_the_end_of_a_static_quorum_survives_a_crash(kind: str) -> None:
    CRASHES.at(next(number for number, name in enumerate(CRASHES.points, start=1) if name.startswith(kind)))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_the_end_of_a_static_quorum_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()
