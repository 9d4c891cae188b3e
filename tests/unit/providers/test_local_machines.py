"""VMs as processes: what is alive, what a power cut reaches, what a crash between two steps leaves."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from providers import process
from providers.base import InstanceState
from providers.errors import ResourceConflict
from providers.local.cloud import LocalCloud
from providers.local.machine import PENDING_FOR, power_cut, state_of
from providers.local.reap import reap
from providers.local.verbs import perform
from tests.fakes.resources import PLACE, UID, instance, resources

ID = f"{UID}/n-0.g1"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCloud]:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    cloud = LocalCloud(tmp_path / "cloud", "test", sys.executable, command=("/bin/sleep", "600"))
    try:
        yield cloud
    finally:
        reap(cloud.root)


def boot(cloud: LocalCloud, *, intent: str = "one") -> dict[str, object]:
    variables: dict[str, dict[str, dict[str, object]]] = cloud.variables(resources(instance("n-0", intent=intent)))  # type: ignore[assignment]
    request = {
        "installation_id": "test",
        "cluster_uid": UID,
        "region": "local-1",
        "root": str(cloud.root),
        "python": sys.executable,
        "key": "n-0.g1",
        **variables["instances"]["n-0.g1"],
    }
    perform("create-instance", request)
    return request


def vm_dir(cloud: LocalCloud) -> Path:
    return cloud.root / "local-1" / "instances" / UID / "n-0.g1"


def record(cloud: LocalCloud) -> dict[str, object]:
    value: dict[str, object] = json.loads((vm_dir(cloud) / "vm.json").read_text())
    return value


def state(cloud: LocalCloud) -> InstanceState:
    return cloud.describe(PLACE, [ID])[ID]


def test_a_pid_that_belongs_to_somebody_else_by_now_is_not_the_vm(cloud: LocalCloud) -> None:
    boot(cloud)
    launched = record(cloud)["launched"]
    assert isinstance(launched, dict)
    other = record(cloud) | {"launched": launched | {"start_ticks": launched["start_ticks"] - 1}}
    assert state_of(other, now=datetime.now(UTC)) is InstanceState.GONE
    rebooted = record(cloud) | {"launched": launched | {"boot_id": "another boot of this machine"}}
    assert state_of(rebooted, now=datetime.now(UTC)) is InstanceState.GONE
    assert state(cloud) is InstanceState.RUNNING


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen(["/bin/sleep", "600"])
    identity = process.identify(child.pid)
    assert identity is not None
    assert identity.alive()
    child.kill()
    assert process.wait_until(lambda: not identity.alive(), timeout_s=5)
    assert Path(f"/proc/{child.pid}").exists(), "it must still be a zombie for this test to say anything"
    assert process.identify(child.pid) is None
    child.wait()


def test_a_vm_recorded_but_never_started_is_pending_and_then_gone(cloud: LocalCloud) -> None:
    boot(cloud)
    never = record(cloud) | {"launched": None}
    created = datetime.fromisoformat(str(never["created_at"]))
    assert state_of(never, now=created + timedelta(seconds=1)) is InstanceState.PENDING
    assert state_of(never, now=created + PENDING_FOR) is InstanceState.GONE


def test_the_record_holds_every_tag_before_the_process_starts(tmp_path: Path, cloud: LocalCloud) -> None:
    broken = LocalCloud(cloud.root, "test", sys.executable, command=("/no/such/program",))
    with pytest.raises(FileNotFoundError):
        boot(broken)
    assert record(cloud)["launched"] is None
    assert state(cloud) is InstanceState.PENDING
    LocalCloud(cloud.root, "test", sys.executable, command=("/bin/sleep", "600"))
    boot(cloud)
    assert state(cloud) is InstanceState.RUNNING


def test_a_power_cut_reaches_what_left_the_process_group(tmp_path: Path, cloud: LocalCloud) -> None:
    script = "(setsid sleep 600 &) ; (setsid sleep 601 &) ; exec sleep 602"
    LocalCloud(cloud.root, "test", sys.executable, command=("/bin/sh", "-c", script))
    boot(cloud)
    ours = str(vm_dir(cloud))
    # All three as they stay: a shell on its way to one of them is a process too.
    there = ["sleep 600", "sleep 601", "sleep 602"]
    assert process.wait_until(lambda: sorted(commands(cloud)) == there, timeout_s=5)
    assert power_cut(vm_dir(cloud)) == 3
    assert ours not in process.carrying("KEDGE_VM_DIR").values()
    assert state(cloud) is InstanceState.GONE


def test_a_power_cut_reaches_a_member_that_dropped_its_environment(cloud: LocalCloud) -> None:
    LocalCloud(
        cloud.root,
        "test",
        sys.executable,
        command=("/bin/sh", "-c", "env -i /bin/sleep 603 & echo $! > pid; exec sleep 604"),
    )
    boot(cloud)
    hidden = vm_dir(cloud) / "pid"
    assert process.wait_until(lambda: hidden.exists() and hidden.read_text().strip() != "", timeout_s=5)
    stray = process.identify(int(hidden.read_text()))
    assert stray is not None
    power_cut(vm_dir(cloud))
    assert not stray.alive()


def test_a_power_cut_leaves_other_vms_alone(cloud: LocalCloud) -> None:
    boot(cloud)
    bystander = subprocess.Popen(["/bin/sleep", "600"], env={"KEDGE_VM_DIR": f"{vm_dir(cloud)}0"})
    power_cut(vm_dir(cloud))
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_vm_that_lost_power_can_be_switched_on_again(cloud: LocalCloud) -> None:
    boot(cloud)
    cloud.power_cut(PLACE, ID)
    assert state(cloud) is InstanceState.GONE
    cloud.power_on(PLACE, ID)
    assert state(cloud) is InstanceState.RUNNING


def test_a_destroy_for_another_intent_is_refused(cloud: LocalCloud) -> None:
    request = boot(cloud, intent="one")
    with pytest.raises(ResourceConflict, match="one"):
        perform("destroy-instance", request | {"intent_id": "two"})
    assert state(cloud) is InstanceState.RUNNING


def test_a_destroyed_vm_leaves_a_tombstone_and_no_disk(cloud: LocalCloud) -> None:
    request = boot(cloud)
    perform("destroy-instance", request)
    assert not vm_dir(cloud).exists()
    assert state(cloud) is InstanceState.GONE


def test_a_destroy_cut_short_after_the_tombstone_is_finished_by_the_next(cloud: LocalCloud) -> None:
    request = boot(cloud)
    tombstone = cloud.root / "local-1" / "tombstones" / UID / "n-0.g1.json"
    tombstone.parent.mkdir(parents=True)
    tombstone.write_text("{}")
    assert cloud.list_place(PLACE).instances == ()
    assert state(cloud) is InstanceState.GONE
    perform("destroy-instance", request)
    assert not vm_dir(cloud).exists()


def test_the_switch_never_boots_gives_a_vm_without_an_agent(cloud: LocalCloud) -> None:
    cloud.faults.set_vm("never_boots", {"n-*": 1})
    boot(cloud)
    assert state(cloud) is InstanceState.RUNNING
    assert not agent_runs(cloud)


def test_the_switch_boots_late_starts_the_agent_after_a_while(cloud: LocalCloud) -> None:
    cloud.faults.set_vm("boots_late_s", {"n-0.g1": 0.3})
    boot(cloud)
    first = record(cloud)["launched"]
    assert not agent_runs(cloud)
    assert process.wait_until(lambda: agent_runs(cloud), timeout_s=10)
    assert record(cloud)["launched"] == first
    assert state(cloud) is InstanceState.RUNNING


def test_the_switch_dies_is_a_power_cut_by_itself(cloud: LocalCloud) -> None:
    cloud.faults.set_vm("dies_after_s", {"*.g1": 0.3})
    boot(cloud)
    assert state(cloud) is InstanceState.RUNNING
    assert process.wait_until(lambda: state(cloud) is InstanceState.GONE, timeout_s=10)
    assert process.wait_until(lambda: commands(cloud) == [], timeout_s=5)


def test_the_switch_of_maintenance_announces_it_for_the_vm_it_means(cloud: LocalCloud) -> None:
    boot(cloud)
    assert cloud.notices(PLACE) == {}
    cloud.faults.set_vm("maintenance_at_s", {"n-0.g1": 1_800_000_000, "n-1.g1": 1_800_000_000})
    ((vm, notice),) = cloud.notices(PLACE).items()
    assert vm == cloud.list_place(PLACE).instances[0].id
    assert notice.sentence == "stop not before 2027-01-15 08:00 UTC (fault switch)"


def test_switches_name_only_the_vms_they_mean(cloud: LocalCloud) -> None:
    cloud.faults.set_vm("never_boots", {"n-0.g2": 1})
    boot(cloud)
    assert agent_runs(cloud)


def test_reaping_ends_everything_of_one_cloud_and_nothing_else(cloud: LocalCloud, tmp_path: Path) -> None:
    boot(cloud)
    other = LocalCloud(tmp_path / "cloud2", "test", sys.executable, command=("/bin/sleep", "600"))
    boot(other)
    stray = subprocess.Popen(["/bin/sleep", "600"], env={"KEDGE_VM_DIR": str(cloud.root / "local-1" / "x")})
    provisioner = subprocess.Popen(
        ["/bin/sleep", "600"], env={"KEDGE_LOCAL_REQUEST": json.dumps({"root": str(cloud.root)})}
    )
    # A process is there a moment before the kernel shows what it was started with.
    assert process.wait_until(lambda: stray.pid in process.carrying("KEDGE_VM_DIR"), timeout_s=5)
    assert process.wait_until(lambda: provisioner.pid in process.carrying("KEDGE_LOCAL_REQUEST"), timeout_s=5)
    try:
        assert reap(cloud.root) == 3
        assert stray.wait(5) != 0
        assert provisioner.wait(5) != 0
        assert state(cloud) is InstanceState.GONE
        assert state(other) is InstanceState.RUNNING
        assert reap(cloud.root) == 0
    finally:
        reap(other.root)


def test_reaping_where_there_is_nothing_is_fine(tmp_path: Path) -> None:
    assert reap(tmp_path / "never") == 0


def commands(cloud: LocalCloud) -> list[str]:
    """Command line of everything that runs in the VM."""
    inside = [pid for pid, where in process.carrying("KEDGE_VM_DIR").items() if where == str(vm_dir(cloud))]
    return [line for line in map(command_line, inside) if line]


def command_line(pid: int) -> str:
    """Empty when the process has ended since it was listed."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def agent_runs(cloud: LocalCloud) -> bool:
    """Whether the stand-in of the agent was started."""
    return "/bin/sleep 600" in commands(cloud)


def test_the_vm_sees_its_boot_data_and_its_own_address(cloud: LocalCloud) -> None:
    request = boot(cloud)
    assert (vm_dir(cloud) / "boot.json").read_text() == request["boot_data"]
    assert os.listdir(vm_dir(cloud) / "interfaces") == [request["address"]]
    assert (vm_dir(cloud) / "boot.json").stat().st_mode & 0o077 == 0
