"""A cluster's whole life on Google Cloud: the real Terraform, a stand-in for the vendor's provider, and our fake.

Each run goes through the guard as in production. What a stand-in proves and what it does not is in
tests/standins/README.md; where the fake is not Google, in tests/fakes/clouds/differences.md.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.base import InstanceState, Resources, RunKind, TerraformRun
from providers.cloud_init import BOOT_FILE
from providers.errors import (
    NoCapacity,
    NotYetGone,
    QuotaExceeded,
    ResourceConflict,
    RunInterrupted,
    TerraformFailed,
    UnsafeChange,
)
from providers.google.permissions import OF_METHODS
from providers.tf.run_folder import processes_of
from tests.borndata import files_of
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.google import TOKEN
from tests.fakes.clouds.google_hands import HOME
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, run, surge, targets, volume
from tests.terraform.googlelife import GoogleBench, google_bench
from tests.terraform.spent import CONTROLLER, GONE, NOTHING, VM, Spent

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

WRITES = ("insert", "delete", "attachDisk", "detachDisk")

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
OWN_DISK = (
    instance("b-1", zone="b", spot=True),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
PRE_EMPTIBLE = {
    "provisioningModel": "SPOT",
    "preemptible": True,
    "automaticRestart": False,
    "onHostMaintenance": "TERMINATE",
    "instanceTerminationAction": "DELETE",
}
KEPT = (volume("c-0", "meta", zone="c"), address("c-0", zone="c"))
OLD = instance("c-0", zone="c")
NEW = instance("c-0", 2, zone="c")
ON_OLD = (attachment("c-0.g1", "c-0.meta.v1"), binding("c-0", "c-0.g1"))
ON_NEW = (attachment("c-0.g2", "c-0.meta.v1"), binding("c-0", "c-0.g2"))
TIES_OF_OLD = frozenset({"attachment/c-0.g1.meta", "binding/c-0.g1"})
TIES_OF_NEW = frozenset({"attachment/c-0.g2.meta", "binding/c-0.g2"})


@pytest.fixture(params=["stand-in"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GoogleBench]:
    with google_bench(tmp_path) as opened:
        yield opened


def test_a_cluster_lives_and_leaves_nothing_on_google(bench: GoogleBench, tmp_path: Path) -> None:
    def set_of(*parts: object) -> Resources:
        return bench.hands.here(resources(*parts))  # type: ignore[arg-type]

    started = time.monotonic()
    first = set_of(*BROKER, *OWN_DISK, OLD, *KEPT, *ON_OLD)
    made = bench.execute(surge(first))
    assert set(made.changed) == targets(first)
    owned = bench.listing().node_addresses[UID, "c-0"]
    assert {i.key: (i.state, i.volumes, i.addresses, i.zone) for i in bench.listing().instances} == {
        "b-0.g1": (InstanceState.RUNNING, ("b-0.data.v1",), (), f"{HOME}-b"),
        "b-1.g1": (InstanceState.RUNNING, ("b-1.data.v1",), (), f"{HOME}-c"),
        "c-0.g1": (InstanceState.RUNNING, ("c-0.meta.v1",), (owned,), f"{HOME}-d"),
    }
    is_as_the_module_promises(bench)
    assert {i.key for i in bench.listing().instances if i.spot} == {"b-1.g1"}
    assert bench.hands.machine("b-1.g1")["scheduling"] == PRE_EMPTIBLE

    before = writes(bench)
    spent = Spent(bench.google.calls, lambda call: call.endswith(WRITES))
    with spent.on(NOTHING):
        again = bench.execute(surge(first))
    assert (again.changed, frozenset(again.done_before)) == ((), targets(first))
    assert writes(bench) == before

    gone = set_of(*BROKER, *OWN_DISK, *KEPT)
    with pytest.raises(UnsafeChange, match=r"instance/c-0\.g1: the plan would delete it"):
        bench.execute(run(RunKind.RELEASE, gone, deletes=TIES_OF_OLD, intent="run-x"))
    assert writes(bench) == before

    # A broker: the next VM beside the old one, which goes afterwards.
    grown = set_of(*BROKER, instance("b-0", 2), *OWN_DISK, OLD, *KEPT, *ON_OLD)
    spent.on_asking_ahead(bench.cloud, grown, "instance/b-0.g2")
    with spent.on(VM):
        surged = bench.execute(surge(grown, only=frozenset({"instance/b-0.g2"}), intent="run-2"))
    assert surged.changed == ("instance/b-0.g2",)
    with spent.on(VM):
        bench.execute(run(RunKind.RETIRE, grown, deletes={"instance/b-0.g2"}, intent="run-3"))

    # A controller: its address binds only with its VM, so the old VM goes with it and the new one comes with it.
    old = bench.vm("c-0.g1").id
    release = run(RunKind.RELEASE, first, deletes=TIES_OF_OLD | {"instance/c-0.g1"}, intent="run-4")
    with spent.on(CONTROLLER):
        assert set(bench.execute(release).changed) == TIES_OF_OLD | {"instance/c-0.g1"}
    with spent.on(GONE):
        assert bench.cloud.describe(first.place, [old]) == {old: InstanceState.GONE}
    assert [v.attached_to for v in bench.listing().volumes if v.key == "c-0.meta.v1"] == [None]
    assert bench.listing().node_addresses[UID, "c-0"] == owned
    last = set_of(*BROKER, *OWN_DISK, NEW, *KEPT, *ON_NEW)
    bind = run(RunKind.BIND, last, creates=TIES_OF_NEW | {"instance/c-0.g2"}, intent="run-5")
    with spent.on(CONTROLLER):
        assert set(bench.execute(bind).changed) == TIES_OF_NEW | {"instance/c-0.g2"}
    assert (bench.vm("c-0.g2").volumes, bench.vm("c-0.g2").addresses) == (("c-0.meta.v1",), (owned,))

    bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    ended = bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    assert (ended.changed, frozenset(ended.done_before)) == ((), targets(last))
    listing = bench.listing()
    assert (listing.instances, listing.volumes, dict(listing.node_addresses)) == ((), (), {})
    assert bench.google.world.things == {}
    holds_no_secret(tmp_path / "states")
    assert {c for c in bench.google.calls if c != "token"} <= OF_METHODS.keys(), "docs/clouds/policies/google.yaml"
    print(f"10 runs of Terraform in {time.monotonic() - started:.1f} s; calls: {dict(bench.google.calls)}")
    spent.is_told_in_the_docs("google")


def test_googles_own_words_arrive_typed(bench: GoogleBench) -> None:
    wanted = bench.hands.here(resources(instance("b-0")))
    full = "The zone 'projects/p/zones/z' does not have enough resources available to fulfill the request."
    bench.google.faults.append(Fault("instances.insert", "ZONE_RESOURCE_POOL_EXHAUSTED", 200, message=full))
    with pytest.raises(NoCapacity, match="enough resources"):
        bench.execute(surge(wanted))
    bench.google.world.quota = 0
    with pytest.raises(QuotaExceeded, match="Quota 'INSTANCES' exceeded"):
        bench.execute(surge(wanted))
    assert bench.listing().instances == ()


@pytest.mark.soak
def test_a_vm_made_while_terraform_was_killed_is_imported_by_the_same_run(bench: GoogleBench) -> None:
    wanted = bench.hands.here(resources(*BROKER, OLD, *KEPT, *ON_OLD))
    killed_during(bench, surge(wanted), "instances.insert")
    with pytest.raises(TerraformFailed, match="exit code"):
        bench.execute(surge(wanted))
    bench.google.answering = None
    made = {i.id for i in bench.listing().instances}
    assert made
    again = bench.execute(surge(wanted))
    assert any("google_compute_instance" in address for address in again.imported)
    assert made <= {i.id for i in bench.listing().instances}
    assert set(again.changed) | set(again.done_before) == targets(wanted)
    assert (bench.google.calls["instances.insert"], bench.google.calls["instances.delete"]) == (2, 0)


@pytest.mark.soak
def test_a_lost_state_is_made_again_from_what_exists(bench: GoogleBench) -> None:
    parts = (*BROKER, *OWN_DISK, OLD, *KEPT, *ON_OLD)
    stands = bench.hands.here(resources(*parts))
    bench.hands.create(resources(*parts))
    before = {i.id for i in bench.listing().instances}
    wanted = bench.hands.here(resources(*parts, instance("b-0", 2)))
    grown = surge(wanted, only=frozenset({"instance/b-0.g2"}), intent="run-2")
    result = bench.execute(replace(grown, adopts=stands))
    assert result.changed == ("instance/b-0.g2",)
    assert len(result.imported) == 8
    assert before < {i.id for i in bench.listing().instances}
    bench.execute(run(RunKind.DESTROY, wanted, deletes=targets(wanted), intent="run-3"))
    assert bench.google.world.things == {}


@pytest.mark.soak
def test_an_interrupted_surge_is_taken_up_again_without_a_twin(bench: GoogleBench) -> None:
    wanted = bench.hands.here(resources(instance("b-0"), volume("b-0")))
    stop, answer = threading.Event(), bench.google.answer

    def stop_while_it_is_made(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        if method == "POST" and path.endswith("/instances"):
            stop.set()
        return answer(method, path, headers, body)

    bench.google.world.polls = 10
    bench.google.answering = stop_while_it_is_made
    with pytest.raises(RunInterrupted, match="its state is saved"):
        bench.execute(surge(wanted), stop=stop)
    bench.google.answering = None
    for operation in list(bench.google.world.pending):
        bench.google.world._finish(operation)
    bench.google.world.polls = 0
    (made,) = bench.listing().instances
    again = bench.execute(surge(wanted))
    assert "instance/b-0.g1" in again.done_before
    assert [i.id for i in bench.listing().instances] == [made.id]
    assert (bench.google.calls["instances.insert"], bench.google.calls["instances.delete"]) == (1, 0)


@pytest.mark.soak
def test_a_binding_to_a_vm_made_with_another_address_is_refused(bench: GoogleBench) -> None:
    both = bench.hands.here(resources(NEW, *KEPT))
    bench.execute(surge(both))
    wanted = bench.hands.here(resources(NEW, *KEPT, binding("c-0", "c-0.g2")))
    with pytest.raises(ResourceConflict, match="only a new VM can have the node's"):
        bench.execute(run(RunKind.BIND, wanted, creates={"binding/c-0.g2"}, intent="run-2"))
    assert bench.vm("c-0.g2").addresses == ()


@pytest.mark.soak
def test_a_new_vm_cannot_have_an_address_the_old_one_still_has(bench: GoogleBench) -> None:
    first = bench.hands.here(resources(OLD, *KEPT, *ON_OLD))
    bench.execute(surge(first))
    owned = bench.listing().node_addresses[UID, "c-0"]
    wanted = bench.hands.here(resources(OLD, NEW, *KEPT, ON_NEW[1]))
    released = run(RunKind.RELEASE, bench.hands.here(resources(OLD, *KEPT)), deletes=TIES_OF_OLD, intent="run-2")
    bench.execute(released)
    with pytest.raises(NotYetGone, match="already being used"):
        bench.execute(run(RunKind.BIND, wanted, creates={"instance/c-0.g2", "binding/c-0.g2"}, intent="run-3"))
    assert {i.key: i.addresses for i in bench.listing().instances} == {"c-0.g1": (owned,)}


def killed_during(bench: GoogleBench, run: TerraformRun, action: str) -> None:
    """Kills Terraform and its plugins once Google has done `action`, before anybody hears of it; once."""
    answer, left, run_id = bench.google.answer, [action], bench.marked(run).intent_id
    bench.has_plugins_to_kill()

    def kill(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        told = answer(method, path, headers, body)
        if left and bench.google.calls[action]:
            left.clear()
            for pid in processes_of(run_id):
                os.kill(pid, signal.SIGKILL)
            bench.has_plugins_to_kill(False)
        return told

    bench.google.answering = kill


def is_as_the_module_promises(bench: GoogleBench) -> None:
    """No way in but the network, boot data as it was, the intent in the call that made it."""
    for machine in bench.google.world.of("instances"):
        metadata = {i["key"]: i["value"] for i in machine["metadata"]["items"]}
        assert (metadata["serial-port-enable"], metadata["enable-oslogin"]) == ("FALSE", "FALSE")
        assert set(machine["shieldedInstanceConfig"].values()) == {True}
        assert "accessConfigs" not in machine["networkInterfaces"][0]
        assert "serviceAccounts" not in machine
        assert machine["tags"]["items"] == ["kedge-kafka"]
    told = {i["key"]: i["value"] for i in bench.hands.machine("b-0.g1")["metadata"]["items"]}
    assert files_of(told["user-data"])[BOOT_FILE] == BROKER[0].boot_data
    inserts = [e.body for e in bench.google.exchanges if e.action == "instances.insert" and e.body]
    assert sorted(b["labels"]["kedge-intent"] for b in inserts) == [
        "intent-b-0_2eg1",
        "intent-b-1_2eg1",
        "intent-c-0_2eg1",
    ]
    disks = bench.hands.machine("b-0.g1")["disks"]
    assert [d["deviceName"] for d in disks] == ["persistent-disk-0", "data-v1"]


def holds_no_secret(folder: Path) -> None:
    """No file a run leaves has the token Terraform was given, and its state no boot data of VMs that are gone."""
    left = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.name == "terraform.tfstate" for path in left)
    for path in left:
        assert TOKEN.encode() not in path.read_bytes(), path
        assert path.name != "terraform.tfstate" or b"$(id)" not in path.read_bytes()


def writes(bench: GoogleBench) -> dict[str, int]:
    return {name: n for name, n in bench.google.calls.items() if name.endswith(WRITES)}
