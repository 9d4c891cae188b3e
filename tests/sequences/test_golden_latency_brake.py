"""The stories of moves that are slowed for the sake of clients (`test_golden_rolls` tells how stories are compared)."""

import math
from collections.abc import Callable

import pytest

from tests.builders import a_document
from tests.sequences.recorded import told_as_recorded_by
from tests.sim.asking import ask_for_evacuation
from tests.sim.client_latency import ClientLatency
from tests.sim.world import World

MIB = 2**20
KNEE = 20 * MIB
BROKERS = (1000, 1001, 1002, 1003)


def _born(world: World, *, brake: str = "startPercent: 100") -> ClientLatency:
    """Four brokers that may copy 80 MiB/s by their plan; clients stand 20 MiB/s of it."""
    world.machines.latency = ClientLatency()
    world.declare(a_document(brokers=4, throttle=", throttleMibPerS: 80", parallel=f", brake: {{{brake}}}"))
    world.converge()
    world.kafka.create_topic("orders", partitions=24, rf=3, min_isr=2, bytes_per_partition=2_400_000_000)
    world.machines.latency.knee_bytes_per_s = KNEE
    return world.machines.latency


def _shares(world: World) -> list[float]:
    return [r.data["share"] for r in world.history() if r.type == "brake.changed"]


def _drain(world: World) -> None:
    ask_for_evacuation(world, "brokers-a-0.g1", "its disk is loud")
    world.run(until=lambda w: bool(w.kafka.snapshot().moving()), ticks=60)


def drain_is_slowed_and_let_go(world: World) -> None:
    """Halved until clients wait no longer than they may; once they have gone, up again to the plan's rate."""
    latency = _born(world)
    _drain(world)
    for _ in range(30):
        world.tick()
    slowed = _shares(world)
    assert slowed == sorted(slowed, reverse=True)
    assert max(latency.strain(world.kafka, b) for b in BROKERS) < 2, "twice as long is what they may wait"
    assert world.view().conditions["MovesBraked"].status
    latency.knee_bytes_per_s = math.inf
    world.converge(ticks=2000)
    assert _shares(world)[len(slowed) :] == sorted(_shares(world)[len(slowed) :])
    assert _shares(world)[-1] > 0.5
    assert world.kafka_hosts(1000) == 0
    assert not world.kafka.snapshot().throttles.any
    assert not world.view().conditions["MovesBraked"].status


def drain_is_slowed_by_a_server_that_dies(world: World) -> None:
    """The next one goes on with the rate of the one before, and lets go once it has seen enough itself."""
    latency = _born(world)
    _drain(world)
    world.run(until=lambda w: _shares(w) == [0.5, 0.25], ticks=200)
    before = world.kafka.throttles.plan
    world.start_server()
    for _ in range(4):
        world.tick()
    assert _shares(world) == [0.5, 0.25]
    assert world.kafka.throttles.plan.follower_bytes_per_s == before.follower_bytes_per_s
    latency.knee_bytes_per_s = math.inf
    world.converge(ticks=2000)


def drain_whose_agents_fall_silent(world: World) -> None:
    """What nobody tells neither slows nor hastens it; it is said."""
    latency = _born(world)
    _drain(world)
    world.run(until=lambda w: _shares(w) == [0.5], ticks=200)
    latency.silent = set(BROKERS)
    for _ in range(28):
        world.tick()
    assert _shares(world) == [0.5]
    assert "no figures of brokers 1000, 1001, 1002, 1003" in world.sentence()
    world.converge(ticks=2000)
    assert world.kafka_hosts(1000) == 0


def drain_begins_softly(world: World) -> None:
    """What the target's volumes can do is not known: a quarter of the plan first, and never what clients would feel
    most. Once they have gone, the plan's own rate."""
    latency, strains = _born(world, brake="enabled: true"), []
    _drain(world)
    for _ in range(30):
        world.tick()
        strains.append(max(latency.strain(world.kafka, b) for b in BROKERS))
    assert max(strains) < 4, "four times as long is what the plan's rate would make of it"
    latency.knee_bytes_per_s = math.inf
    world.converge(ticks=2000)
    assert _shares(world)[-1] > 0.5


def drain_of_calm_clients_begins_softly(world: World) -> None:
    """Nobody feels it: after half a minute it goes as planned, and nothing is told of a brake."""
    latency = _born(world, brake="enabled: true")
    latency.knee_bytes_per_s = math.inf
    _drain(world)
    world.converge(ticks=2000)
    assert _shares(world) == [0.5, 1.0]
    assert "MovesBraked" not in world.view().conditions


def drain_without_a_brake(world: World) -> None:
    latency = _born(world, brake="enabled: false")
    _drain(world)
    for _ in range(12):
        world.tick()
    assert _shares(world) == []
    assert max(latency.strain(world.kafka, b) for b in BROKERS) > 4
    world.converge(ticks=2000)


@pytest.mark.parametrize(
    "scenario",
    [
        drain_is_slowed_and_let_go,
        drain_is_slowed_by_a_server_that_dies,
        drain_whose_agents_fall_silent,
        drain_begins_softly,
        drain_of_calm_clients_begins_softly,
        drain_without_a_brake,
    ],
    ids=lambda s: s.__name__,
)
def test_a_story_of_a_brake_is_told_as_recorded(scenario: Callable[[World], None]) -> None:
    told_as_recorded_by(World(tick_s=5.0), scenario)
