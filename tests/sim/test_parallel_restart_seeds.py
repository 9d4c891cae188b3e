"""Restarts of several brokers of a rack at a time, among seeded trouble of all sorts: P1-P9 after every step."""

from typing import Any

import pytest

from tests.sim.stories import troubled_roll
from tests.sim.sweep import sweep
from tests.sim.world import World


def _restarts_together(seed: int) -> World:
    """Two at a time, and three in every third world; every other world hands brokers over."""
    most = 3 if seed % 3 == 0 else 2
    spec: dict[str, Any] = {"brokers": 9 if most > 2 else 6, "parallel": f", maxParallelRestarts: {most}"}
    spec |= {"max_unavailable": most, "strategy": "reattach" if seed % 2 else "migrate"}
    return troubled_roll(seed, chance=0.12, settings=True, asking=True, steps=400, **spec)


def _together(world: World) -> bool:
    return any(r.data.get("beside") for r in world.history() if r.type == "restart.requested")


@pytest.mark.parametrize("seed", [6100, 6102, 6103, 6104])
def test_it_converges_though_brokers_restart_together(seed: int) -> None:
    assert _together(_restarts_together(seed))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_brokers_restart_together_swept() -> None:
    sweep("parallel restarts, seed", range(61000, 61200), _restarts_together)
