"""Seeded trouble while hands put replicas where they should not be: P1-P9 after every step; then all is in place."""

from typing import Any

import pytest

from events import facts
from planner.observed import PartitionSeen
from planner.placement.leaders import even_orders
from planner.rebalancing.imbalance import deviations
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World

SPEC = {"brokers": 6, "throttle": ", throttleMibPerS: 40", "balance": "perDayGib: 400, placement: {correct: true}"}


class Hands:
    """Somebody who moves partitions anywhere, two replicas to a zone among others. Draws from the world's own seed."""

    def __init__(self, world: World) -> None:
        self._world = world

    def step(self) -> None:
        """Perhaps one move of one to three partitions."""
        world, random = self._world, self._world.random
        live = sorted(b for b in world.machines.broker_ids if world.kafka.serves(b) and world.kafka.is_running(b))
        parts = [p for p in world.kafka.partitions() if not p.is_moving]
        if random.random() > 0.06 or len(live) < 4 or not parts or world.kafka.outage or not world.quorum_is_whole():
            return
        moves = {p.name: self._anywhere(p, live) for p in random.sample(parts, min(3, len(parts)))}
        world.kafka.reassign(moves)
        world.kafka.put_by_hand |= moves
        world.disturbed()

    def let_go(self) -> None:
        """What waits for a broker that is dead is nobody's but theirs to take back."""
        stuck = [
            p.name for p in self._world.kafka.partitions() if p.is_moving and p.name in self._world.kafka.put_by_hand
        ]
        self._world.kafka.cancel(stuck)
        self._world.disturbed()

    def _anywhere(self, p: PartitionSeen, live: list[int]) -> tuple[int, ...]:
        """Replicas anywhere, but for one in sync that stays: nobody's hands lose data."""
        random = self._world.random
        stays = random.choice([b for b in p.isr if b in live] or [p.replicas[0]])
        others = [b for b in live if b != stays]
        random.shuffle(others)
        return (stays, *others[: len(p.target) - 1])


def shared(world: World) -> list[str]:
    """Partitions with two replicas in one zone."""
    racks = {i.service_id: i.planned.rack for i in world.view().brokers()}
    return [str(p.name) for p in world.kafka.partitions() if len({racks.get(b) for b in p.replicas}) < len(p.replicas)]


def troubled_places(
    seed: int,
    *,
    steps: int = 250,
    chance: float = 0.08,
    rivals: bool = False,
    leaders: str = "restore",
    hanging: bool = False,
    **more: Any,
) -> World:
    """A version roll under trouble and hands; then quiet: every partition is in three zones, and nothing moves."""
    world = World(seed=seed)
    spec: dict[str, Any] = SPEC | {"balance": f"{SPEC['balance']}, preferredLeaders: {leaders}"} | more
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=18, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    hands, trouble = Hands(world), Trouble(world, chance=chance, rivals=rivals, hanging=hanging, **spec)
    for n in range(steps):
        if n == steps // 2:
            world.declare(a_document(**spec, version="4.2.0"))
        hands.step()
        trouble.step()
    trouble.stop()
    world.person(facts.ClusterResumed("the trouble is over"))
    world.run(until=lambda w: w.quorum_is_whole(), ticks=900)
    hands.let_go()
    world.run(until=lambda w: w.is_converged() and not shared(w), ticks=1500)
    for _ in range(65):
        world.tick()
    world.converge(ticks=1500)
    return world


@pytest.mark.parametrize("seed", range(6100, 6104))
def test_replicas_end_in_zones_of_their_own_whatever_happens(seed: int) -> None:
    world = troubled_places(seed)
    causes = [r.data["cause"] for r in world.history() if r.type == "topics.replication_requested"]
    assert "zones" in causes
    assert not world.kafka.snapshot().throttles.any
    assert not world.kafka.lost()


@pytest.mark.parametrize("seed", range(6130, 6133))
def test_replicas_end_in_zones_of_their_own_though_their_moves_hang(seed: int) -> None:
    world = troubled_places(seed, chance=0.15, hanging=True, healing="hungAfter: 20s")
    assert not world.kafka.snapshot().throttles.any
    assert not world.kafka.lost()


@pytest.mark.parametrize("seed", range(6150, 6153))
def test_leaders_end_even_by_order_whatever_happens_and_no_batch_of_it_copies_anything(seed: int) -> None:
    world = troubled_places(seed, leaders="even")
    batches = [r.data for r in world.history() if r.type == "topics.replication_requested"]
    turned = [m for b in batches if b["cause"] == "leaders" for m in b["moves"]]
    assert all(sorted(m["before"]) == sorted(m["after"]) for m in turned)
    receivers = [i.service_id for i in world.view().receivers()]
    uneven = deviations(world.kafka.snapshot(), receivers)["leaders"] > 20
    assert not uneven or even_orders(world.kafka.snapshot(), receivers) == {}
    assert all(p.leader == p.replicas[0] for p in world.kafka.partitions())
    assert not world.kafka.lost()


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_replicas_end_in_zones_of_their_own_after_much_more_trouble() -> None:
    sweep(
        "troubled_places, chance=0.15, seed",
        range(6200, 6320),
        lambda s: troubled_places(s, chance=0.15, rivals=s % 2 == 0, leaders="even" if s % 3 == 0 else "restore"),
    )


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_replicas_end_in_zones_of_their_own_after_much_more_that_hangs() -> None:
    spec: dict[str, Any] = {"healing": "hungAfter: 20s, perDay: 20"}
    sweep(
        "troubled_places, chance=0.15, hanging=True, seed",
        range(6350, 6430),
        lambda s: troubled_places(s, chance=0.15, rivals=s % 2 == 0, hanging=True, **spec),
    )
