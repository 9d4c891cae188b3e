"""Seeded trouble while clients wait for moves: P1-P9 after every step, and each drain ends however slow it became."""

from typing import Any

import pytest

from tests.builders import a_document
from tests.sim.client_latency import ClientLatency
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World

MIB = 2**20


class Waiting(Trouble):
    """All the usual trouble; and clients stand less or more, and agents tell nothing of it, or again."""

    def __init__(self, world: World, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, **spec)
        self._faults = (
            *self._faults,
            *((("clients stand another rate", self._another_knee),) * 4),
            *((("agents fall silent, or speak again", self._another_silence),) * 3),
        )

    def _another_knee(self) -> bool:
        latency = self._world.machines.latency
        if latency is None:
            return False
        latency.knee_bytes_per_s = self._random.choice((2, 10, 40, 1000)) * MIB
        return True

    def _another_silence(self) -> bool:
        latency = self._world.machines.latency
        if latency is None:
            return False
        brokers = [i.service_id for i in self._world.view().brokers()]
        latency.silent = set(self._random.sample(brokers, self._random.randint(0, len(brokers))))
        return True


def troubled_clients(seed: int, *, steps: int = 200, chance: float = 0.1) -> World:
    """A version roll with data, under seeded trouble; then quiet: it must converge and stay so."""
    world = World(seed=seed)
    world.machines.latency = ClientLatency(knee_bytes_per_s=10 * MIB)
    world.declare(a_document(throttle=", throttleMibPerS: 80"))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=200_000_000)
    world.declare(a_document(throttle=", throttleMibPerS: 80", version="4.2.0"))
    Waiting(world, chance=chance, throttle=", throttleMibPerS: 80").lasts(steps)
    world.converge(ticks=3000)
    return world


@pytest.mark.parametrize("seed", range(9300, 9303))
def test_it_converges_though_clients_wait_for_moves(seed: int) -> None:
    world = troubled_clients(seed)

    shares = [r.data["share"] for r in world.history() if r.type == "brake.changed"]
    assert shares
    assert all(0.1 <= share <= 1 for share in shares)
    assert not world.kafka.snapshot().throttles.any


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_clients_that_wait() -> None:
    sweep("troubled_clients, chance=0.15, seed", range(9310, 9400), lambda seed: troubled_clients(seed, chance=0.15))
