"""Heaps that change under seeded trouble: who cannot have one gets back what it had, and in the end all have theirs."""

from typing import Any

import pytest

from events import facts
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World

LARGEST_MIB = 2048


def _heaps_change(seed: int) -> None:
    """While a version rolls, heaps change, at times to more than the VMs have; among all other trouble."""
    spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
    world = World(seed=seed)
    world.machines.largest_heap_mib = LARGEST_MIB
    world.declare(a_document(**spec, heap=512))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**spec, heap=512, version="4.2.0"))
    trouble = Trouble(world, chance=0.05, settings=True, heaps=True, **spec)
    for _ in range(300):
        trouble.step()
    trouble.stop()
    world.declare(a_document(**spec, version="4.2.0", heap=1024, quorum_heap=256))
    world.person(facts.ClusterResumed("the trouble is over"))
    world.converge(ticks=1500)
    assert world.kafka.lost() == 0
    running = {k: vm.process.document.heap_mib for k, vm in world.machines.vms.items() if vm.process}
    assert {heap for key, heap in running.items() if key.startswith("brokers")} == {1024}
    assert {heap for key, heap in running.items() if key.startswith("controllers")} == {256}


@pytest.mark.parametrize("seed", range(2600, 2604))
def test_it_converges_though_heaps_change(seed: int) -> None:
    _heaps_change(seed)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_it_converges_though_heaps_change_swept() -> None:
    sweep("changing heaps, seed", range(26000, 26200), _heaps_change)
