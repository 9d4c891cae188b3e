"""Two broker sets through a cluster's life, quiet and with seeded trouble: P1-P9 after every step, and no replica goes
from one set to the other."""

from typing import Any

import pytest

from controlplane.cluster.broker_sets import broker_sets
from events import facts
from planner.observed import PartitionSeen
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World

SETS = (
    "brokerSets: [{name: fast, pools: [brokers], topics: [orders]}, {name: rest, pools: [others], topics: ['*']}], "
    "perDayGib: 400, placement: {correct: true}"
)
SPEC: dict[str, Any] = {"brokers": 3, "others": 3, "balance": SETS, "throttle": ", throttleMibPerS: 40"}


def astray(world: World) -> list[PartitionSeen]:
    """Partitions with a replica, or one that is being added, on a broker of another set."""
    sets = broker_sets(world.view())
    return [p for p in world.kafka.partitions() if sets.outside(p.name.topic, sorted({*p.replicas, *p.adding}))]


class TwoSets(World):
    """A world whose topics are each in a set. `strict`: from then on none of `orders` and `logs` may be astray after
    any tick; what clients make in the meantime may, until Kedge has seen it."""

    strict = False

    def tick(self) -> tuple[int, int]:
        done = super().tick()
        if self.strict:
            ours = [str(p.name) for p in astray(self) if p.name.topic in ("orders", "logs")]
            assert not ours, self.sentence()
        return done

    def _is_quiet(self) -> bool:
        """What clients put anywhere is seen by the next look, and then is work."""
        return super()._is_quiet() and not astray(self)


def two_sets(seed: int = 0, **more: Any) -> TwoSets:
    """Both topics were made anywhere, by clients; what was outside of its set has come home."""
    world = TwoSets(seed=seed)
    world.declare(a_document(**SPEC | more))
    world.converge(ticks=300)
    world.kafka.create_topic("orders", partitions=9, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.kafka.create_topic("logs", partitions=9, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    assert astray(world), "made across both"
    world.disturbed()
    world.run(until=lambda w: not astray(w), ticks=600)
    world.converge(ticks=300)
    world.strict = True
    return world


def test_topics_stay_in_their_sets_through_rolls_growth_shrinking_and_a_lost_vm() -> None:
    world = two_sets()
    world.declare(a_document(**SPEC, version="4.2.0"))
    world.converge(ticks=1500)
    for brokers, others in ((6, 3), (6, 6), (3, 3)):
        world.declare(a_document(**SPEC | {"brokers": brokers, "others": others}, version="4.2.0"))
        world.converge(ticks=1500)
    world.machines.power_cut(max(i.key for i in world.view().brokers() if i.planned.pool == "others"))
    world.disturbed()
    world.converge(ticks=1500)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}
    assert not world.kafka.lost()


def test_a_topic_that_is_given_to_another_set_moves_there_and_nothing_else_does() -> None:
    world = two_sets()
    kept = {p.name: p.replicas for p in world.kafka.partitions() if p.name.topic == "orders"}
    world.strict = False
    every = SETS.replace("topics: [orders]", "topics: [orders, logs]")
    world.declare(a_document(**SPEC | {"balance": every}))
    world.run(until=lambda w: w.is_converged() and not astray(w), ticks=1500)
    fast = {i.service_id for i in world.view().brokers() if i.planned.pool == "brokers"}
    assert {b for p in world.kafka.partitions() if p.name.topic == "logs" for b in p.replicas} == fast
    assert {p.name: p.replicas for p in world.kafka.partitions() if p.name.topic == "orders"} == kept


def troubled_sets(seed: int, *, steps: int = 200, chance: float = 0.08) -> World:
    """A version roll under trouble, then quiet: nobody ever was outside of a set."""
    world = two_sets(seed)
    trouble = Trouble(world, chance=chance, **SPEC)
    for n in range(steps):
        if n == steps // 3:
            world.declare(a_document(**SPEC, version="4.2.0"))
        trouble.step()
    trouble.stop()
    world.person(facts.ClusterResumed("the trouble is over"))
    world.run(until=lambda w: w.quorum_is_whole(), ticks=900)
    world.run(until=lambda w: w.is_converged() and not astray(w), ticks=1500)
    for _ in range(65):
        world.tick()
    world.converge(ticks=1500)
    assert not world.kafka.lost()
    return world


@pytest.mark.parametrize("seed", range(8700, 8703))
def test_topics_stay_in_their_sets_whatever_happens(seed: int) -> None:
    troubled_sets(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_topics_stay_in_their_sets_after_much_more_trouble() -> None:
    sweep("troubled_sets, steps=400, seed", range(87_000, 87_060), lambda seed: troubled_sets(seed, steps=400))
