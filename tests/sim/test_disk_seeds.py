"""Brokers with two disks: seeded trouble with disks that fail, and the server's death at each step of a replacement."""

import random
from typing import Any

import pytest

from events import facts
from tests.builders import a_document
from tests.sim.asking import ask_for_replacement
from tests.sim.crashes import Crashes
from tests.sim.faults import Trouble
from tests.sim.stories import IN_ZOOKEEPER_MODE, troubled_roll
from tests.sim.sweep import sweep
from tests.sim.world import World

TWO = ", count: 2"


def _born(world: World, **spec: Any) -> None:
    world.declare(a_document(**{"disks": TWO, **spec}))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _a_disk_is_replaced(world: World) -> None:
    _born(world)
    ask_for_replacement(world, "brokers-b-0.g1", "bad blocks", disks=("data2",))
    world.converge(ticks=400)
    on = sorted(k for k, v in world.machines.volumes.items() if k.startswith("brokers-b-0") and v.attached_to)
    assert on == ["brokers-b-0.data.v1", "brokers-b-0.data2.v2"]
    assert len(world.machines.volumes) == 3 * 2 + 3


CRASHES = Crashes(_a_disk_is_replaced)
_FIRST = next(n for n, name in enumerate(CRASHES.points, start=1) if "recycle.completed" in name)
REPLACEMENT = range(_FIRST + 1, len(CRASHES.points) + 1)


@pytest.mark.parametrize("point", REPLACEMENT[::4], ids=CRASHES.id_of)
def test_the_replacement_of_one_disk_survives_a_crash_at(point: int) -> None:
    CRASHES.at(point)


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_the_replacement_of_one_disk_survives_a_crash_at_every_point() -> None:
    sweep("disk replacement, crash at", REPLACEMENT, CRASHES.at)


def _disks_fail(seed: int, *, born_as: str = "4.1.1", becomes: str = "4.2.0", **mode: str) -> None:
    """While a version rolls, disks of brokers fail now and then, one broker at a time; among all other trouble."""
    spec: dict[str, Any] = {
        "disks": TWO,
        **mode,
        **({"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}),
    }
    world, chosen = World(seed=seed, version=born_as), random.Random(seed)
    _born(world, **spec, version=born_as)
    world.declare(a_document(**spec, version=becomes))
    trouble = Trouble(world, chance=0.05, **{**spec, "version": becomes})
    for step in range(300):
        if step % 60 == 20:
            _one_fails(world, chosen)
        trouble.step()
    trouble.stop()
    world.person(facts.ClusterResumed("the trouble is over"))
    world.converge(ticks=1500)
    assert world.kafka.lost() == 0


def _one_fails(world: World, chosen: random.Random) -> None:
    """Of a cluster that is whole: two copies lost at once would be more than it is made for. And never twice in a node:
    a disk that fails again on a new VM is left to a person."""
    machines, kafka, cured = world.machines, world.kafka, {c.node for c in world.view().vms.cures}
    serving = [i for i in world.view().brokers() if i.key in machines.vms and kafka.serves(i.service_id)]
    running = [i for i in serving if machines.vms[i.key].process and i.node not in cured]
    if not (machines.are_well and kafka.is_at_rest() and len(serving) == 3 and running):
        return
    key, disk = chosen.choice(running).key, chosen.choice(("data", "data2"))
    if disk == "data" and not world.view().in_zookeeper_mode:
        machines.lose_volume(key, disk)  # Kafka's metadata is on the first one: a broker stops over it
    else:
        machines.fail_disk(key, disk)


@pytest.mark.parametrize("seed", [*range(2400, 2403), 24049])
def test_it_converges_though_disks_fail(seed: int) -> None:
    _disks_fail(seed)


def _disks_fail_in_zookeeper_mode(seed: int) -> None:
    _disks_fail(seed, born_as="3.8.1", becomes="3.9.1", **IN_ZOOKEEPER_MODE)


@pytest.mark.parametrize("seed", [2471, pytest.param(24139, marks=pytest.mark.soak)])
def test_it_converges_though_disks_fail_in_zookeeper_mode(seed: int) -> None:
    _disks_fail_in_zookeeper_mode(seed)


@pytest.mark.parametrize("seed", range(2450, 2452))
def test_brokers_with_two_disks_are_rolled_through_seeded_trouble(seed: int) -> None:
    troubled_roll(seed, disks=TWO, unhealthy=True, asking=True)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [24002, 24025, 24058])
def test_a_broker_that_cannot_start_without_its_disk_is_replaced_before_what_waits_for_it(seed: int) -> None:
    """Their rolls waited for it for ever: it was to be replaced after them, or got its empty disk back."""
    _disks_fail(seed)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_it_converges_though_disks_fail_swept() -> None:
    sweep("failing disks, seed", range(24000, 24100), _disks_fail)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_it_converges_though_disks_fail_in_zookeeper_mode_swept() -> None:
    sweep("failing disks of zookeeper's brokers, seed", range(24100, 24150), _disks_fail_in_zookeeper_mode)
