"""Stages under chance: whoever is declared first, whatever dies meanwhile, no stage begins before the one before it."""

import random
from datetime import datetime, timedelta

import pytest

from controlplane.cluster.lifecycle import SERVING
from events.spec.model import KafkaClusterDocument
from tests.builders import a_document
from tests.sim.imagefleet import ImageFleet
from tests.sim.world import World

STAGES = {"dev": "dev", "stage": "staging", "shop": "production"}


@pytest.mark.parametrize("seed", range(4))
def test_stages_begin_one_after_the_other_whatever_dies_meanwhile(seed: int) -> None:
    """Servers and Kafka processes die at random ticks. A service counts as begun with its restart's record."""
    chance = random.Random(seed)
    fleet = ImageFleet(**{name: _document(name, stage, 3) for name, stage in STAGES.items()})
    for name in chance.sample(sorted(STAGES), k=len(STAGES)):
        fleet.worlds[name].declare(_document(name, STAGES[name], 7))
    for _ in range(400):
        if all(_is_reached(w) for w in fleet.worlds.values()):
            break
        world = fleet.worlds[chance.choice(sorted(STAGES))]
        if chance.random() < 0.05:
            world.start_server()
        elif chance.random() < 0.05:
            _stop_a_broker(world, chance)
        fleet.tick()
    said = {name: world.sentence() for name, world in fleet.worlds.items()}
    assert all(_is_reached(w) for w in fleet.worlds.values()), f"seed {seed}: {said}"
    dev, stage, shop = fleet.worlds.values()
    for earlier, later in ((dev, stage), (stage, shop)):
        soaked = _at(earlier, "recycle.completed", "generation", 2) + timedelta(seconds=30)
        assert _at(later, "restart.requested", "generation", 2) >= soaked, f"seed {seed}: {said}"


def _document(name: str, stage: str, partitions: int) -> KafkaClusterDocument:
    labels, config = f", labels: {{stage: {stage}}}", f", config: {{num.partitions: {partitions}}}"
    return a_document(controllers=1, name=name + labels, config=config, soak="30s")


def _stop_a_broker(world: World, chance: random.Random) -> None:
    serving = [i.key for i in world.view().brokers() if i.phase in SERVING and world.kafka.serves(i.service_id)]
    if len(serving) == 3:
        world.machines.stop_process(chance.choice(serving))


def _is_reached(world: World) -> bool:
    view = world.view()
    return view.generation == 2 and view.roll.converged == 2 and not view.roll.recycling


def _at(world: World, event: str, field: str, value: int) -> datetime:
    """When the first such event was recorded; the clocks of a fleet's worlds go alike."""
    return next(r.recorded_at for r in world.history() if r.type == event and r.data[field] == value)
