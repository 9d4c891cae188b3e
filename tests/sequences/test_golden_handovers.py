"""Rolls on clouds where an address or a disk does not pass from VM to VM, each told as a readable log."""

from collections.abc import Callable

import pytest

from controlplane.converger.situation.situation import LOSS_GRACE_S
from events import facts
from providers.handover import Handover
from tests.builders import a_document, a_zookeeper_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World


def _born(world: World, handover: Handover, **spec: object) -> None:
    world.machines.handover = handover
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def old_vm_goes_first(world: World) -> None:
    """The controller's old VM is deleted with its release, the new one made by its bind."""
    _born(world, Handover.DELETE_FIRST)
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=900)
    assert {vm.generation for key, vm in world.machines.vms.items() if key.startswith("controllers")} == {2}


def old_vm_goes_first_reattached(world: World) -> None:
    reattach = {"strategy": "reattach", "max_unavailable": 1}
    _born(world, Handover.DELETE_FIRST, **reattach)
    world.declare(a_document(**reattach, version="4.2.0"))
    world.converge(ticks=900)
    assert {vm.generation for vm in world.machines.vms.values()} == {2}
    assert set(world.machines.broker_ids) == {1000, 1001, 1002}


def downgrade_asks_again_before_a_disk_passes(world: World) -> None:
    """Somebody raises the metadata level by hand when the VM with 4.1.1 is there that is to have the disk of a broker:
    it could not start on it, so nobody is stopped for it. The release of before lets go of the VM."""
    reattach = {"strategy": "reattach", "max_unavailable": 1}
    pinned = a_document(**reattach, version="4.2.0", config=', metadataVersion: "4.1"')
    _born(world, Handover.REBIND, **reattach, version="4.1.1")
    level = world.kafka.finalised["metadata.version"]
    world.declare(pinned)
    world.converge(ticks=900)
    assert world.kafka.finalised["metadata.version"] == level
    world.declare(a_document(**reattach, version="4.1.1"))
    world.run(until=lambda w: any(not i.bound and i.is_broker for i in w.view().alive()), ticks=400)
    successor = next(i for i in world.view().brokers() if not i.bound)
    world.kafka.finalised["metadata.version"] = 29
    for _ in range(60):
        world.tick()
    assert world.view().conditions["Blocked"].reason == "DowngradeBlocked"
    assert f"not handing over to {successor.key} with Kafka 4.1.1" in world.view().conditions["Blocked"].message
    assert world.kafka.serves(successor.service_id)
    world.declare(a_document(**reattach, version="4.2.0"))
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}
    assert world.kafka.under_min_isr_s == 0


def old_vm_goes_first_and_the_new_one_never_boots(world: World) -> None:
    _born(world, Handover.DELETE_FIRST)
    world.machines.stillborn.add("controllers-a-0")
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=1500)
    assert world.machines.vms["controllers-a-0.g3"].alive


def lost_where_the_old_vm_goes_first(world: World) -> None:
    _born(world, Handover.DELETE_FIRST)
    world.machines.power_cut("controllers-b-0.g1")
    for _ in range(int(LOSS_GRACE_S) + 10):
        world.tick()
    world.converge()
    assert world.machines.vms["controllers-b-0.g2"].bound


def abort_where_the_old_vm_goes_first(world: World) -> None:
    """Its old controller is about to stop: the node is finished, no other one is begun."""
    _born(world, Handover.DELETE_FIRST)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: any(i.awaits_bind for i in w.view().alive()), ticks=600)
    (begun,) = [i.key for i in world.view().alive() if i.awaits_bind]
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert [k for k in world.machines.vms if k.startswith("controllers") and k.endswith("g2")] == [begun]
    world.person(facts.ClusterResumed("go on"))
    world.converge()


def an_address_stays_with_its_vm(world: World) -> None:
    """Brokers roll; no ZooKeeper server is touched, since the others would look for it where it was."""
    world.machines.handover = Handover.NONE
    world.declare(a_zookeeper_document())
    world.converge(ticks=400)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.run(until=_address_stays, ticks=1200)
    assert {vm.generation for key, vm in world.machines.vms.items() if key.startswith("brokers")} == {2}
    assert {vm.generation for key, vm in world.machines.vms.items() if key.startswith("zookeepers")} == {1}


def _address_stays(world: World) -> bool:
    blocked = world.view().conditions.get("Blocked")
    return blocked is not None and blocked.status and blocked.reason == "AddressStays"


SCENARIOS = (
    an_address_stays_with_its_vm,
    old_vm_goes_first,
    old_vm_goes_first_reattached,
    downgrade_asks_again_before_a_disk_passes,
    old_vm_goes_first_and_the_new_one_never_boots,
    lost_where_the_old_vm_goes_first,
    abort_where_the_old_vm_goes_first,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_a_handover_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
