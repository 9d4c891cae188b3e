"""A cluster's whole life on Azure: the real Terraform, a stand-in for the vendor's provider, and our fake of the cloud.

Each run goes through the guard as in production. What a stand-in proves and what it does not is in
tests/standins/README.md.
"""

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from providers.azure.permissions import OF_CALLS
from providers.base import InstanceState, Resources, RunKind
from providers.cloud_init import born_with
from providers.errors import (
    CloudUnavailable,
    NoCapacity,
    QuotaExceeded,
    ResourceConflict,
    RunInterrupted,
    TerraformFailed,
    UnsafeChange,
)
from providers.tf.state_file import state_file
from tests.fakes.clouds.azure_hands import PLACE, REGION, SECRET
from tests.fakes.clouds.faults import Fault
from tests.fakes.resources import UID, address, attachment, binding, instance, run, surge, targets, volume
from tests.terraform.azurelife import AzureBench, azure_bench
from tests.terraform.spent import CONTROLLER, GONE, NOTHING, VM, Spent

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
OWN_DISK = (
    instance("b-1", zone="b", spot=True),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
PRE_EMPTIBLE = {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": -1}}
KEPT = (volume("c-0", "meta", zone="c"), address("c-0", zone="c"))
OLD = (instance("c-0", zone="c"), attachment("c-0.g1", "c-0.meta.v1"), binding("c-0", "c-0.g1"))
NEW = (instance("c-0", 2, zone="c"), attachment("c-0.g2", "c-0.meta.v1"), binding("c-0", "c-0.g2"))
HANDED_OVER = {"instance/c-0.g1", "attachment/c-0.g1.meta", "binding/c-0.g1"}
TAKEN_OVER = {"instance/c-0.g2", "attachment/c-0.g2.meta", "binding/c-0.g2"}


@pytest.fixture(params=["stand-in"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureBench]:
    with azure_bench(tmp_path, monkeypatch) as opened:
        yield opened


def test_a_cluster_lives_and_leaves_nothing_on_azure(bench: AzureBench, tmp_path: Path) -> None:
    first = bench.set_of(*BROKER, *OWN_DISK, *KEPT, *OLD)
    made = bench.execute(surge(first, intent="azure-1"))
    assert set(made.changed) == targets(first)
    owned = bench.listing().node_addresses[UID, "c-0"]
    assert {i.key: (i.state, i.volumes, i.addresses, i.zone) for i in bench.listing().instances} == {
        "b-0.g1": (InstanceState.RUNNING, ("b-0.data.v1",), (), f"{REGION}-1"),
        "b-1.g1": (InstanceState.RUNNING, ("b-1.data.v1",), (), f"{REGION}-2"),
        "c-0.g1": (InstanceState.RUNNING, ("c-0.meta.v1",), (owned,), f"{REGION}-3"),
    }
    assert bench.vm("c-0.g1").address == owned
    is_as_the_module_promises(bench)
    assert {i.key for i in bench.listing().instances if i.spot} == {"b-1.g1"}
    bought = bench.azure.by_hand("GET", bench.vm("b-1.g1").id)["properties"]
    assert {key: bought[key] for key in PRE_EMPTIBLE} == PRE_EMPTIBLE

    writes = count_of_writes(bench)
    spent = Spent(bench.azure.calls, is_a_write)
    with spent.on(NOTHING):
        again = bench.execute(surge(first, intent="azure-1"))
    assert (again.changed, frozenset(again.done_before)) == ((), targets(first))
    assert count_of_writes(bench) == writes

    grown = bench.set_of(*BROKER, *OWN_DISK, *KEPT, *OLD, instance("b-0", 2))
    spent.on_asking_ahead(bench.cloud, grown, "instance/b-0.g2")
    with spent.on(VM):
        surged = bench.execute(surge(grown, only=frozenset({"instance/b-0.g2"}), intent="azure-2"))
    assert surged.changed == ("instance/b-0.g2",)
    is_left_alone(bench, grown)
    handover(bench, spent, owned)

    left = bench.set_of(*BROKER, *OWN_DISK, *KEPT, *NEW, instance("b-0", 2))
    gone = bench.vm("b-0.g1").id
    leaving = {"instance/b-0.g1", "attachment/b-0.g1.data"}
    with spent.on(VM):
        bench.execute(run(RunKind.RETIRE, left, deletes=leaving, intent="azure-5"))
    with spent.on(GONE):
        assert bench.cloud.describe(left.place, [gone]) == {gone: InstanceState.GONE}
    assert {v.key: v.attached_to for v in bench.listing().volumes} == {"b-0.data.v1": None, "c-0.meta.v1": "c-0.g2"}

    last = bench.set_of(instance("b-0", 2), volume("b-0"), *OWN_DISK, *KEPT, *NEW)
    bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="azure-6"))
    ended = bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="azure-6"))
    assert (ended.changed, frozenset(ended.done_before)) == ((), targets(last))
    assert things_left(bench) == []
    assert set(bench.azure.calls) <= OF_CALLS.keys(), "docs/clouds/policies/azure.json"
    holds_no_secret(tmp_path / "states")
    spent.is_told_in_the_docs("azure")


