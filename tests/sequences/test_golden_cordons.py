"""The stories of brokers that are cordoned while they leave or are kept empty, on Kafka 4.3."""

from collections.abc import Callable

import pytest

from controlplane.converger.steps.rolls.cordons import brokers_to_cordon
from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.asking import ask_for_evacuation
from tests.sim.crashes import Crashes
from tests.sim.world import World

SINCE = "4.3.0"


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**{"version": SINCE, **spec}))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _cordoned(world: World) -> frozenset[int]:
    return world.kafka.snapshot().cordoned


def _moves(world: World) -> bool:
    drain = world.view().moves.drain
    return drain is not None and drain.progress.batch >= 0


def topic_is_made_while_a_broker_leaves(world: World) -> None:
    """Kafka places none of it on the leaving broker: one round is enough, and no cordon is left behind."""
    _born(world, brokers=4)
    world.declare(a_document(version=SINCE, brokers=4, machine="medium"))
    world.run(until=_moves, ticks=200)
    assert _cordoned(world) == {1000}
    world.kafka.create_topic("payments", partitions=12, rf=3, min_isr=2, bytes_per_partition=5_000_000)
    assert not [p for p in world.kafka.snapshot().hosted_by(1000) if p.name.topic == "payments"]
    world.converge(ticks=900)
    assert {r.data["round"] for r in world.history() if r.type == "drain.requested"} == {1}
    assert not _cordoned(world)


def broker_is_kept_empty_by_a_cordon(world: World) -> None:
    """New topics go past it for as long as a person wants it empty, and not longer."""
    _born(world, brokers=6)
    ask_for_evacuation(world, "brokers-a-0.g1", "strange noises")
    world.converge(ticks=200)
    assert _cordoned(world) == {1000}
    world.kafka.create_topic("payments", partitions=12, rf=3, min_isr=2, bytes_per_partition=5_000_000)
    assert world.kafka_hosts(1000) == 0
    world.person(facts.EvacuationEnded(("brokers-a-0.g1",), "asked by anna: it was the fan"))
    world.run(until=lambda w: not _cordoned(w), ticks=20)
    world.kafka.create_topic("clicks", partitions=12, rf=3, min_isr=2, bytes_per_partition=5_000_000)
    assert world.kafka_hosts(1000) > 0
    world.converge(ticks=200)


def drain_of_a_cordoned_broker_is_aborted(world: World) -> None:
    """It stays, and takes replicas again."""
    _born(world, brokers=4)
    world.declare(a_document(version=SINCE, brokers=4, machine="medium"))
    world.run(until=lambda w: bool(_cordoned(w)), ticks=200)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert not _cordoned(world)
    world.person(facts.ClusterResumed("go on"))
    world.converge(ticks=600)


def nobody_is_cordoned_below_the_level(world: World) -> None:
    """The binaries know cordons during the upgrade to 4.3, the controllers heed them from its metadata level on."""
    _born(world, version="4.2.0", brokers=4)
    world.declare(a_document(version=SINCE, brokers=4))
    wanted = False
    for _ in range(900):
        world.tick()
        wanted |= bool(brokers_to_cordon(world.view()))
        assert not _cordoned(world)
        if world.view().roll.converged == world.view().generation:
            break
    world.converge(ticks=300)
    assert wanted


SCENARIOS: tuple[Callable[[World], None], ...] = (
    topic_is_made_while_a_broker_leaves,
    broker_is_kept_empty_by_a_cordon,
    drain_of_a_cordoned_broker_is_aborted,
    nobody_is_cordoned_below_the_level,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


CRASHES = Crashes(topic_is_made_while_a_broker_leaves)
CORDONS = [n for n, name in enumerate(CRASHES.points, start=1) if name.endswith("set_cordons")]
"""Before and after each setting and lifting of a cordon."""


@pytest.mark.parametrize("point", CORDONS, ids=CRASHES.id_of)
def test_a_crash_around_a_cordon_leaves_none_behind(point: int) -> None:
    CRASHES.at(point)
