"""The server dies while a member of the first quorum that did not come up is made anew."""

from random import Random

import pytest

from providers.handover import Handover
from tests.builders import a_document, a_zookeeper_document
from tests.sim.crashes import Crashes
from tests.sim.evidence import Violation
from tests.sim.sweep import sweep
from tests.sim.world import World


def controller_made_anew_before_the_founding(world: World) -> None:
    world.machines.stillborn.add("controllers-a-0")
    world.declare(a_document())
    world.converge(ticks=900)
    assert world.machines.vms["controllers-a-0.g2"].alive
    assert set(world.machines.volumes) & {"controllers-a-0.data.v1", "controllers-a-0.data.v2"} == {
        "controllers-a-0.data.v2"
    }


def server_nobody_heard_of_after_the_founding(world: World) -> None:
    world.machines.mute.add("zookeepers-a-0")
    world.declare(a_zookeeper_document())
    world.converge(ticks=900)
    assert world.machines.vms["zookeepers-a-0.g2"].alive


FOUNDINGS = {
    told.__name__: Crashes(told)
    for told in (controller_made_anew_before_the_founding, server_nobody_heard_of_after_the_founding)
}


def _points() -> list[tuple[str, int]]:
    """Where this birth differs from others: the last of each kind."""
    before = ("surge.completed,", "run retire", "retire.completed", "surge.requested", "quorum.founded")
    after = ("instance.fenced", "voter.removed", "run release", "release.completed", "run bind", "voter.added")
    first, second = FOUNDINGS
    told = {first: before, second: after}
    return [(s, FOUNDINGS[s].last(f"after {kind}")) for s in told for kind in told[s]]


@pytest.mark.parametrize(("story", "point"), _points(), ids=lambda x: str(x))
def test_a_founding_goes_on_after_a_crash_at(story: str, point: int) -> None:
    FOUNDINGS[story].at(point)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("story", FOUNDINGS)
def test_a_founding_goes_on_after_a_crash_at_every_single_point(story: str) -> None:
    FOUNDINGS[story].at_every_single_point()


def _born_in_spite(seed: int) -> None:
    """One member of the quorum does not come up, in one of three ways, and perhaps a broker; Terraform may die, too."""
    world, draw = World(seed=seed), Random(seed)
    size, in_zookeeper_mode = draw.choice([1, 3, 5]), draw.random() < 0.4
    quorum = "zookeepers" if in_zookeeper_mode else "controllers"
    victim = f"{quorum}-{draw.choice('abc'[:size])}-0"
    world.machines.handover = draw.choice([Handover.REBIND, Handover.DELETE_FIRST])
    how = draw.choice(["never runs", "is not heard of", "dies"])
    {"never runs": world.machines.stillborn, "is not heard of": world.machines.mute}.get(how, set()).add(victim)
    if draw.random() < 0.3:
        world.machines.stillborn.add(f"brokers-{draw.choice('abc')}-0")
    world.interrupt_runs = draw.choice([0, 0, 1, 2])
    told = f"seed {seed}: {victim} of {size} {how}, {world.machines.handover}, {world.interrupt_runs} runs die"
    world.declare((a_zookeeper_document if in_zookeeper_mode else a_document)(controllers=size))
    if how == "dies":
        world.run(until=lambda w: f"{victim}.g1" in w.machines.vms, ticks=60)
        world.machines.power_cut(f"{victim}.g1")
        world.disturbed()
    try:
        world.converge(ticks=2000)
    except Violation as broken:
        raise Violation(f"{told}: {broken}") from broken
    there = [key for key in world.machines.vms if key.startswith(quorum)]
    disks = [key for key in world.machines.volumes if key.startswith(quorum)]
    assert (len(there), len(disks)) == (size, size), f"{told}: {there}, {disks}"
    assert f"{victim}.g1" not in there, told


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 200), marks=pytest.mark.soak)], ids=["8", "192"])
def test_any_member_of_the_first_quorum_may_not_come_up(seeds: range) -> None:
    sweep("births, seed", seeds, _born_in_spite)
