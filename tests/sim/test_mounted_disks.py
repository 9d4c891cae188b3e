"""A cloud that takes no mounted disk from a VM that runs: rolls and deletions end there, whether agents hear or not."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.wire import ServiceDocument
from events import facts
from tests.builders import a_document
from tests.sim.machines import Machines
from tests.sim.vms import Vm
from tests.sim.world import World


def _holding(**spec: Any) -> World:
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


class DyingAgents(Machines):
    """The agent of `victim` dies once it has said that its service is stopped, before it unmounts anything."""

    victim = ""

    def _mount(self, vm: Vm, services: Sequence[ServiceDocument]) -> None:
        if vm.key == self.victim and not vm.processes:
            vm.deaf = True
            return
        super()._mount(vm, services)


class DyingWorld(World):
    machines: DyingAgents

    def make_machines(self) -> Machines:
        return DyingAgents(self.kafka, self.latest, self.clock)


@pytest.mark.parametrize("cure", ["the VM is terminated", "the agent is back"])
def test_an_agent_that_dies_between_stop_and_unmount_of_a_release_costs_no_disk_and_a_person_is_told_what_to_do(
    cure: str,
) -> None:
    """Nobody said that the VM goes: it is not ended for its agent's silence, and what ends the wait is named."""
    world, spec = DyingWorld(), {"strategy": "reattach", "max_unavailable": 1}
    world.machines.holds_mounted = True
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**spec, version="4.2.0"))
    held = world.machines.victim = "brokers-a-0.g1"
    disks = {v.key for v in world.view().instances[held].planned.volumes}
    world.run(until=lambda w: "failed 6 times" in w.sentence(), ticks=1500)
    world.tick()
    told = world.view().conditions["Blocked"]
    assert (told.status, told.reason) == (True, "RunFailed")
    assert "or terminate that VM at the cloud, which keeps the disks" in told.message
    assert world.machines.vms[held].alive
    world.machines.victim = ""
    if cure == "the agent is back":
        world.machines.vms[held].deaf = False
    else:
        world.machines.power_cut(held)
    world.person(facts.ClusterResumed("mended by hand"))
    world.converge(ticks=2000)
    assert disks <= world.machines.volumes.keys()
