"""Seeded lives of brokers that are busy: they apply metadata slowly, all of them or one, and advance. Nothing is done
to any of them; one that stands still is started anew, once it is known that it alone does."""

import random
from collections.abc import Iterable

import pytest

from tests.builders import a_document
from tests.sim.metadatawork import MetadataWork
from tests.sim.sweep import sweep
from tests.sim.world import World

ACTS = {
    "healing.requested",
    "restart.requested",
    "node.replace_requested",
    "surge.requested",
    "move_cure.requested",
    "election_cure.requested",
    "controller_election.requested",
    "broker.demote_requested",
    "instance.lost",
}
"""Whatever takes something away from a cluster in which nobody asked for anything."""

LASTS_S = 900


def a_grown_world(seed: int, *, brokers: int = 3) -> World:
    world = World(seed=seed)
    world.declare(a_document(brokers=brokers, healing="perDay: 20"))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.machines.metadata = MetadataWork()
    return world


def broker_ids(world: World) -> list[int]:
    return sorted(i.service_id for i in world.view().brokers())


def acts(world: World, since: int) -> list[str]:
    return [r.type for r in world.history()[since:] if r.type in ACTS]


def watched(world: World, seconds: float) -> Iterable[str]:
    """Reasons for which nothing was done, in the order in which they were told."""
    until, told = world.seconds + seconds, [""]
    while world.seconds < until:
        world.tick()
        unhealthy = world.view().conditions.get("Ailing")
        reason = unhealthy.reason if unhealthy is not None and unhealthy.status else ""
        if reason != told[-1]:
            told.append(reason)
    return told[1:]


def busy_life(seed: int) -> list[str]:
    """Somebody makes a topic of thousands of partitions. Every third seed has one broker on a busy machine, the others
    all of them. Fails where anything is done to them; the reasons that were told instead."""
    drawn = random.Random(seed)
    world = a_grown_world(seed, brokers=drawn.choice((3, 6)))
    metadata, before = world.machines.metadata, len(world.history())
    assert metadata is not None
    brokers = broker_ids(world)
    slow = [drawn.choice(brokers)] if seed % 3 == 0 else brokers
    metadata.in_batches = drawn.random() < 0.5
    metadata.per_s = {broker: drawn.uniform(6.0, 40.0) for broker in slow}
    for _ in range(10):
        world.tick()
    metadata.create_topic(drawn.choice((4000, 8000, 16_000)))
    told = list(watched(world, LASTS_S))
    assert not acts(world, before), f"seed {seed}: {acts(world, before)} of {slow}"
    metadata.per_s = {}
    told += watched(world, 120)
    assert not acts(world, before)
    assert not told or told[-1] == "", f"seed {seed}: still told as {told[-1]}"
    assert world.is_converged()
    return told


def stuck_life(seed: int) -> None:
    """One broker applies nothing any more; every other seed the others are slow meanwhile, for a while."""
    drawn = random.Random(seed)
    world = a_grown_world(seed, brokers=drawn.choice((3, 6)))
    metadata, before = world.machines.metadata, len(world.history())
    assert metadata is not None
    brokers = broker_ids(world)
    stuck = drawn.choice(brokers)
    metadata.per_s = {b: drawn.uniform(12.0, 40.0) for b in brokers if b != stuck} if seed % 2 else {}
    for _ in range(10):
        world.tick()
    metadata.stuck.add(stuck)
    metadata.create_topic(4000)
    watched(world, LASTS_S)
    begun = [r.data for r in world.history()[before:] if r.type == "healing.requested"]
    keys = {i.key for i in world.view().brokers() if i.service_id == stuck}
    assert [(d["key"] in keys, d["finding"], d["cure"]) for d in begun] == [(True, "metadata_lag", "restart")], begun
    assert acts(world, before) == ["healing.requested", "restart.requested"]
    assert not metadata.stuck
    assert world.is_converged()


@pytest.mark.parametrize("seed", range(4600, 4608))
def test_nothing_is_done_to_brokers_that_are_busy_and_advance(seed: int) -> None:
    assert set(busy_life(seed)) <= {"", "Recovering", "SharedCause", "NotKnown"}


def test_it_is_told_why_nothing_is_done_to_them() -> None:
    assert "Recovering" in busy_life(4600)


@pytest.mark.parametrize("seed", range(4650, 4654))
def test_a_broker_that_stands_still_is_started_anew_and_nobody_else(seed: int) -> None:
    stuck_life(seed)


def test_an_older_agent_that_tells_no_progress_has_nothing_done_to_its_broker() -> None:
    """Of it nobody knows whether it advances."""
    world = a_grown_world(1)
    world.machines.become_unhealthy("brokers-a-0.g1", "metadata_lag")
    world.machines.metadata = None
    assert watched(world, 300) == ["NotKnown"]
    assert "healing.requested" not in {r.type for r in world.history()}


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_nothing_is_done_to_many_more_brokers_that_are_busy() -> None:
    sweep("busy_life", range(46000, 46200), busy_life)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_more_brokers_that_stand_still_are_started_anew() -> None:
    sweep("stuck_life", range(46500, 46600), stuck_life)
