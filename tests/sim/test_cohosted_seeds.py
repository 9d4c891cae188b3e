"""Clusters whose ZooKeeper servers share the VMs of their brokers, under crashes and seeded trouble: the same
properties after every step, and one more, that no VM goes while the server on it votes."""

from random import Random

import pytest

from events import facts
from tests.builders import a_cohosted_document
from tests.sim.crashes import Crashes
from tests.sim.evidence import Violation
from tests.sim.stories import COHOSTED, life_of_a_cohosted_ensemble, troubled_roll
from tests.sim.sweep import sweep
from tests.sim.world import World

CRASHES = Crashes(life_of_a_cohosted_ensemble, version="3.8.1")


@pytest.mark.parametrize("seed", range(7400, 7401))
def test_a_cohosted_cluster_converges_after_seeded_trouble(seed: int) -> None:
    _troubled(seed)


@pytest.mark.parametrize("seed", [7422, pytest.param(7431, marks=pytest.mark.soak)])
def test_a_server_that_ends_for_a_moment_keeps_its_vote_while_its_broker_counts_on_it(seed: int) -> None:
    _troubled(seed)


@pytest.mark.parametrize("seed", [78, pytest.param(79, marks=pytest.mark.soak)])
def test_a_birth_gives_up_no_vote_that_the_next_loss_would_be_missed_by(seed: int) -> None:
    """Two voters were left of three when the third VM died: nobody could be let in any more."""
    _born_in_spite(seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_cohosted_clusters_converge_after_seeded_trouble() -> None:
    sweep("cohosted, seed", range(7410, 7440), _troubled)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_cohosted_cluster_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 120), marks=pytest.mark.soak)], ids=["2", "118"])
@pytest.mark.timeout(1800)
def test_any_vm_of_a_cohosted_cluster_may_not_come_up_at_its_birth(seeds: range) -> None:
    sweep("cohosted births, seed", seeds, _born_in_spite)


def _born_in_spite(seed: int) -> None:
    """One VM never runs, is not heard of or dies, and perhaps brokers or a server of others never come up."""
    world, draw = World(seed=seed, version="3.8.1"), Random(seed)
    size = draw.choice([3, 3, 5])
    zones = ["a-0", "b-0", "c-0", "a-1", "b-1"][:size]
    victim, how = f"brokers-{draw.choice(zones)}", draw.choice(["never runs", "is not heard of", "dies", "runs"])
    {"never runs": world.machines.stillborn, "is not heard of": world.machines.mute}.get(how, set()).add(victim)
    unwell = draw.sample(zones, draw.choice([0, 1, 2, size]))
    world.machines.unwell = {f"brokers-{zone}.g1" for zone in unwell}
    world.interrupt_runs = draw.choice([0, 0, 1, 2])
    told = f"seed {seed}: {victim} of {size} {how}, no broker in {unwell}, {world.interrupt_runs} runs die"
    world.declare(a_cohosted_document(brokers=size))
    if how == "dies":
        world.run(until=lambda w: f"{victim}.g1" in w.machines.vms, ticks=60)
        _wait(world, draw.choice([0, 5, 8, 12, 60, 130]))
        # One whose broker is given up for never having come up may be gone by then, and its next VM is there.
        world.machines.power_cut(max(key for key in world.machines.vms if key.startswith(f"{victim}.g")))
        world.disturbed()
    try:
        _wait(world, 400)
        world.person(facts.ClusterResumed("somebody had a look"))
        world.converge(ticks=2000)
    except Violation as broken:
        raise Violation(f"{told}: {broken}") from broken
    servers = {i.service_id: i.planned.volumes[0].directory_id for i in world.view().controllers()}
    assert world.kafka.voters() == servers, told
    assert len(servers) == len(world.machines.vms) == size, told


def _wait(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def _troubled(seed: int) -> None:
    world = troubled_roll(seed, born_as="3.8.1", becomes="3.9.1", sharing=True, **COHOSTED)
    view = world.view()
    assert {world.machines.protocols[i.service_id] for i in view.brokers()} == {"3.9"}
    assert world.kafka.voters() == {i.service_id: i.planned.volumes[0].directory_id for i in view.controllers()}
