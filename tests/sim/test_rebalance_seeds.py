"""Seeded trouble while replicas are spread anew: P1-P9 after every step, convergence and rest when it stops."""

from typing import Any

import pytest

from controlplane.cluster.commands import CommandRefused
from tests.builders import a_document
from tests.sim.asking import ask_for_rebalance, cancel_rebalance
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World

THROTTLE = ", throttleMibPerS: 40"


class Spreading(Trouble):
    """All the usual trouble; and brokers come and go, people ask for rebalances and cancel them."""

    def __init__(
        self, world: World, *, chance: float, rivals: bool = False, hanging: bool = False, **spec: Any
    ) -> None:
        spread: dict[str, Any] = {"throttle": THROTTLE, "balance": "continuous: true", **spec}
        super().__init__(world, chance=chance, rivals=rivals, hanging=hanging, **spread)
        self._faults = (
            *self._faults,
            *((("somebody asks for a rebalance", self._asks_for_rebalance),) * 5),
            ("somebody cancels the rebalance", self._cancels),
            *((("brokers come or go", self._other_size),) * 4),
        )

    def _asks_for_rebalance(self) -> bool:
        if self._world.kafka.outage:
            return False
        try:
            ask_for_rebalance(self._world)
        except CommandRefused:
            return False
        return True

    def _cancels(self) -> bool:
        rebalance = self._world.view().moves.rebalance
        if rebalance is None or rebalance.cancelled:
            return False
        cancel_rebalance(self._world)
        return True

    def _other_size(self) -> bool:
        if self._world.view().generation >= 10:
            return False
        self._spec = {**self._spec, "brokers": self._random.choice((4, 5, 6))}
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True


def troubled_growth(
    seed: int,
    *,
    steps: int = 250,
    chance: float = 0.1,
    rivals: bool = False,
    hanging: bool = False,
    **spec: Any,
) -> World:
    """3 brokers with data become more, under seeded trouble; then quiet: it must converge and stay so."""
    world = World(seed=seed)
    world.declare(a_document(throttle=THROTTLE, **spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=24, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(brokers=5, version="4.2.0", throttle=THROTTLE, **spec))
    trouble = Spreading(world, chance=chance, rivals=rivals, hanging=hanging, **spec)
    trouble.lasts(steps)
    world.converge(ticks=1500)
    return world


@pytest.mark.parametrize("seed", range(8000, 8003))
def test_it_converges_though_replicas_are_spread_anew_meanwhile(seed: int) -> None:
    world = troubled_growth(seed)
    assert any(r.type.startswith("rebalance.") for r in world.history())
    assert world.view().moves.rebalance is None
    assert not world.kafka.snapshot().throttles.any


@pytest.mark.parametrize("seed", range(8020, 8023))
def test_it_converges_though_moves_of_rebalances_hang(seed: int) -> None:
    world = troubled_growth(seed, chance=0.15, hanging=True, healing="hungAfter: 20s")
    assert any(r.type.startswith("rebalance.") for r in world.history())
    assert world.view().moves.rebalance is None
    assert not world.kafka.snapshot().throttles.any


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_rebalances_that_hang() -> None:
    def run(seed: int) -> object:
        spec: dict[str, Any] = {"healing": "hungAfter: 20s, perDay: 20"}
        return troubled_growth(seed, chance=0.15, rivals=seed % 2 == 0, hanging=True, **spec)

    sweep("troubled_growth, chance=0.15, hanging=True, seed", range(8300, 8400), run)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_rebalances() -> None:
    def run(seed: int) -> object:
        return troubled_growth(seed, chance=0.15, rivals=seed % 2 == 0)

    sweep("troubled_growth, chance=0.15, seed", range(8100, 8250), run)
