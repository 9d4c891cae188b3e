"""Runs that were cut short: the next run of the same intent adopts what was made and finishes, never makes it twice."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from providers import process
from providers.base import InstanceState, RunKind
from providers.errors import RunInProgress, RunInterrupted, StateUnreadable
from tests.fakes.resources import PLACE, UID, attachment, instance, resources, run, surge, targets, volume
from tests.terraform.conftest import MODULES, Bench

pytestmark = pytest.mark.terraform

WANTED = resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))

SERVER = textwrap.dedent(
    """
    import sys, threading
    from pathlib import Path
    from providers.local.cloud import LocalCloud
    from providers.tf.execute import execute
    from providers.tf.state_file import LocalStates
    from tests.terraform.test_terraform_interrupted import WANTED
    from tests.fakes.resources import own, surge
    cloud = LocalCloud(Path(sys.argv[1]), "test", sys.executable, command=("/bin/sleep", "600"))
    execute(own(surge(WANTED), cloud.root), provider=cloud, states=LocalStates(Path(sys.argv[2])),
            module_root=Path(sys.argv[3]), on_progress=lambda _: None, stop=threading.Event())
    """
)


def start_server(bench: Bench) -> subprocess.Popen[bytes]:
    """The same surge in a process of its own, to be killed."""
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", SERVER, str(bench.cloud.root), str(bench.state_root), str(MODULES)],
        env={**os.environ, "PYTHONPATH": str(root)},
        start_new_session=True,
    )


def in_creation(bench: Bench) -> bool:
    """The VM is recorded and its provisioner waits before starting it."""
    path = bench.vm_dir("b-0.g1") / "vm.json"
    return path.exists() and json.loads(path.read_text())["launched"] is None


def is_terraform(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "terraform"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: object) -> None:
    assert callable(condition)
    assert process.wait_until(condition, timeout_s=20.0), "not in time"


def test_killed_with_its_group_mid_apply_and_run_again_there_is_one_vm(bench: Bench) -> None:
    bench.cloud.faults.set_vm("slow_create_s", {"*": 30})
    server = start_server(bench)
    wait_for(lambda: in_creation(bench))
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    for pid in bench.terraform_processes():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not bench.terraform_processes())
    assert bench.vm("b-0.g1").state is InstanceState.PENDING
    bench.cloud.faults.clear()
    bench.execute(surge(WANTED))
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING
    assert len(vm_processes(bench)) == 1


def test_a_vm_terraform_wrote_down_as_made_before_it_was_is_made_now(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    bench.cloud.power_cut(PLACE, f"{UID}/b-0.g1")
    path = bench.vm_dir("b-0.g1") / "vm.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "launched": None}))
    result = bench.execute(surge(WANTED))
    assert "instance/b-0.g1" in result.changed
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING


def test_a_server_killed_mid_apply_takes_terraform_with_it_and_its_provisioner_is_ended(bench: Bench) -> None:
    bench.cloud.faults.set_vm("slow_create_s", {"*": 30})
    server = start_server(bench)
    wait_for(lambda: in_creation(bench))
    server.kill()
    server.wait()
    wait_for(lambda: not any(is_terraform(pid) for pid in bench.terraform_processes()))
    orphans = bench.terraform_processes()
    assert orphans, "the provisioner outlives its Terraform"
    bench.cloud.faults.clear()
    bench.execute(surge(WANTED))
    assert [pid for pid in orphans if process.identify(pid)] == []
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING
    assert len(vm_processes(bench)) == 1


def test_a_vm_that_booted_before_the_kill_is_adopted_not_booted_twice(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    bench.state().path.unlink()  # what a kill before the state was written leaves
    result = bench.execute(surge(WANTED))
    assert set(result.changed) == targets(WANTED)
    assert bench.first_pid("b-0.g1") == pid
    assert vm_processes(bench) == (pid,)


def test_a_boot_that_was_not_written_down_is_found_by_its_environment(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    path = bench.vm_dir("b-0.g1") / "vm.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "launched": None}))
    bench.state().path.unlink()
    bench.execute(surge(WANTED))
    assert bench.first_pid("b-0.g1") == pid
    assert vm_processes(bench) == (pid,)


def test_asked_to_stop_it_ends_soon_and_the_next_run_finishes(bench: Bench) -> None:
    bench.cloud.faults.set_vm("slow_create_s", {"*": 30})
    stop = threading.Event()

    def stop_in_creation() -> None:
        wait_for(lambda: in_creation(bench))
        stop.set()

    waiter = threading.Thread(target=stop_in_creation)
    waiter.start()
    with pytest.raises(RunInterrupted, match="asked to stop"):
        bench.execute(surge(WANTED), stop=stop)
    waiter.join()
    assert bench.terraform_processes() == ()
    bench.cloud.faults.clear()
    bench.execute(surge(WANTED))
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING
    assert bench.vm("b-0.g1").volumes == ("b-0.data.v1",)
    assert len(vm_processes(bench)) == 1


def test_out_of_time_it_is_interrupted_too(bench: Bench) -> None:
    bench.cloud.faults.set_vm("slow_create_s", {"*": 30})
    with pytest.raises(RunInterrupted, match="no end after"):
        bench.execute(surge(WANTED), timeout_s=2.0)


def test_a_tainted_vm_that_runs_is_kept(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    taint(bench, "instance")
    result = bench.execute(surge(WANTED))
    assert result.changed == ()
    assert bench.first_pid("b-0.g1") == pid


def test_a_tainted_vm_is_really_deleted_by_its_retire(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    taint(bench, "instance")
    bench.execute(run(RunKind.RETIRE, WANTED, deletes=targets(WANTED), intent="run-2"))
    assert process.identify(pid) is None
    assert bench.listing().instances == ()


def test_a_state_cut_in_half_is_put_back_from_the_copy(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    bench.execute(surge(WANTED))  # the copy is made before a run, so now it holds the VM
    whole = bench.state().path.read_text()
    bench.state().path.write_text(whole[: len(whole) // 2])
    assert bench.execute(surge(WANTED)).changed == ()
    assert bench.first_pid("b-0.g1") == pid


def test_half_a_state_of_the_very_first_run_is_no_state(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    bench.state().path.write_text('{"version": 4, "li')
    assert set(bench.execute(surge(WANTED)).changed) == targets(WANTED)
    assert vm_processes(bench) == (pid,)


def test_half_a_state_without_a_copy_stops_everything(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    bench.state().path.write_text("{")
    (bench.state().directory / "terraform.tfstate.before").unlink()
    with pytest.raises(StateUnreadable):
        bench.execute(surge(WANTED))
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING


def test_a_state_terraform_could_not_write_is_pushed_first(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    state = bench.state()
    newest = json.loads(state.path.read_text())
    state.path.write_text(json.dumps({**newest, "serial": 1, "resources": []}))
    left = state.folder.workspaces / "an-earlier-run"
    left.mkdir(parents=True)
    (left / "errored.tfstate").write_text(json.dumps(newest))
    result = bench.execute(surge(WANTED))
    assert result.changed == ()
    assert not state.folder.workspaces.exists()


def test_two_runs_of_one_cluster_do_not_overlap(bench: Bench) -> None:
    with bench.state().locked("another"), pytest.raises(RunInProgress, match="another"):
        bench.execute(surge(WANTED))
    assert bench.listing().instances == ()


def vm_processes(bench: Bench) -> tuple[int, ...]:
    """Everything that runs in any VM of the bench."""
    return tuple(
        pid for pid, vm in process.carrying("KEDGE_VM_DIR").items() if Path(vm).is_relative_to(bench.cloud.root)
    )


def taint(bench: Bench, name: str) -> None:
    """What a SIGINT during a create leaves in the state."""
    state = json.loads(bench.state().path.read_text())
    for resource in state["resources"]:
        if resource["name"] == name:
            for entry in resource["instances"]:
                entry["status"] = "tainted"
    bench.state().path.write_text(json.dumps(state))


def test_uids_of_the_bench_are_the_ones_of_the_builders(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    assert bench.vm("b-0.g1").cluster_uid == UID
