"""A cloud that takes no mounted disk from a VM that runs: rolls and deletions end there, whether agents hear or not."""

import pytest

from events import facts
from tests.builders import a_document
from tests.sim.world import World


def _holding(**spec: object) -> World:
    world = World()
    world.machines.holds_mounted = True
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    return world


def _deleted(world: World) -> None:
    world.kafka.delete_topic("orders")
    world.person(facts.ClusterDeletionRequested("orders", "no longer needed"))
    world.run(until=lambda w: w.view().deleted, ticks=400)
    assert not world.machines.volumes


def _failures(world: World) -> list[str]:
    return [str(e.data["message"]) for e in world.history() if e.type == "run.failed"]


@pytest.mark.parametrize("strategy", ["migrate", "reattach"])
def test_a_roll_and_a_deletion_end_where_mounted_disks_stay_with_their_vms(strategy: str) -> None:
    """Each stalled at its first retire: nobody had told the agent of a VM that goes to unmount anything."""
    spec = {"strategy": strategy, "max_unavailable": 1}
    world = _holding(**spec)
    world.declare(a_document(**spec, version="4.2.0"))
    world.converge(ticks=1500)
    _deleted(world)
    assert _failures(world) == []


def test_a_vm_whose_agent_hears_nothing_any_more_is_ended_before_its_disk_is_taken() -> None:
    world = _holding()
    world.machines.vms["brokers-a-0.g1"].cut = "in"
    _deleted(world)
    assert _failures(world) == []
    assert any("asking it to terminate the VM first" in line for line in world.story)
