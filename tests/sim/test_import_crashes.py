"""A cluster of others is imported, emptied onto ours and let go: the server dies at each point. P1-P9 hold after every
step, and nothing of theirs is stopped by anybody but their owner."""

import pytest

from controlplane.cluster.external_brokers import external_brokers
from tests.external_clusters import THEIRS, an_external_document, made_by_others
from tests.sim.crashes import Crashes
from tests.sim.world import World


def taken_over(world: World) -> None:
    """Imported; a pool joins; all brokers of theirs are emptied; their owner stops them; they are forgotten."""
    made_by_others(world.kafka)
    world.declare(an_external_document())
    world.converge(ticks=200)
    world.declare(an_external_document(ours=3))
    world.converge(ticks=900)
    world.declare(an_external_document(ours=3, theirs=()))
    world.converge(ticks=900)
    assert not any(world.kafka_hosts(b) for b in THEIRS)
    assert all(world.kafka.is_running(b) for b in THEIRS)
    for broker in THEIRS:
        world.kafka.stop_broker(broker)
    world.disturbed()
    world.run(until=lambda w: not external_brokers(w.view()), ticks=400)
    world.converge(ticks=200)
    assert sorted(world.kafka.snapshot().brokers) == [1000, 1001, 1002]
    assert len(world.machines.vms) == 3


CRASHES = Crashes(taken_over)


@pytest.mark.parametrize(
    "kind", ["after cluster.imported", "after external.drained", "after unregister_broker", "before external.left"]
)
def test_an_import_survives_a_crash(kind: str) -> None:
    CRASHES.at(next(number for number, name in enumerate(CRASHES.points, start=1) if name.startswith(kind)))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_an_import_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()
