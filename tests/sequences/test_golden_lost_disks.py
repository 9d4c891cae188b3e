"""A broker's VM is lost under `migrate` and `lostDisk: reattach`: with its disk, without it, and with one that no
broker comes up on."""

from collections.abc import Callable

import pytest

from controlplane.converger.situation.situation import LOSS_GRACE_S
from providers.handover import Handover
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World

KEY, VOLUME = "brokers-c-0.g1", "brokers-c-0.data.v1"


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**{"healing": "lostDisk: reattach", **spec}))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _mended(world: World, ticks: int = 900) -> None:
    for _ in range(int(LOSS_GRACE_S) + 10):
        world.tick()
    world.converge(ticks=ticks)
    assert all(set(p.isr) == set(p.replicas) for p in world.kafka.partitions())
    assert world.kafka.under_min_isr_s == 0


def _has_id(world: World, broker: int) -> None:
    """Which id the broker of the node has by now, and that no other of its node is registered."""
    (there,) = [i for i in world.view().alive() if i.node == "brokers-c-0"]
    assert there.service_id == broker
    assert {*world.kafka.snapshot().brokers} == {1000, 1001, broker}


def lost_vm_with_a_living_disk(world: World) -> None:
    _born(world)
    world.machines.power_cut(KEY)
    _mended(world)
    _has_id(world, 1002)
    assert world.machines.volumes[VOLUME].attached_to == "brokers-c-0.g2"
    assert not [r for r in world.history() if r.type.startswith("drain.")]


def lost_vm_with_a_living_disk_where_the_old_vm_goes_first(world: World) -> None:
    world.machines.handover = Handover.DELETE_FIRST
    _born(world)
    world.machines.power_cut(KEY)
    _mended(world)
    _has_id(world, 1002)
    assert world.machines.volumes[VOLUME].attached_to == "brokers-c-0.g2"


def lost_vm_whose_spec_wants_copies(world: World) -> None:
    """As every spec that says nothing."""
    _born(world, healing="")
    world.machines.power_cut(KEY)
    _mended(world)
    _has_id(world, 1003)


def lost_vm_whose_disk_is_gone(world: World) -> None:
    _born(world)
    world.machines.lose_disks(KEY)
    world.machines.power_cut(KEY)
    _mended(world)
    _has_id(world, 1003)


def lost_vm_whose_successor_never_joins(world: World) -> None:
    """Its disk is there until all that was on it is in sync elsewhere."""
    _born(world)
    world.machines.dead_volumes.add(VOLUME)
    world.machines.power_cut(KEY)
    world.run(until=lambda w: any(r.type == "instance.drained" for r in w.history()), ticks=1500)
    assert VOLUME in world.machines.volumes
    _mended(world)
    _has_id(world, 1003)
    assert VOLUME not in world.machines.volumes


def lost_vm_whose_disk_comes_to_no_other(world: World) -> None:
    _born(world)
    world.machines.stuck_volumes.add(VOLUME)
    world.machines.power_cut(KEY)
    world.run(until=lambda w: any(r.type == "instance.drained" for r in w.history()), ticks=1500)
    assert VOLUME in world.machines.volumes
    _mended(world)
    _has_id(world, 1003)


def lost_vm_whose_disk_comes_to_no_other_where_the_old_vm_goes_first(world: World) -> None:
    world.machines.handover = Handover.DELETE_FIRST
    _born(world)
    world.machines.stuck_volumes.add(VOLUME)
    world.machines.power_cut(KEY)
    _mended(world, ticks=1500)
    _has_id(world, 1003)


def lost_vm_whose_disk_goes_while_it_passes_on(world: World) -> None:
    _born(world)
    world.machines.power_cut(KEY)
    world.run(until=lambda w: any(i.planned.generation == 2 for i in w.view().brokers()), ticks=500)
    world.machines.volumes.pop(VOLUME)
    _mended(world, ticks=1500)
    _has_id(world, 1003)


SCENARIOS = (
    lost_vm_with_a_living_disk,
    lost_vm_with_a_living_disk_where_the_old_vm_goes_first,
    lost_vm_whose_spec_wants_copies,
    lost_vm_whose_disk_is_gone,
    lost_vm_whose_successor_never_joins,
    lost_vm_whose_disk_comes_to_no_other,
    lost_vm_whose_disk_comes_to_no_other_where_the_old_vm_goes_first,
    lost_vm_whose_disk_goes_while_it_passes_on,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_a_lost_disk_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
