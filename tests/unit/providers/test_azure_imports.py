"""What exists on Azure is imported by its own ids; a VM comes with its network interface, unless that is the node's."""

from datetime import UTC, datetime

import pytest

from providers.azure.ids import canonical, machine_of
from providers.azure.imports import imports_of
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing
from providers.tf.abilities import Import
from tests.fakes.resources import PLACE, UID, address, attachment, binding, instance, resources, volume

ACCOUNT = "00000000-1111-2222-3333-444444444444"
GROUP = f"/subscriptions/{ACCOUNT}/resourceGroups/kedge/providers"
VM, NIC = f"{GROUP}/Microsoft.Compute/virtualMachines/b-0", f"{GROUP}/Microsoft.Network/networkInterfaces"
DISK = f"{GROUP}/Microsoft.Compute/disks/data"

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
OWNED = (address("b-0"), binding("b-0", "b-0.g1"))
THERE = Listing(
    PLACE,
    datetime.now(UTC),
    (CloudInstance(VM, UID, "b-0", 1, "why", "a", InstanceState.RUNNING, None),),
    (CloudVolume("b-0.data.v1", UID, "a", 1, "b-0.g1", id=DISK),),
    node_address_ids={(UID, "b-0"): f"{NIC}/owned"},
)


def at(resource: str, key: str, found: str) -> Import:
    return Import(f'module.kedge.{resource}["{key}"]', found)


def test_a_vm_is_imported_with_the_interface_of_its_name() -> None:
    assert imports_of("instance/b-0.g1", resources(*BROKER), THERE) == (
        at("azurerm_linux_virtual_machine.instance", "b-0.g1", VM),
        at("azurerm_network_interface.instance_nic", "b-0.g1", f"{NIC}/b-0"),
    )


def test_a_vm_with_its_nodes_interface_is_imported_alone_and_its_binding_is_a_name() -> None:
    wanted = resources(*BROKER, *OWNED)
    assert imports_of("instance/b-0.g1", wanted, THERE) == (at("azurerm_linux_virtual_machine.instance", "b-0.g1", VM),)
    assert imports_of("address/b-0", wanted, THERE) == (at("azurerm_network_interface.address", "b-0", f"{NIC}/owned"),)
    assert imports_of("binding/b-0.g1", wanted, THERE) == ()


def test_a_disk_and_its_place_on_a_vm_are_imported_by_both_ids() -> None:
    assert imports_of("volume/b-0.data.v1", resources(*BROKER), THERE) == (
        at("azurerm_managed_disk.volume", "b-0.data.v1", DISK),
    )
    tie = at("azurerm_virtual_machine_data_disk_attachment.attachment", "b-0.g1.data", f"{VM}/dataDisks/data")
    assert imports_of("attachment/b-0.g1.data", resources(*BROKER), THERE) == (tie,)


def test_a_vms_own_disk_on_azure_is_a_name_only() -> None:
    wanted = resources(instance("b-0"), volume("b-0", kind="ephemeral"), attachment("b-0.g1", "b-0.data.v1"))
    assert imports_of("volume/b-0.data.v1", wanted, THERE) == ()
    assert imports_of("attachment/b-0.g1.data", wanted, THERE) == ()


@pytest.mark.parametrize("target", ["instance/b-9.g1", "volume/b-9.data.v1", "address/b-9", "something/else"])
def test_what_has_no_id_on_azure_is_a_matter_for_a_person(target: str) -> None:
    assert imports_of(target, resources(*BROKER), THERE) is None


def test_an_id_has_one_spelling() -> None:
    spelled = f"/subscriptions/{ACCOUNT}/resourcegroups/KEDGE/providers/microsoft.compute/VIRTUALMACHINES/B-0"
    assert canonical(spelled) == VM
    assert machine_of(spelled, ACCOUNT) == ("kedge", "b-0")


@pytest.mark.parametrize(
    "instance_id",
    ["", "i-0123", f"{VM}/extensions/x", DISK, VM.replace(ACCOUNT, "9" * 8 + ACCOUNT[8:]), f"{VM}?x=1", "../../etc"],
)
def test_what_is_no_vm_of_the_subscription_is_none(instance_id: str) -> None:
    assert machine_of(instance_id, ACCOUNT) is None
