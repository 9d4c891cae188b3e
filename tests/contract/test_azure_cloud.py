"""What is Azure's own: pages, throttles, answers of the wrong subscription, ids not found yet, deallocated VMs."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from providers import tags
from providers.azure.cloud import SETTLES_S, AzureCloud
from providers.azure.ids import canonical
from providers.base import InstanceResource, InstanceState
from providers.errors import AuthFailed, CloudUnavailable, NotYetGone, RateLimited, ResourceConflict
from providers.handover import Handover, handover_of
from tests.fakes.clock import Clock
from tests.fakes.clouds.azure import OTHER_ACCOUNT, OTHER_TENANT, AzureCloudFake, azure_cloud
from tests.fakes.clouds.azure_hands import GROUP, NETWORK, PLACE, SECRET, AzureHarness, write_settings
from tests.fakes.clouds.azure_things import Refusal
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hurry import at_once
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, volume

NEVER_THERE = f"{GROUP}/providers/Microsoft.Compute/virtualMachines/orders-n-9-g1-0123456789abcdef0123"


@dataclass
class Bench(AzureHarness):
    """The harness of the suite, a clock, and clouds like its own."""

    file: Path = Path()
    clock: Clock = None  # type: ignore[assignment]

    def another(self, *, installation_id: str = "test", attempts: int = 1) -> AzureCloud:
        return at_once(AzureCloud(installation_id, self.file, attempts=attempts, clock=self.clock), PLACE)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", SECRET)
    with azure_cloud() as azure:
        file, clock = write_settings(tmp_path / "azure.yaml", azure), Clock()
        yield Bench(AzureCloud("test", file, attempts=1, clock=clock), azure, file=file, clock=clock)


def nodes(count: int) -> tuple[InstanceResource, ...]:
    return tuple(instance(f"n-{i}") for i in range(count))


def test_a_listing_asks_by_pages_and_not_by_machines(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.azure.page = 5
    listing = bench.cloud.list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(12))
    assert {i.state for i in listing.instances} == {InstanceState.RUNNING}
    assert bench.azure.calls == {
        "GET subscriptions": 1,
        "LIST virtualmachines": 6,
        "LIST disks": 3,
        "LIST networkinterfaces": 3,
    }


@pytest.mark.parametrize("skip", [2, 4], ids=["of the VMs", "of their states"])
def test_a_page_that_fails_fails_the_listing(bench: Bench, skip: int) -> None:
    bench.create(resources(*nodes(12)))
    bench.azure.page = 5
    bench.azure.faults.append(Fault("LIST virtualmachines", "InternalServerError", 500, skip=skip))
    with pytest.raises(CloudUnavailable, match="InternalServerError"):
        bench.cloud.list_place(PLACE)


def test_a_throttled_page_is_asked_for_again_after_the_pause_azure_names(bench: Bench) -> None:
    bench.create(resources(*nodes(7)))
    bench.azure.page = 5
    bench.azure.faults.append(
        Fault("LIST virtualmachines", "TooManyRequests", 429, skip=1, headers={"Retry-After": "1"})
    )
    started = time.monotonic()
    assert len(bench.another(attempts=2).list_place(PLACE).instances) == 7
    assert time.monotonic() - started >= 1.0


def test_a_long_pause_is_told_and_not_slept_through(bench: Bench) -> None:
    wait = {"Retry-After": "300"}
    bench.azure.faults.append(Fault("LIST virtualmachines", "TooManyRequests", 429, times=9, headers=wait))
    started = time.monotonic()
    with pytest.raises(RateLimited, match=r"azure/production/westeurope: listing.*pause of 300 s"):
        bench.another(attempts=3).list_place(PLACE)
    assert time.monotonic() - started < 5.0
    assert bench.azure.calls["LIST virtualmachines"] == 1


def test_an_id_not_found_is_unknown_until_azure_had_time_to_settle(bench: Bench) -> None:
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += SETTLES_S - 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {NEVER_THERE: InstanceState.GONE}


def test_a_vm_that_was_seen_and_is_not_there_is_gone_at_once(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.id_of("n-0.g1")
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.RUNNING}
    bench.power_cut(vm)
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.GONE}


def test_a_resource_group_that_is_not_there_proves_nobody_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    bench.azure.things.by_id.clear()
    with pytest.raises(Exception, match="ResourceGroupNotFound"):
        bench.cloud.describe(PLACE, [vm])


@pytest.mark.parametrize("action", ["deallocate", "powerOff"])
def test_a_vm_without_power_is_not_gone(bench: Bench, action: str) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.id_of("n-0.g1")
    bench.azure.by_hand("POST", f"{vm}/{action}")
    assert [i.state for i in bench.cloud.list_place(PLACE).instances] == [InstanceState.STOPPING]
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.STOPPING}


def test_a_vm_is_gone_when_its_deletion_is_over_and_not_before(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    bench.azure.operation_s = 600.0
    bench.cloud.terminate(PLACE, vm)
    bench.cloud.terminate(PLACE, vm)
    assert bench.azure.calls["DELETE virtualmachines"] == 1
    assert [i.state for i in bench.cloud.list_place(PLACE).instances] == [InstanceState.STOPPING]
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.STOPPING}
    bench.azure.finish()
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.GONE}


def test_a_vm_that_changes_is_not_terminated_now(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    bench.azure.faults.append(Fault("DELETE virtualmachines", "Conflict", 409))
    with pytest.raises(ResourceConflict, match="Conflict"):
        bench.cloud.terminate(PLACE, vm)
    bench.azure.faults.append(Fault("DELETE virtualmachines", "AnotherOperationInProgress", 409))
    with pytest.raises(NotYetGone, match="AnotherOperationInProgress"):
        bench.cloud.terminate(PLACE, vm)


def test_a_deletion_that_was_done_and_answered_with_an_error_is_seen(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    bench.azure.faults.append(Fault("DELETE virtualmachines", "InternalServerError", 500, done=True))
    with pytest.raises(CloudUnavailable):
        bench.cloud.terminate(PLACE, vm)
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.GONE}
    bench.cloud.terminate(PLACE, vm)


def test_many_are_described_by_listings_and_the_missing_one_by_one(bench: Bench) -> None:
    bench.create(resources(*nodes(25)))
    ids = [i.id for i in bench.cloud.list_place(PLACE).instances]
    bench.power_cut(ids[3])
    bench.azure.calls.clear()
    told = bench.cloud.describe(PLACE, ids)
    assert told == {**dict.fromkeys(ids, InstanceState.RUNNING), ids[3]: InstanceState.GONE}
    assert bench.azure.calls == {"LIST virtualmachines": 2, "GET virtualmachines": 1, "GET subscriptions": 1}


def test_an_id_is_the_same_in_every_spelling_of_azure(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert "/resourceGroups/kedge/providers/Microsoft.Compute/virtualMachines/" in seen.id
    shouted = seen.id.replace("resourceGroups/kedge", "resourcegroups/KEDGE")
    assert bench.cloud.describe(PLACE, [shouted]) == {shouted: InstanceState.RUNNING}


@pytest.mark.parametrize("what", ["tenant", "account", "state"])
def test_credentials_of_another_account_are_refused_before_anything_is_believed(bench: Bench, what: str) -> None:
    bench.create(resources(*nodes(1)))
    other = {"tenant": OTHER_TENANT, "account": OTHER_ACCOUNT, "state": "Disabled"}[what]
    setattr(bench.azure, what, other)
    with pytest.raises(AuthFailed, match=r"who am I.*SubscriptionNotFound" if what == "account" else other):
        bench.another().list_place(PLACE)
    assert bench.azure.calls["LIST virtualmachines"] == 0


def test_an_account_that_changes_under_us_proves_nobody_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    bench.azure.tenant = OTHER_TENANT
    bench.power_cut(vm)
    with pytest.raises(AuthFailed, match=OTHER_TENANT):
        bench.cloud.describe(PLACE, [vm])


def test_an_answer_about_another_subscription_is_not_believed(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    machine = next(t for t in bench.azure.things.by_id.values() if "power" in t)
    machine["id"] = machine["id"].replace(bench.azure.account, OTHER_ACCOUNT)
    with pytest.raises(AuthFailed, match=OTHER_ACCOUNT):
        bench.cloud.list_place(PLACE)


def test_expired_credentials_say_so(bench: Bench) -> None:
    bench.azure.faults.append(Fault("*", "ExpiredAuthenticationToken", 401))
    with pytest.raises(AuthFailed, match="ExpiredAuthenticationToken"):
        bench.cloud.list_place(PLACE)


def test_a_vm_with_our_tag_and_none_of_the_others_is_nobodys(bench: Bench) -> None:
    bench.create(resources(*nodes(2)))
    tagged = next(t for t in bench.azure.things.by_id.values() if t.get("tags", {}).get(tags.NODE) == "n-1")
    tagged["tags"] = {tags.INSTALLATION: "test", tags.GENERATION: "first"}
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1"]


def test_tags_that_somebody_wrote_anew_in_capitals_are_the_same_tags(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    machine = next(t for t in bench.azure.things.by_id.values() if "power" in t)
    machine["tags"] = {name.title(): value for name, value in machine["tags"].items()}
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1"]


def test_a_volume_on_a_foreign_vm_is_attached_all_the_same(bench: Bench) -> None:
    bench.create(resources(instance("n-0"), volume("n-0"), attachment("n-0.g1", "n-0.data.v1")))
    machine = next(t for t in bench.azure.things.by_id.values() if "power" in t)
    machine["tags"] = {}
    assert [v.attached_to for v in bench.cloud.list_place(PLACE).volumes] == [canonical(machine["id"])]


def test_a_nodes_address_stays_the_same_while_no_vm_has_it(bench: Bench) -> None:
    bound = resources(instance("c-0"), address("c-0"), binding("c-0", "c-0.g1"))
    bench.create(bound)
    listing = bench.cloud.list_place(PLACE)
    owned = listing.node_addresses[UID, "c-0"]
    assert (listing.instances[0].address, listing.instances[0].addresses) == (owned, (owned,))
    bench.delete(bound, "instance/c-0.g1", "binding/c-0.g1")
    assert bench.cloud.list_place(PLACE).node_addresses[UID, "c-0"] == owned
    assert handover_of(bench.cloud) is Handover.DELETE_FIRST


def test_a_network_interface_changes_only_while_its_vm_has_no_power(bench: Bench) -> None:
    bench.create(resources(instance("c-0"), address("c-0")))
    vm = bench.id_of("c-0.g1")
    told = bench.azure.by_hand("GET", vm)
    told["properties"]["networkProfile"] = {"networkInterfaces": [{"id": f"{NETWORK}/networkInterfaces/{UID}-c-0"}]}
    with pytest.raises(Refusal, match="AddingOrDeletingNetworkInterfacesOnARunningVirtualMachine"):
        bench.azure.by_hand("PUT", vm, told)
    bench.azure.by_hand("POST", f"{vm}/deallocate")
    bench.azure.by_hand("PUT", vm, told)


def test_a_machine_tells_its_size_and_version_by_our_names(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert (seen.shape, seen.image, seen.cluster_name) == ("small", "4.1.1", "orders")


def test_credentials_go_into_terraforms_environment_and_nowhere_else(bench: Bench) -> None:
    environment = bench.cloud.terraform_environment(PLACE)
    assert environment["ARM_CLIENT_SECRET"] == SECRET
    wanted = bench.here(resources(*nodes(1)))
    told = f"{bench.cloud} {bench.cloud.variables(wanted)} {bench.cloud.list_place(PLACE)} {bench.file.read_text()}"
    assert SECRET not in told


def test_an_account_without_credentials_is_refused_in_words(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_CLIENT_SECRET")
    with pytest.raises(AuthFailed, match="no credentials: the environment has no AZURE_CLIENT_SECRET"):
        bench.another().list_place(PLACE)


def test_a_cloud_that_is_away_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", SECRET)
    with azure_cloud() as azure:
        file = write_settings(tmp_path / "azure.yaml", azure)
    assert isinstance(azure, AzureCloudFake)
    with pytest.raises(CloudUnavailable, match="who am I"):
        AzureCloud("test", file, attempts=1).list_place(PLACE)
