"""Seeded losses of brokers whose disks live, go with their VM, come to no other VM, or have nobody come up on them."""

from typing import Any

import pytest

from providers.handover import Handover
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World

WAYS = (Handover.REBIND, Handover.DELETE_FIRST, Handover.NONE)


class LosingDisks(Trouble):
    """All the usual trouble, and brokers that are lost for good, one at a time: most with a disk that lives, the others
    with one that is of no use. What becomes of it is drawn when the VM dies, or a moment later, as it passes on."""

    def __init__(self, world: World, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, **spec)
        self.losses: list[str] = []
        self._faults = (*self._faults, *((("a broker is lost", self._broker_is_lost),) * 8))

    def _broker_is_lost(self) -> bool:
        machines, view, kafka = self._world.machines, self._world.view(), self._world.kafka
        if any(i.lost for i in view.alive()) or any(not vm.alive for vm in machines.vms.values()):
            return False
        if kafka.under_min_isr() or self._restarting():
            return False
        there = [i for i in view.brokers() if i.phase == "joined" and i.key in machines.vms]
        able = [i for i in there if all(set(p.isr) - {i.service_id} for p in kafka.partitions())]
        if not able:
            return False
        victim = self._random.choice(sorted(able, key=lambda i: i.key))
        volumes = [v.key for v in victim.planned.volumes]
        fate = self._random.choice(("lives", "lives", "goes", "goes later", "sticks", "is dead"))
        self.losses.append(fate)
        if fate == "goes":
            self._later(0, lambda: self._take_away(victim.service_id, volumes))
        elif fate == "goes later":
            after_s = self._random.choice((301.0, 306.0, 309.0, 312.0, 316.0))
            self._later(after_s, lambda: self._take_away(victim.service_id, volumes))
        elif fate == "sticks":
            machines.stuck_volumes.update(volumes)
        elif fate == "is dead":
            machines.dead_volumes.update(volumes)
        machines.power_cut(victim.key)
        return True

    def _take_away(self, broker: int, volumes: list[str]) -> None:
        """With all that was on it. No broker loses it while it serves from it: that is another story."""
        machines = self._world.machines
        for key in volumes:
            listed = machines.volumes.get(key)
            holder = machines.vms.get(listed.attached_to or "") if listed is not None else None
            if listed is not None and (holder is None or not holder.alive or holder.process is None):
                machines.volumes.pop(key)
                self._world.kafka.destroy_broker(broker)


def losing_disks(seed: int, *, steps: int = 900, chance: float = 0.05, **spec: Any) -> LosingDisks:
    """A roll in which brokers are lost; then no more trouble: it must converge, and keep every record."""
    world = World(seed=seed)
    world.machines.handover = WAYS[seed % 3]
    spec = {"healing": "lostDisk: reattach", **spec}
    if seed % 2:
        spec = {**spec, "strategy": "reattach", "max_unavailable": 1}
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**spec, version="4.2.0"))
    trouble = LosingDisks(world, chance=chance, **spec)
    trouble.lasts(steps)
    world.converge(ticks=2500)
    return trouble


@pytest.mark.parametrize("seed", range(3000, 3012))
def test_it_converges_whatever_becomes_of_the_disks_of_lost_brokers(seed: int) -> None:
    assert losing_disks(seed).losses


@pytest.mark.parametrize("seed", range(4001, 4009, 2))
def test_it_does_where_the_strategy_alone_has_disks_pass_on(seed: int) -> None:
    assert losing_disks(seed, healing="", strategy="reattach", max_unavailable=1).losses


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_whatever_becomes_of_the_disks_of_many_more_lost_brokers() -> None:
    sweep("losing_disks, seed", range(30000, 30300), losing_disks)
