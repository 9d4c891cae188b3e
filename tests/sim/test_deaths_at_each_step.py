"""A broker's or controller's process, or its agent, is killed at each moment of a plan, whichever step that is in: the
next one takes over and the plan ends well, every property held after each tick.

The victims take turns, so that each VM dies somewhere. What the same does to Kedge's own server is in test_crashes.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.builders import a_document
from tests.sim.sweep import sweep
from tests.sim.world import World

AGENT_AWAY_TICKS = 20
REATTACH = {"strategy": "reattach", "max_unavailable": 1}
SETTINGS = {"config": ", config: {num.partitions: 6, message.max.bytes: 2000000}"}
PLANS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], int]] = {
    "version": ({}, {"version": "4.2.0"}, 190),
    "version, reattached": (REATTACH, {**REATTACH, "version": "4.2.0"}, 120),
    "settings": ({}, SETTINGS, 70),
    "fewer brokers": ({"brokers": 6}, {"brokers": 3}, 60),
    "more controllers": ({}, {"controllers": 5}, 30),
}
"""Spec before, spec after, and a little more ticks than it takes when nobody dies."""


def process_dies(world: World, tick: int) -> None:
    running = _running(world)
    world.machines.stop_process(running[tick * 5 % len(running)])
    world.disturbed()


def agent_dies(world: World, tick: int) -> None:
    running = _running(world)
    key = running[tick * 5 % len(running)]
    world.machines.vms[key].deaf = True
    world.disturbed()
    for _ in range(AGENT_AWAY_TICKS):
        world.tick()
    if key in world.machines.vms:
        world.machines.vms[key].deaf = False
    world.disturbed()


DEATHS: Mapping[str, Callable[[World, int], None]] = {"process": process_dies, "agent": agent_dies}


def dies_in(plan: str, who: str, tick: int) -> None:
    before, after, _ = PLANS[plan]
    world = World(seed=tick)
    world.declare(a_document(**before))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**after))
    for _ in range(tick):
        world.tick()
    DEATHS[who](world, tick)
    world.converge(ticks=900)


def _running(world: World) -> list[str]:
    return sorted(k for k, vm in world.machines.vms.items() if vm.alive and vm.process and vm.process.up)


def _cases(stride: int) -> list[tuple[str, str, int]]:
    return [(plan, who, t) for plan, (*_, n) in PLANS.items() for who in DEATHS for t in range(1, n, stride)]


@pytest.mark.parametrize(("plan", "who", "tick"), _cases(37), ids=str)
def test_a_plan_ends_well_though_one_dies_in_it(plan: str, who: str, tick: int) -> None:
    dies_in(plan, who, tick)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_plan_ends_well_whenever_one_dies_in_it() -> None:
    sweep("dies_in(plan, who, tick)", _cases(1), lambda case: dies_in(*case))
