"""Seeded splits between the server and its VMs, whole and one way, beside all the usual trouble."""

import pytest

from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World


class Splitting(Trouble):
    """All the usual trouble; and the network between the server and a VM, or all VMs of a rack, is cut for a while.

    `in`: the VM hears nothing and does what it was told last; `out`: it hears and obeys, and nobody hears of it; `both`
    is that it does what it was told, unheard. Kafka itself goes on: clients are not cut off.
    """

    def __init__(self, world: World, *, chance: float) -> None:
        super().__init__(world, chance=chance)
        self.splits = 0
        self._faults = (
            *self._faults,
            *((("a VM is split off", self._one_is_split),) * 5),
            *((("a rack is split off", self._rack_is_split),) * 3),
            *((("the control plane is split off", self._all_are_split),) * 2),
        )

    def stop(self) -> None:
        self._join(tuple(self._world.machines.vms))
        super().stop()

    def _one_is_split(self) -> bool:
        return self._split([self._random.choice(sorted(self._world.machines.vms))])

    def _rack_is_split(self) -> bool:
        vms = self._world.machines.vms
        rack = self._random.choice(sorted({vm.zone for vm in vms.values()}))
        return self._split(sorted(key for key, vm in vms.items() if vm.zone == rack))

    def _all_are_split(self) -> bool:
        """With it goes the server's way to Kafka."""
        self._world.kafka.outage = True
        lasts_s = self._random.choice((20.0, 90.0, 400.0))
        self._later(lasts_s, self._kafka_is_back)
        return self._split(sorted(self._world.machines.vms), lasts_s=lasts_s)

    def _kafka_is_back(self) -> None:
        self._world.kafka.outage = False

    def _split(self, keys: list[str], *, lasts_s: float = 0.0) -> bool:
        way = self._random.choice(("in", "out", "both"))
        for key in keys:
            vm = self._world.machines.vms[key]
            vm.cut, vm.deaf = ("", True) if way == "both" else (way, False)
        self._later(lasts_s or self._random.choice((20.0, 90.0, 400.0)), lambda: self._join(tuple(keys)))
        self.splits += 1
        return True

    def _join(self, keys: tuple[str, ...]) -> None:
        for key in keys:
            if key in self._world.machines.vms:
                vm = self._world.machines.vms[key]
                vm.cut, vm.deaf = "", False


def split_roll(seed: int, *, steps: int = 150, chance: float = 0.12) -> Splitting:
    """A roll under seeded splits; then the network is whole: it must converge."""
    world = World(seed=seed)
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(version="4.2.0"))
    trouble = Splitting(world, chance=chance)
    trouble.lasts(steps)
    world.converge(ticks=1500)
    return trouble


@pytest.mark.parametrize("seed", range(2400, 2412))
def test_it_converges_though_the_network_splits_one_way_and_both(seed: int) -> None:
    assert split_roll(seed).splits


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_many_more_splits() -> None:
    sweep("split_roll, steps=400, seed", range(24200, 24500), lambda s: split_roll(s, steps=400))


@pytest.mark.soak
def test_seed_24013_a_broker_that_hears_late_that_it_is_to_stop_is_empty_still() -> None:
    split_roll(24013, steps=400, chance=0.2)


@pytest.mark.soak
def test_seed_24261_a_drain_that_needs_a_broker_of_the_lost_rack_lets_it_be_made_first() -> None:
    split_roll(24261, steps=400)


@pytest.mark.soak
def test_seed_24322_a_service_that_was_begun_comes_up_though_nobody_hears_its_agent() -> None:
    split_roll(24322, steps=400)
