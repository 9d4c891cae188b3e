"""Each scenario tells a whole roll as a readable log, compared with the one on record: a changed story is a decision.

`KEDGE_GOLDEN=update python -m pytest tests/sequences` writes them anew; review the difference before it is committed.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.converger.drains import LOSS_GRACE_S
from events import facts
from tests.builders import a_document
from tests.sim.world import World

GOLDEN = Path(__file__).parent / "golden"


def _with_data(world: World, name: str = "orders") -> None:
    world.kafka.create_topic(name, partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _born(world: World) -> None:
    world.declare(a_document())
    world.converge()


def create(world: World) -> None:
    _born(world)


def version_roll(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.converge()


def scale_up_and_down(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(brokers=6))
    world.converge()
    _with_data(world, "payments")
    world.declare(a_document(brokers=3))
    world.converge()


def spec_changes_mid_roll(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.view().drain is not None, ticks=100)
    world.declare(a_document(version="4.2.0", machine="medium"))
    world.converge(ticks=900)


def broker_of_another_rack_down(world: World) -> None:
    _born(world)
    _with_data(world)
    world.machines.vms["brokers-b-0.g1"].deaf = True
    world.machines.stop_process("brokers-b-0.g1")
    world.declare(a_document(version="4.2.0"))
    for _ in range(60):
        world.tick()
    world.machines.vms["brokers-b-0.g1"].deaf = False
    world.converge()


def new_broker_dies_mid_drain(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: bool(w.view().drain and w.view().drain.batch >= 0), ticks=100)
    world.machines.power_cut("brokers-a-0.g2")
    world.converge(ticks=900)


def old_broker_dies_mid_drain(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: bool(w.view().drain and w.view().drain.batch >= 0), ticks=100)
    world.machines.power_cut("brokers-a-0.g1")
    world.converge(ticks=900)


def vm_never_joins(world: World) -> None:
    _born(world)
    world.machines.stillborn.add("brokers-a-0")
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=900)


def topic_arrives_while_it_lingers(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: bool(w.view().in_phase("lingering")), ticks=100)  # type: ignore[arg-type]
    world.kafka.create_topic("late", partitions=8, rf=3, min_isr=2, bytes_per_partition=1_000_000)
    world.converge(ticks=600)


def somebody_reassigns_by_hand(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: bool(w.view().drain and w.view().drain.plan_sha256), ticks=100)
    moving = next(p for p in world.kafka.partitions() if 1000 in p.replicas)
    world.kafka.reassign({moving.name: tuple(reversed(moving.replicas))})
    world.converge()


def terraform_dies_half_way(world: World) -> None:
    _born(world)
    world.interrupt_runs = 2
    world.declare(a_document(brokers=6))
    world.converge()


def pause_and_resume(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.view().drain is not None, ticks=100)
    world.person(facts.ClusterPaused("lunch", None))
    for _ in range(60):
        world.tick()
    world.person(facts.ClusterResumed("back"))
    world.converge()


def broker_lost_for_good(world: World) -> None:
    _born(world)
    _with_data(world)
    world.machines.power_cut("brokers-c-0.g1")
    for _ in range(int(LOSS_GRACE_S) + 10):
        world.tick()
    world.converge()


def controller_lost_for_good(world: World) -> None:
    _born(world)
    world.machines.power_cut("controllers-b-0.g1")
    for _ in range(int(LOSS_GRACE_S) + 10):
        world.tick()
    world.converge()


def delete_with_its_name(world: World) -> None:
    _born(world)
    world.person(facts.ClusterDeletionRequested("orders", "no longer needed"))
    world.run(until=lambda w: w.view().deleted, ticks=60)
    assert not world.machines.vms


SCENARIOS: tuple[Callable[[World], None], ...] = (
    create,
    version_roll,
    scale_up_and_down,
    spec_changes_mid_roll,
    broker_of_another_rack_down,
    new_broker_dies_mid_drain,
    old_broker_dies_mid_drain,
    vm_never_joins,
    topic_arrives_while_it_lingers,
    somebody_reassigns_by_hand,
    terraform_dies_half_way,
    pause_and_resume,
    broker_lost_for_good,
    controller_lost_for_good,
    delete_with_its_name,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    world = World()
    scenario(world)
    told = "\n".join(line.rstrip() for line in world.story) + "\n"
    record = GOLDEN / f"{scenario.__name__}.log"
    if os.environ.get("KEDGE_GOLDEN") == "update":
        record.write_text(told)
    assert told == record.read_text()
