"""Agents that die alone, while their Kafka goes on, beside all the usual trouble: nobody takes one for a dead broker.

Until the next agent is there nothing is done on that VM and nobody hears of it, and a process that dies stays dead. The
next one adopts the process it finds.
"""

import pytest

from controlplane.converger.tick.sources.brokers import LOOK_EVERY
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World


class Agentless(Trouble):
    """All the usual trouble; and an agent is killed for a while, now and then its Kafka a moment after it."""

    def __init__(self, world: World, *, chance: float) -> None:
        super().__init__(world, chance=chance, settings=True, asking=True)
        self.deaths = 0
        self._faults = (
            *self._faults,
            *((("an agent dies alone", self._agent_dies),) * 8),
            *((("an agent dies, and its Kafka", self._both_die),) * 3),
        )

    def stop(self) -> None:
        for key in list(self._world.machines.vms):
            self._next_agent(key)
        super().stop()

    def _agent_dies(self) -> bool:
        return self._dies(self._running())

    def _both_die(self) -> bool:
        machines = self._world.machines
        if any(not vm.alive or vm.deaf for vm in machines.vms.values()) or self._restarting():
            return False
        victims = self._running()
        if not self._dies(victims[:1]):
            return False
        machines.stop_process(victims[0])
        return True

    def _dies(self, victims: list[str]) -> bool:
        if not victims:
            return False
        key = victims[0]
        self._world.machines.vms[key].deaf = True
        self._later(self._random.choice((3.0, 15.0, 60.0)), lambda: self._next_agent(key))
        self.deaths += 1
        return True

    def _running(self) -> list[str]:
        """Those with a process that is up, in an order of chance."""
        vms = self._world.machines.vms
        found = sorted(k for k, vm in vms.items() if vm.alive and not vm.deaf and vm.process and vm.process.up)
        self._random.shuffle(found)
        return found

    def _next_agent(self, key: str) -> None:
        if key in self._world.machines.vms:
            self._world.machines.vms[key].deaf = False


def roll_with_dying_agents(seed: int, *, steps: int = 120, chance: float = 0.15) -> Agentless:
    """A roll while agents die; then each VM has one: it must converge."""
    world = World(seed=seed)
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(version="4.2.0"))
    trouble = Agentless(world, chance=chance)
    trouble.lasts(steps)
    for _ in range(int(LOOK_EVERY.total_seconds()) + 1):
        world.tick()  # what somebody set by hand in the end is seen at the next look
    world.converge(ticks=1500)
    return trouble


def test_a_converged_cluster_does_nothing_about_an_agent_that_dies_alone() -> None:
    """Kafka has the broker unfenced: it serves, and its next agent adopts it."""
    world = World()
    world.declare(a_document())
    world.converge()
    there = world.machines.vms["brokers-a-0.g1"].process
    events = len(world.history())
    world.machines.vms["brokers-a-0.g1"].deaf = True
    for _ in range(90):
        world.tick()
    world.machines.vms["brokers-a-0.g1"].deaf = False
    for _ in range(90):
        world.tick()
    done = [r.type for r in world.history()[events:] if r.type != "condition.changed"]
    assert done == []
    assert world.machines.vms["brokers-a-0.g1"].process is there


@pytest.mark.parametrize("seed", range(2702, 2706))
def test_it_converges_though_agents_die_alone(seed: int) -> None:
    assert roll_with_dying_agents(seed).deaths


@pytest.mark.soak
def test_seed_300001_a_setting_whose_first_broker_is_replaced_meanwhile_does_not_wait_for_it() -> None:
    roll_with_dying_agents(300001, steps=400)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_many_more_deaths_of_agents() -> None:
    sweep(
        "roll_with_dying_agents, steps=400, seed", range(27200, 27300), lambda s: roll_with_dying_agents(s, steps=400)
    )