def handover(bench: AzureBench, spent: Spent, owned: str) -> None:
    """Two guarded runs: a node's address and disk go with its old VM, and come with the next one."""
    before = bench.set_of(*BROKER, *OWN_DISK, *KEPT, *OLD, instance("b-0", 2))
    with spent.on(CONTROLLER):
        released = bench.execute(run(RunKind.RELEASE, before, deletes=HANDED_OVER, intent="azure-3"))
    assert set(released.changed) == HANDED_OVER
    listing = bench.listing()
    assert "c-0.g1" not in {i.key for i in listing.instances}
    assert listing.node_addresses[UID, "c-0"] == owned
    assert next(v.attached_to for v in listing.volumes if v.key == "c-0.meta.v1") is None
    after = bench.set_of(*BROKER, *OWN_DISK, *KEPT, *NEW, instance("b-0", 2))
    with spent.on(CONTROLLER):
        bound = bench.execute(run(RunKind.BIND, after, creates=TAKEN_OVER, intent="azure-4"))
    assert set(bound.changed) == TAKEN_OVER
    new = bench.vm("c-0.g2")
    assert (new.volumes, new.addresses, new.address) == (("c-0.meta.v1",), (owned,), owned)


@pytest.mark.soak
def test_an_address_cannot_join_a_vm_that_stands(bench: AzureBench) -> None:
    free = bench.set_of(instance("c-1", zone="c"), address("c-1", zone="c"))
    bench.execute(surge(free, intent="azure-1"))
    writes = count_of_writes(bench)
    tied = bench.set_of(instance("c-1", zone="c"), address("c-1", zone="c"), binding("c-1", "c-1.g1"))
    with pytest.raises(UnsafeChange, match=r"instance/c-1\.g1: the plan would delete it"):
        bench.execute(run(RunKind.BIND, tied, creates={"binding/c-1.g1"}, intent="azure-2"))
    assert count_of_writes(bench) == writes


def is_left_alone(bench: AzureBench, stands: Resources) -> None:
    """What a run does not name is refused, and what is rendered anew for a VM that stands changes nothing of it."""
    writes = count_of_writes(bench)
    with pytest.raises(UnsafeChange, match=r"instance/c-0\.g1: the plan would create it"):
        bench.execute(run(RunKind.RELEASE, stands, deletes={"binding/c-0.g1"}, intent="azure-2"))
    other = tuple(replace(i, image="4.2.0", boot_data="{}", shape="large") for i in stands.instances)
    fewer = replace(stands, instances=other, volumes=stands.volumes[1:], attachments=stands.attachments[1:])
    with pytest.raises(UnsafeChange) as refused:
        bench.execute(run(RunKind.RELEASE, fewer, deletes=HANDED_OVER, intent="azure-2"))
    assert set(refused.value.targets) == {"volume/b-0.data.v1", "attachment/b-0.g1.data"}
    assert count_of_writes(bench) == writes


@pytest.mark.soak
def test_azures_own_words_arrive_typed(bench: AzureBench) -> None:
    wanted = bench.set_of(instance("b-0"))
    bench.azure.faults.append(Fault("PUT virtualmachines", "SkuNotAvailable", 409))
    with pytest.raises(NoCapacity, match="SkuNotAvailable"):
        bench.execute(surge(wanted, intent="azure-1"))
    bench.azure.things.quota = 0
    with pytest.raises(QuotaExceeded, match="Total Regional Cores quota"):
        bench.execute(surge(wanted, intent="azure-1"))
    bench.azure.things.quota = None
    bench.azure.failing_operations.append(("ZonalAllocationFailed", "Allocation failed."))
    with pytest.raises(NoCapacity, match="ZonalAllocationFailed"):
        bench.execute(surge(wanted, intent="azure-1"))
    # Azure keeps the record of a VM it could not place: it is neither gone nor made again over it.
    assert [i.state for i in bench.listing().instances] == [InstanceState.STOPPING]
    with pytest.raises(UnsafeChange, match=r"instance/b-0\.g1: the plan would replace it"):
        bench.execute(surge(wanted, intent="azure-1"))


@pytest.mark.soak
def test_a_vm_made_while_terraform_was_killed_is_imported_by_the_same_run(bench: AzureBench) -> None:
    wanted = bench.set_of(*BROKER)
    run_of_it = surge(wanted)
    bench.has_plugins_to_kill()
    bench.on("PUT /virtualMachines/", lambda: bench.kill(run_of_it))
    with pytest.raises(TerraformFailed, match="exit code"):
        bench.execute(run_of_it)
    (made,) = bench.listing().instances
    bench.azure.answering = None
    again = bench.execute(run_of_it)
    assert 'module.kedge.azurerm_linux_virtual_machine.instance["b-0.g1"]' in again.imported
    assert "instance/b-0.g1" in again.done_before
    assert [i.id for i in bench.listing().instances] == [made.id]
    assert state_file(bench.state_root, UID, PLACE).targets() == targets(wanted)
    assert bench.azure.calls["DELETE virtualmachines"] == 0


