"""The stories of another replication factor, told and compared as those of rolls are."""

from collections.abc import Callable

import pytest

from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.crashes import Crashes
from tests.sim.topics import cancel_factor, change_factor, declare_topics, shape, topic_text
from tests.sim.world import World

SLOW = ", throttleMibPerS: 20"
SIZE = 50_000_000


def _born(world: World, rf: int, *, partitions: int = 6) -> None:
    """Six brokers in three zones, and a topic that no document declares."""
    world.declare(a_document(brokers=6, throttle=SLOW))
    world.converge()
    world.kafka.create_topic("clicks", partitions=partitions, rf=rf, min_isr=2, bytes_per_partition=SIZE)
    for _ in range(3):
        world.tick()


def _causes(world: World) -> list[str]:
    return [str(r.data["cause"]) for r in world.history() if r.type == "topics.replication_requested"]


def factor_raised(world: World) -> None:
    """2 -> 3 replicas: the third zone of each partition, in throttled batches, then it is over."""
    _born(world, rf=2)
    moved_before = world.kafka.bytes_moved
    change_factor(world, "clicks", 3)
    world.converge()
    assert shape(world, "clicks") == (6, {3})
    racks = {b: seen.rack for b, seen in world.kafka.snapshot().brokers.items()}
    assert all(len({racks[b] for b in p.replicas}) == 3 for p in world.kafka.partitions())
    assert world.kafka.bytes_moved - moved_before == pytest.approx(6 * SIZE), "one copy of each"
    assert set(_causes(world)) == {"factor"}
    assert not world.kafka.snapshot().throttles.any


def factor_lowered(world: World) -> None:
    """3 -> 2 replicas, as many as min ISR: nothing is copied, and no leader changes."""
    _born(world, rf=3)
    moved_before = world.kafka.bytes_moved
    leaders = {p.name: p.leader for p in world.kafka.partitions()}
    change_factor(world, "clicks", 2)
    world.converge()
    assert shape(world, "clicks") == (6, {2})
    assert world.kafka.bytes_moved == moved_before
    assert all(leaders[p.name] in p.replicas for p in world.kafka.partitions())
    held = [sum(b in p.replicas for p in world.kafka.partitions()) for b in range(1000, 1006)]
    assert max(held) - min(held) <= 1, "what goes is on who holds most"


def factor_is_cancelled_in_its_midst(world: World) -> None:
    """The batch that runs ends, the others stay as they were."""
    _born(world, rf=2, partitions=60)
    change_factor(world, "clicks", 3)
    world.run(until=lambda w: bool(w.kafka.snapshot().moving()), ticks=100)
    cancel_factor(world, "clicks")
    world.converge()
    assert shape(world, "clicks") == (60, {2, 3})
    assert len(_causes(world)) == 1


def factor_waits_for_a_broker_that_dies(world: World) -> None:
    """A target is lost: its moves are taken back, its VM is replaced, then the rest is planned anew."""
    _born(world, rf=2)
    change_factor(world, "clicks", 3)
    world.run(until=lambda w: bool(w.kafka.snapshot().moving()), ticks=100)
    victim = next(
        i
        for i in world.view().brokers()
        if i.service_id in {b for p in world.kafka.snapshot().moving() for b in p.adding}
    )
    world.machines.power_cut(victim.key)
    world.disturbed()
    world.converge(ticks=1500)
    assert shape(world, "clicks") == (6, {3})
    assert not world.kafka.lost()


def declaration_overtakes_the_factor(world: World) -> None:
    """A document that declares the topic with 2 replicas comes while it grows to 3: it has the last word."""
    _born(world, rf=2, partitions=60)
    change_factor(world, "clicks", 3)
    world.run(until=lambda w: bool(w.kafka.snapshot().moving()), ticks=100)
    declare_topics(world, topic_text("clicks", partitions=60, replicas=2, config="{min.insync.replicas: 2}"))
    world.run(until=lambda w: not w.view().topics.factors, ticks=400)
    assert [r.data["reason"] for r in world.history() if r.type == "replication_factor.ended"] == [
        "a document declares 2 replicas now"
    ]


STORIES = (
    factor_raised,
    factor_lowered,
    factor_is_cancelled_in_its_midst,
    factor_waits_for_a_broker_that_dies,
    declaration_overtakes_the_factor,
)


@pytest.mark.parametrize("scenario", STORIES)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def test_it_survives_a_crash_at_every_point() -> None:
    """`kill -9` of the server: what is left is read off Kafka, and nothing is done twice."""
    crashes = Crashes(factor_raised)
    first = next(n for n, name in enumerate(crashes.points, start=1) if "replication" in name or "Reassign" in name)
    for point in range(first, len(crashes.points) + 1):
        crashes.at(point)
