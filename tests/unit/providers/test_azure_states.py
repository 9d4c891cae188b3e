"""Azure's words of a VM become ours; what is not known is a VM in change, never one that is gone."""

import pytest

from providers.azure.inventory import state_of
from providers.base import InstanceState

RUNNING, PENDING, STOPPING = InstanceState.RUNNING, InstanceState.PENDING, InstanceState.STOPPING


@pytest.mark.parametrize(
    ("provisioning", "power", "state"),
    [
        ("Succeeded", "running", RUNNING),
        ("Updating", "running", RUNNING),
        ("Failed", "running", RUNNING),
        ("Creating", "running", PENDING),
        ("Creating", "", PENDING),
        ("Succeeded", "starting", PENDING),
        ("Succeeded", "", PENDING),
        ("Failed", "", STOPPING),
        ("Succeeded", "stopped", STOPPING),
        ("Succeeded", "deallocated", STOPPING),
        ("Deleting", "running", STOPPING),
        ("Succeeded", "hibernating", STOPPING),
        ("SomethingNew", "somethingNew", STOPPING),
    ],
)
def test_a_vm_is_what_it_is_provisioned_to_and_then_what_its_power_says(
    provisioning: str, power: str, state: InstanceState
) -> None:
    view = {"statuses": [{"code": "ProvisioningState/x"}, *([{"code": f"PowerState/{power}"}] if power else [])]}
    assert state_of({"properties": {"provisioningState": provisioning}}, view) is state


def test_a_vm_azure_tells_nothing_of_is_in_change() -> None:
    assert state_of({}, {}) is PENDING