@pytest.mark.soak
def test_an_interrupted_surge_is_taken_up_again_without_a_twin(bench: AzureBench) -> None:
    wanted, stop = bench.set_of(*BROKER), threading.Event()
    bench.azure.operation_s = 3.0
    bench.on("PUT /virtualMachines/", stop.set)
    with pytest.raises(RunInterrupted, match="its state is saved"):
        bench.execute(surge(wanted, intent="azure-1"), stop=stop)
    bench.azure.answering, bench.azure.operation_s = None, 0.0
    bench.azure.finish()
    (made,) = bench.listing().instances
    again = bench.execute(surge(wanted, intent="azure-1"))
    assert "instance/b-0.g1" in again.done_before
    assert [i.id for i in bench.listing().instances] == [made.id]


@pytest.mark.soak
def test_a_vm_that_was_made_and_answered_with_an_error_is_imported(bench: AzureBench) -> None:
    wanted = bench.set_of(*BROKER)
    bench.azure.faults.append(Fault("PUT virtualmachines", "InternalServerError", 500, times=3, done=True))
    with pytest.raises(CloudUnavailable, match="InternalServerError"):
        bench.execute(surge(wanted, intent="azure-1"))
    (made,) = bench.listing().instances
    again = bench.execute(surge(wanted, intent="azure-1"))
    assert again.imported == ('module.kedge.azurerm_linux_virtual_machine.instance["b-0.g1"]',)
    assert [i.id for i in bench.listing().instances] == [made.id]


@pytest.mark.soak
def test_a_lost_state_is_made_again_from_what_exists(bench: AzureBench) -> None:
    stands = bench.set_of(*BROKER, *OWN_DISK, *KEPT, *OLD)
    bench.execute(surge(stands, intent="azure-1"))
    state = state_file(bench.state_root, UID, PLACE)
    assert state.set_aside("lost")
    writes = count_of_writes(bench)
    grown = bench.set_of(*BROKER, *OWN_DISK, *KEPT, *OLD, instance("b-2"))
    named = frozenset({"instance/b-2.g1"})
    result = bench.execute(replace(surge(grown, only=named, intent="azure-2"), adopts=stands))
    assert set(result.changed) == named
    assert state.targets() == targets(grown)
    assert count_of_writes(bench) == writes + 2
    bench.execute(run(RunKind.DESTROY, grown, deletes=targets(grown), intent="azure-3"))
    assert things_left(bench) == []


@pytest.mark.soak
def test_a_disk_that_is_somebody_elses_is_not_taken_over(bench: AzureBench) -> None:
    wanted = bench.set_of(volume("b-0"))
    bench.execute(surge(wanted, intent="azure-1"))
    assert state_file(bench.state_root, UID, PLACE).set_aside("lost")
    (disk,) = (t for t in bench.azure.things.by_id.values() if t["type"].endswith("/disks"))
    disk["tags"] = {}
    with pytest.raises(ResourceConflict, match=r"has /subscriptions/.*/disks/orders-b-0-data-v1-\w{20} already"):
        bench.execute(surge(wanted, intent="azure-1"))


def is_as_the_module_promises(bench: AzureBench) -> None:
    """Encrypted by the host, booted securely, no password, no extension, no public address, boot data not told."""
    things = bench.azure.things.by_id.values()
    machines = [t["properties"] for t in things if t["type"].endswith("/virtualmachines")]
    assert len(machines) == 3
    for machine in machines:
        assert machine["securityProfile"]["encryptionAtHost"] is True
        assert machine["securityProfile"]["uefiSettings"] == {"secureBootEnabled": True, "vTpmEnabled": True}
        assert machine["osProfile"]["linuxConfiguration"]["disablePasswordAuthentication"] is True
        assert machine["osProfile"]["allowExtensionOperations"] is False
    disks = [t["properties"] for t in things if t["type"].endswith("/disks") and "is_os" not in t]
    assert {(d["networkAccessPolicy"], d["publicNetworkAccess"]) for d in disks} == {("DenyAll", "Disabled")}
    assert "publicIPAddress" not in json.dumps([t["properties"] for t in things])


def count_of_writes(bench: AzureBench) -> int:
    return sum(n for action, n in bench.azure.calls.items() if is_a_write(action))


def is_a_write(action: str) -> bool:
    return action.partition(" ")[0] in ("PUT", "POST", "DELETE")


def things_left(bench: AzureBench) -> list[str]:
    """What there is besides what was there before."""
    kinds = ("/virtualmachines", "/disks", "/networkinterfaces")
    return [i for i, t in bench.azure.things.by_id.items() if t["type"].endswith(kinds)]


def holds_no_secret(folder: Path) -> None:
    """No file a run leaves has the credentials. The state is empty by now; the ones before it had the boot data."""
    left = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.name == "terraform.tfstate" for path in left)
    boot_data = base64.b64encode(born_with(BROKER[0], None).encode())
    for path in left:
        assert SECRET.encode() not in path.read_bytes(), path
    assert boot_data not in (folder / UID / "azure.production.westeurope" / "terraform.tfstate").read_bytes()
