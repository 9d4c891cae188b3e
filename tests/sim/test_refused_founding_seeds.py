"""Foundings that Kafka refuses, in part or as a whole, with deaths of VMs and of the server in them, and mended."""

from random import Random

import pytest

from events import facts
from providers.handover import Handover
from tests.builders import a_document, a_zookeeper_document
from tests.sim.crashes import Crashes
from tests.sim.evidence import Violation
from tests.sim.sweep import sweep
from tests.sim.world import World

_NAME = "replica.fetch.wait.max.ms"


def _config(value: int) -> str:
    return f", config: {{{_NAME}: {value}}}"


def _is_refused(world: World) -> bool:
    blocked = world.view().conditions.get("Blocked")
    return blocked is not None and blocked.status and blocked.reason == "ConfigurationRefused"


def refused_and_mended_on_the_very_vms(world: World) -> None:
    world.machines.refused = {_NAME: "40000"}
    world.declare(a_document(config=_config(40000)))
    world.run(until=_is_refused, ticks=100)
    world.declare(a_document(config=_config(400)))
    world.converge(ticks=300)
    assert {vm.generation for vm in world.machines.vms.values()} == {1}


def refused_and_mended_by_other_vms(world: World) -> None:
    world.machines.refused = {_NAME: "40000"}
    world.declare(a_document(config=_config(40000)))
    world.run(until=_is_refused, ticks=100)
    world.declare(a_document(config=_config(400), version="4.2.0"))
    world.converge(ticks=900)
    assert {vm.generation for vm in world.machines.vms.values()} == {2}
    assert not [r for r in world.history() if r.type == "volume.lost"]


FOUNDINGS = {
    told.__name__: Crashes(told) for told in (refused_and_mended_on_the_very_vms, refused_and_mended_by_other_vms)
}


def _points() -> list[tuple[str, int]]:
    first, second = FOUNDINGS
    told = {first: ("instance.reconfigured",), second: ("instance.join_failed", "instance.fenced", "run bind")}
    return [(s, FOUNDINGS[s].last(f"after {kind}")) for s in told for kind in told[s]]


@pytest.mark.parametrize(("story", "point"), _points(), ids=lambda x: str(x))
def test_a_refused_founding_goes_on_after_a_crash_at(story: str, point: int) -> None:
    FOUNDINGS[story].at(point)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("story", FOUNDINGS)
def test_a_refused_founding_goes_on_after_a_crash_at_every_single_point(story: str) -> None:
    FOUNDINGS[story].at_every_single_point()


def _founded_in_spite(seed: int) -> None:
    """Some or all VMs refuse; one of them may die meanwhile, or the roll may be paused; the mended spec may want other
    VMs. The simulator itself raises where a volume that held data would be formatted."""
    draw = Random(seed)
    size, in_zookeeper_mode = draw.choice([1, 3, 5]), draw.random() < 0.3
    world = World(seed=seed, version="3.8.1" if in_zookeeper_mode else "4.1.1")
    make = a_zookeeper_document if in_zookeeper_mode else a_document
    world.machines.handover = draw.choice([Handover.REBIND, Handover.DELETE_FIRST])
    world.machines.refused = {_NAME: "40000"}
    brokers = [f"brokers-{zone}-0.g1" for zone in "abc"]
    quorum = [] if in_zookeeper_mode else [f"controllers-{'abc'[n % 3]}-{n // 3}.g1" for n in range(size)]
    there = [*brokers, *quorum]
    world.machines.refused_on = set() if draw.random() < 0.5 else set(draw.sample(there, draw.randint(1, len(there))))
    refuse = sorted(world.machines.refused_on or there)
    told = f"seed {seed}: {size} in the quorum, refused on {refuse}, {world.machines.handover}"
    world.declare(make(config=_config(40000), controllers=size))
    try:
        world.run(until=_is_refused, ticks=200)
        for _ in range(draw.choice([0, 10, 200])):
            world.tick()
        if draw.random() < 0.3:
            victim = draw.choice(refuse)
            told += f", {victim} dies"
            world.machines.power_cut(victim)
            world.disturbed()
        if draw.random() < 0.2:
            world.person(facts.ClusterPaused("to look", None))
            for _ in range(10):
                world.tick()
            world.person(facts.ClusterResumed("seen"))
        machine = draw.choice(["small", "small", "medium"])
        world.declare(make(config=_config(400), controllers=size, machine=machine))
        world.converge(ticks=2500)
    except Violation as broken:
        raise Violation(f"{told}: {broken}") from broken
    assert not world.view().conditions["Blocked"].status, told


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 200), marks=pytest.mark.soak)], ids=["8", "192"])
def test_a_refused_founding_is_founded_by_a_mended_spec(seeds: range) -> None:
    sweep("refused foundings, seed", seeds, _founded_in_spite)
