"""A cluster's whole life on UpCloud: the real Terraform, a stand-in for the vendor's provider, our fake of its API.

Each run goes through the guard as in production. What a stand-in proves and what not: tests/standins/README.md.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from providers.base import InstanceState, Resources, RunKind
from providers.cloud_init import BOOT_FILE
from providers.errors import (
    AuthFailed,
    CloudUnavailable,
    NoCapacity,
    ResourceConflict,
    RunInterrupted,
    TerraformFailed,
    UnsafeChange,
)
from providers.upcloud.permissions import OF_CALLS
from providers.upcloud.tags import ADDRESS, labels_of
from tests.borndata import files_of
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.upcloud import OTHER_USERNAME
from tests.fakes.clouds.upcloud_hands import HOME, UpcloudHarness
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, run, surge, targets, volume
from tests.terraform.spent import CONTROLLER, GONE, NOTHING, VM, Spent
from tests.terraform.upcloudlife import SECRET, UpcloudBench, upcloud_bench

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

WRITES = ("CreateServer", "StopServer", "DeleteServer", "CreateStorage", "DeleteStorage", "DeleteServerAndStorages")

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
OWN_DISK = (
    instance("b-1", zone="b"),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
NEXT_BROKER = (instance("b-2", zone="c"), volume("b-2", zone="c"), attachment("b-2.g1", "b-2.data.v1"))
KEPT = (volume("c-0", "meta", zone="c"), address("c-0", zone="c"))
ON_OLD = (instance("c-0", zone="c"), attachment("c-0.g1", "c-0.meta.v1"), binding("c-0", "c-0.g1"))
ON_NEW = (instance("c-0", 2, zone="c"), attachment("c-0.g2", "c-0.meta.v1"), binding("c-0", "c-0.g2"))
OLD = {"instance/c-0.g1", "attachment/c-0.g1.meta", "binding/c-0.g1"}
NEW = {"instance/c-0.g2", "attachment/c-0.g2.meta", "binding/c-0.g2"}


@pytest.fixture(params=["stand-in"])
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UpcloudBench]:
    with upcloud_bench(tmp_path, monkeypatch) as opened:
        yield opened


def set_of(bench: UpcloudBench, *parts: object) -> Resources:
    return UpcloudHarness(bench.cloud, bench.upcloud).here(resources(*parts))  # type: ignore[arg-type]


def test_a_cluster_lives_and_leaves_nothing_on_upcloud(bench: UpcloudBench, tmp_path: Path) -> None:
    things = bench.upcloud.things
    first = set_of(bench, *BROKER, *OWN_DISK, *KEPT, *ON_OLD)
    before = set(things.storages)
    made = bench.execute(surge(first))
    assert set(made.changed) == targets(first)
    owned = bench.listing().node_addresses[UID, "c-0"]
    assert {i.key: (i.state, i.volumes, i.addresses, i.zone) for i in bench.listing().instances} == {
        "b-0.g1": (InstanceState.RUNNING, ("b-0.data.v1",), (), f"{HOME}-a"),
        "b-1.g1": (InstanceState.RUNNING, ("b-1.data.v1",), (), f"{HOME}-b"),
        "c-0.g1": (InstanceState.RUNNING, ("c-0.meta.v1",), (owned,), f"{HOME}-c"),
    }
    assert bench.vm("c-0.g1").address == owned
    is_as_the_module_promises(bench)

    writes = {name: bench.upcloud.calls[name] for name in WRITES}
    spent = Spent(bench.upcloud.calls, lambda call: not call.startswith(("Get", "List")))
    with spent.on(NOTHING):
        again = bench.execute(surge(first))
    assert (again.changed, frozenset(again.done_before)) == ((), targets(first))
    assert {name: bench.upcloud.calls[name] for name in WRITES} == writes

    grown = set_of(bench, *BROKER, *OWN_DISK, *NEXT_BROKER, *KEPT, *ON_OLD)
    new = {"instance/b-2.g1", "volume/b-2.data.v1", "attachment/b-2.g1.data"}
    spent.on_asking_ahead(bench.cloud, grown, *new)
    with spent.on(VM):
        assert set(bench.execute(surge(grown, only=frozenset(new), intent="run-2")).changed) == new

    passes_to_the_next_vm(bench, spent, owned)

    after = set_of(bench, *BROKER, *OWN_DISK, *NEXT_BROKER, *KEPT, *ON_NEW)
    old = bench.vm("b-0.g1").id
    leaving = {"instance/b-0.g1", "volume/b-0.data.v1", "attachment/b-0.g1.data"}
    with spent.on(VM):
        assert set(bench.execute(run(RunKind.RETIRE, after, deletes=leaving, intent="run-5")).changed) == leaving
    with spent.on(GONE):
        assert bench.cloud.describe(after.place, [old]) == {old: InstanceState.GONE}
    assert {i.key for i in bench.listing().instances} == {"b-1.g1", "b-2.g1", "c-0.g2"}

    last = set_of(bench, *OWN_DISK, *NEXT_BROKER, *KEPT, *ON_NEW)
    bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    ended = bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    assert (ended.changed, frozenset(ended.done_before)) == ((), targets(last))
    listing = bench.listing()
    assert (listing.instances, listing.volumes, dict(listing.node_addresses)) == ((), (), {})
    assert set(things.storages) == before
    asked = {call for call, n in bench.upcloud.calls.items() if n}
    assert asked <= OF_CALLS.keys(), "docs/clouds/policies/upcloud.json"
    holds_no_secret(tmp_path / "states")
    spent.is_told_in_the_docs("upcloud")


def passes_to_the_next_vm(bench: UpcloudBench, spent: Spent, owned: str) -> None:
    """Release and bind, two guarded runs: the old VM goes with what hangs on it, the next is made with the same."""
    existing = set_of(bench, *BROKER, *OWN_DISK, *NEXT_BROKER, *KEPT, *ON_OLD)
    old = bench.vm("c-0.g1").id
    disk = next(v for v in bench.listing().volumes if v.key == "c-0.meta.v1")
    writes = {name: bench.upcloud.calls[name] for name in WRITES}
    with spent.on(CONTROLLER):
        released = bench.execute(run(RunKind.RELEASE, existing, deletes=OLD, intent="run-3"))
    assert set(released.changed) == OLD
    assert bench.cloud.describe(existing.place, [old]) == {old: InstanceState.GONE}
    between = bench.listing()
    assert [(v.id, v.attached_to) for v in between.volumes if v.key == disk.key] == [(disk.id, None)]
    assert between.node_addresses[UID, "c-0"] == owned

    after = set_of(bench, *BROKER, *OWN_DISK, *NEXT_BROKER, *KEPT, *ON_NEW)
    with spent.on(CONTROLLER):
        bound = bench.execute(run(RunKind.BIND, after, creates=NEW, intent="run-4"))
    assert set(bound.changed) == NEW
    new = bench.vm("c-0.g2")
    assert (new.volumes, new.addresses, new.address) == (("c-0.meta.v1",), (owned,), owned)
    assert [v.id for v in bench.listing().volumes if v.key == disk.key] == [disk.id]
    # A root disk is deleted with each VM; nothing else was.
    assert {name: bench.upcloud.calls[name] - writes[name] for name in WRITES} == {
        "CreateServer": 1,
        "StopServer": 1,
        "DeleteServer": 1,
        "CreateStorage": 0,
        "DeleteStorage": 1,
        "DeleteServerAndStorages": 0,
    }


def test_a_run_that_would_do_more_than_it_names_is_refused(bench: UpcloudBench) -> None:
    first = set_of(bench, *KEPT, *ON_OLD, *BROKER)
    with pytest.raises(UnsafeChange, match=r"instance/c-0\.g1: the plan would create it, and the run does not name it"):
        bench.execute(surge(first, only=frozenset({"instance/b-0.g1"})))
    with pytest.raises(UnsafeChange, match=r"volume/c-0\.meta\.v1: a release run changes only"):
        bench.execute(run(RunKind.RELEASE, first, deletes=OLD | {"volume/c-0.meta.v1"}, intent="run-2"))
    assert {name: bench.upcloud.calls[name] for name in WRITES} == dict.fromkeys(WRITES, 0)


def test_nothing_is_called_bound_to_a_vm_that_was_made_without_it(bench: UpcloudBench) -> None:
    bench.execute(surge(set_of(bench, *KEPT, ON_OLD[0])))
    late = {"attachment/c-0.g1.meta", "binding/c-0.g1"}
    with pytest.raises(TerraformFailed) as refused:
        bench.execute(run(RunKind.BIND, set_of(bench, *KEPT, *ON_OLD), creates=late, intent="run-2"))
    for words in ("A disk attaches only to a VM that is made with it", "An address binds only to a VM"):
        assert words in " ".join(str(refused.value).split())


def test_upclouds_own_words_arrive_typed(bench: UpcloudBench) -> None:
    wanted = set_of(bench, instance("b-0"))
    bench.upcloud.faults.append(Fault("CreateServer", "SERVER_RESOURCES_UNAVAILABLE", 503))
    with pytest.raises(NoCapacity, match="SERVER_RESOURCES_UNAVAILABLE"):
        bench.execute(surge(wanted))
    bench.upcloud.faults.append(Fault("CreateServer", "ADDRESS_ATTACHED", 409))
    with pytest.raises(ResourceConflict, match="ADDRESS_ATTACHED"):
        bench.execute(surge(wanted))
    assert bench.listing().instances == ()
    bench.upcloud.username = OTHER_USERNAME
    with pytest.raises(AuthFailed, match=OTHER_USERNAME):
        bench.execute(surge(wanted))


def test_a_vm_that_was_made_although_upcloud_answered_500_is_taken_in_and_not_made_twice(bench: UpcloudBench) -> None:
    wanted = set_of(bench, instance("b-0"))
    bench.upcloud.faults.append(Fault("CreateServer", "SERVICE_ERROR", 500, done=True))
    with pytest.raises(CloudUnavailable, match="SERVICE_ERROR"):
        bench.execute(surge(wanted))
    (left,) = bench.upcloud.things.servers
    bench.execute(surge(wanted))
    assert [i.id for i in bench.listing().instances] == [left]
    assert bench.upcloud.calls["CreateServer"] == 1


def test_a_data_disk_that_is_taken_for_a_root_disk_stops_everything(bench: UpcloudBench) -> None:
    # The provider deletes the disk it takes for the root disk together with the VM.
    bench.upcloud.things.data_disks_first = True
    with pytest.raises(TerraformFailed, match="takes a data disk for the VM's root disk"):
        bench.execute(surge(set_of(bench, *BROKER)))
    assert [v.key for v in bench.listing().volumes] == ["b-0.data.v1"]
    assert bench.upcloud.calls["DeleteStorage"] == 0


def test_an_address_a_foreign_server_has_is_passed_by(bench: UpcloudBench) -> None:
    """Somebody took it between two looks: the next choice is another one, and nothing of theirs is touched."""
    wanted = set_of(bench, *KEPT, *ON_OLD)
    first = chosen_for(bench, wanted, "c-0")
    network = bench.cloud.variables(wanted)["cloud"]
    assert isinstance(network, dict)
    theirs = bench.upcloud.things.create_server(foreign_server(bench, network["network"], first))
    bench.execute(surge(wanted))
    assert chosen_for(bench, wanted, "c-0") != first
    assert theirs["uuid"] in bench.upcloud.things.servers


def chosen_for(bench: UpcloudBench, wanted: Resources, node: str) -> str:
    addresses = bench.cloud.variables(wanted)["addresses"]
    assert isinstance(addresses, dict)
    return str(addresses[node]["address"])


@pytest.mark.soak
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_surge_that_ends_in_the_middle_of_a_create_is_taken_up_again_without_a_twin(
    bench: UpcloudBench, how: str
) -> None:
    wanted = set_of(bench, *BROKER)
    stop = threading.Event()
    things = bench.upcloud.things
    things.slow = 1000
    if how == "killed":
        bench.has_plugins_to_kill()

    def end_once_it_is_made(action: str) -> None:
        if action != "GetServer":
            return
        # Once: a later look would find the Terraform of the run after this one.
        bench.upcloud.watching = None
        if how == "stopped":
            stop.set()
            return
        for pid in bench.terraform_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        bench.has_plugins_to_kill(False)

    bench.upcloud.watching = end_once_it_is_made
    with pytest.raises(RunInterrupted if how == "stopped" else TerraformFailed):
        bench.execute(surge(wanted), stop=stop)
    things.slow = 0
    (left,) = things.servers
    things.changing[left] = (0, "started")
    bench.execute(surge(wanted))
    assert [i.id for i in bench.listing().instances] == [left]
    assert (bench.upcloud.calls["CreateServer"], bench.upcloud.calls["CreateStorage"]) == (1, 1)
    assert bench.vm("b-0.g1").volumes == ("b-0.data.v1",)


def is_as_the_module_promises(bench: UpcloudBench) -> None:
    """Disks encrypted, boot data as it was, the private network alone, a group over all of them."""
    servers = {labels_of(s)["kedge-node"]: s for s in bench.upcloud.things.servers.values()}
    assert files_of(servers["b-0"]["user_data"])[BOOT_FILE] == BROKER[0].boot_data
    assert {s["metadata"] for s in servers.values()} == {"yes"}
    held = [d for s in servers.values() for d in s["storage_devices"]["storage_device"]]
    assert {d["storage_encrypted"] for d in held} == {"yes"}
    assert [i["type"] for s in servers.values() for i in s["networking"]["interfaces"]["interface"]] == ["private"] * 3
    assert len({s["server_group"] for s in servers.values()} - {None}) == 1
    assert servers["b-1"]["storage_devices"]["storage_device"][0]["storage_size"] == 25 + 1
    assert labels_of(servers["c-0"])[ADDRESS] == bench.vm("c-0.g1").address


def foreign_server(bench: UpcloudBench, network: str, at: str) -> dict[str, object]:
    template = bench.upcloud.things.add_template("anything", HOME)
    interface = {"type": "private", "network": network, "ip_addresses": {"ip_address": [{"address": at}]}}
    root = {"action": "clone", "storage": template, "title": "x"}
    return {
        "hostname": "stranger",
        "title": "stranger",
        "zone": HOME,
        "storage_devices": {"storage_device": [root]},
        "networking": {"interfaces": {"interface": [interface]}},
    }


def holds_no_secret(folder: Path) -> None:
    """No file a run leaves has the credentials."""
    left = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.name == "terraform.tfstate" for path in left)
    for path in left:
        assert SECRET.encode() not in path.read_bytes(), path
