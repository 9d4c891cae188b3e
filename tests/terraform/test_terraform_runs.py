"""The five kinds of run on the real Terraform and the local cloud: each does what its intent names, nothing else."""

import os
import shutil

import pytest

from providers.base import InstanceState, RunKind
from providers.errors import NoCapacity, ResourceConflict, UnsafeChange
from providers.process import identify
from providers.tf.progress import ProgressKind
from tests.fakes.resources import (
    PLACE,
    UID,
    address,
    attachment,
    binding,
    instance,
    resources,
    run,
    surge,
    targets,
    volume,
)
from tests.terraform.conftest import Bench

pytestmark = pytest.mark.terraform

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
SECOND = (instance("b-1", zone="b"), volume("b-1", zone="b"), attachment("b-1.g1", "b-1.data.v1"))
CONTROLLER = (instance("c-0"), volume("c-0", "meta"), address("c-0"))
FIRST_CONTROLLER = (*CONTROLLER, attachment("c-0.g1", "c-0.meta.v1"), binding("c-0", "c-0.g1"))


def test_a_surge_creates_exactly_what_it_names(bench: Bench) -> None:
    wanted = resources(*BROKER, *FIRST_CONTROLLER)
    result = bench.execute(surge(wanted))
    assert set(result.changed) == targets(wanted)
    assert result.done_before == ()
    broker, controller = bench.vm("b-0.g1"), bench.vm("c-0.g1")
    assert (broker.state, controller.state) == (InstanceState.RUNNING, InstanceState.RUNNING)
    assert broker.volumes == ("b-0.data.v1",)
    assert controller.addresses == (bench.listing().node_addresses[UID, "c-0"],)
    assert (bench.vm_dir("b-0.g1") / "boot.json").read_text() == BROKER[0].boot_data
    assert (bench.vm_dir("b-0.g1") / "interfaces" / str(broker.address)).exists()


def test_a_vm_survives_terraform_and_knows_nothing_of_it(bench: Bench) -> None:
    bench.execute(surge(resources(instance("b-0"))))
    pid = bench.first_pid("b-0.g1")
    with open(f"/proc/{pid}/environ", "rb") as file:
        names = {entry.split(b"=")[0].decode() for entry in file.read().split(b"\0") if entry}
    assert names == {"PATH", "PYTHONPATH", "KEDGE_KAFKA_DIR", "KEDGE_BOOT_ID", "KEDGE_AGENT_NETWORK", "KEDGE_VM_DIR"}
    assert os.getsid(pid) == pid
    assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")} == {
        "/dev/null",
        str(bench.vm_dir("b-0.g1") / "logs" / "console.log"),
    }


def test_the_same_surge_again_changes_nothing(bench: Bench) -> None:
    wanted = resources(*BROKER)
    bench.execute(surge(wanted))
    pid = bench.first_pid("b-0.g1")
    again = bench.execute(surge(wanted))
    assert (again.changed, frozenset(again.done_before)) == ((), targets(wanted))
    assert bench.first_pid("b-0.g1") == pid


def test_a_second_surge_leaves_the_first_vm_alone(bench: Bench) -> None:
    bench.execute(surge(resources(*BROKER)))
    pid = bench.first_pid("b-0.g1")
    result = bench.execute(surge(resources(*BROKER, *SECOND), only=targets(resources(*SECOND)), intent="run-2"))
    assert set(result.changed) == targets(resources(*SECOND))
    assert bench.first_pid("b-0.g1") == pid


def test_a_retire_deletes_exactly_what_it_names(bench: Bench) -> None:
    wanted = resources(*BROKER, *SECOND)
    bench.execute(surge(wanted))
    old, new = bench.first_pid("b-0.g1"), bench.first_pid("b-1.g1")
    result = bench.execute(run(RunKind.RETIRE, wanted, deletes=targets(resources(*BROKER)), intent="run-2"))
    assert set(result.changed) == targets(resources(*BROKER))
    assert identify(old) is None
    assert identify(new) is not None
    assert [i.key for i in bench.listing().instances] == ["b-1.g1"]
    assert [v.key for v in bench.listing().volumes] == ["b-1.data.v1"]
    assert not bench.vm_dir("b-0.g1").exists()


def test_a_retire_deletes_the_ephemeral_disks_of_vms_whatever_goes_first(bench: Bench) -> None:
    """Disk and VM go side by side once the attachment is gone: a disk was refused while its VM still ran."""
    names = ("b-0", "b-1", "b-2", "b-3")
    leaving = resources(
        *(instance(n) for n in names),
        *(volume(n, kind="ephemeral") for n in names),
        *(attachment(f"{n}.g1", f"{n}.data.v1") for n in names),
    )
    bench.execute(surge(leaving))
    result = bench.execute(run(RunKind.RETIRE, leaving, deletes=targets(leaving), intent="run-2"))
    assert set(result.changed) == targets(leaving)
    assert bench.listing().instances == ()
    assert not list(bench.cloud.root.glob("*/volumes/*/*.json"))


def test_a_change_nobody_named_is_refused_and_nothing_is_applied(bench: Bench) -> None:
    bench.execute(surge(resources(*BROKER)))
    with pytest.raises(UnsafeChange) as refused:
        bench.execute(surge(resources(*BROKER, *SECOND), only=frozenset({"instance/b-1.g1"}), intent="run-2"))
    assert refused.value.targets == ("attachment/b-1.g1.data", "volume/b-1.data.v1")
    assert [i.key for i in bench.listing().instances] == ["b-0.g1"]


def test_a_vm_missing_from_the_rendered_set_is_not_deleted_by_a_surge(bench: Bench) -> None:
    bench.execute(surge(resources(*BROKER)))
    with pytest.raises(UnsafeChange, match=r"instance/b-0\.g1: the plan would delete it"):
        bench.execute(surge(resources(*SECOND), intent="run-2"))
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING


def test_an_instance_is_frozen_whatever_is_rendered_for_it_later(bench: Bench) -> None:
    bench.execute(surge(resources(instance("b-0", intent="one"))))
    pid = bench.first_pid("b-0.g1")
    later = resources(instance("b-0", zone="b", intent="two"), *SECOND)
    result = bench.execute(surge(later, only=targets(resources(*SECOND)), intent="run-2"))
    assert set(result.changed) == targets(resources(*SECOND))
    assert bench.first_pid("b-0.g1") == pid
    assert (bench.vm("b-0.g1").intent_id, bench.vm("b-0.g1").zone) == ("one", "a")


def test_a_key_that_another_intent_made_is_not_claimed_by_a_surge(bench: Bench) -> None:
    bench.execute(surge(resources(instance("b-0", intent="one"))))
    with pytest.raises(ResourceConflict, match="belongs to intent one"):
        bench.execute(surge(resources(instance("b-0", intent="two")), intent="run-2"))
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING


def test_a_dead_vm_does_not_block_the_others(bench: Bench) -> None:
    bench.execute(surge(resources(*BROKER, *SECOND)))
    dead = bench.vm("b-0.g1")
    bench.cloud.power_cut(PLACE, dead.id)
    assert bench.cloud.describe(PLACE, [dead.id]) == {dead.id: InstanceState.GONE}
    third = (instance("b-2", zone="c"), volume("b-2", zone="c"), attachment("b-2.g1", "b-2.data.v1"))
    gone = {"instance/b-0.g1", "attachment/b-0.g1.data"}
    wanted = resources(*BROKER, *SECOND, *third)
    result = bench.execute(run(RunKind.SURGE, wanted, creates=targets(resources(*third)), forget=gone, intent="run-2"))
    assert set(result.changed) == targets(resources(*third))
    assert {i.key: i.state for i in bench.listing().instances} == {
        "b-0.g1": InstanceState.GONE,
        "b-1.g1": InstanceState.RUNNING,
        "b-2.g1": InstanceState.RUNNING,
    }
    assert "b-0.data.v1" in {v.key for v in bench.listing().volumes}


def test_a_handover_moves_volume_and_address_to_the_next_vm(bench: Bench) -> None:
    bench.execute(surge(resources(*FIRST_CONTROLLER)))
    owned = bench.listing().node_addresses[UID, "c-0"]
    (bench.vm_dir("c-0.g1") / "volumes" / "meta" / "quorum-state").write_text("voter 100")
    both = resources(*FIRST_CONTROLLER, instance("c-0", 2))
    bench.execute(surge(both, only=frozenset({"instance/c-0.g2"}), intent="run-2"))
    bench.execute(run(RunKind.RELEASE, both, deletes={"attachment/c-0.g1.meta", "binding/c-0.g1"}, intent="run-3"))
    assert {i.key: (i.volumes, i.addresses) for i in bench.listing().instances} == {
        "c-0.g1": ((), ()),
        "c-0.g2": ((), ()),
    }
    assert list((bench.vm_dir("c-0.g1") / "volumes").glob("*.key")) == []
    after = resources(*CONTROLLER, instance("c-0", 2), attachment("c-0.g2", "c-0.meta.v1"), binding("c-0", "c-0.g2"))
    bench.execute(run(RunKind.BIND, after, creates={"attachment/c-0.g2.meta", "binding/c-0.g2"}, intent="run-4"))
    new = bench.vm("c-0.g2")
    assert (new.volumes, new.addresses) == (("c-0.meta.v1",), (owned,))
    assert (bench.vm_dir("c-0.g2") / "volumes" / "meta" / "quorum-state").read_text() == "voter 100"
    assert (bench.vm_dir("c-0.g2") / "interfaces" / owned).exists()
    assert not (bench.vm_dir("c-0.g1") / "interfaces" / owned).exists()
    bench.execute(run(RunKind.RETIRE, after, deletes={"instance/c-0.g1"}, intent="run-5"))
    assert [i.key for i in bench.listing().instances] == ["c-0.g2"]


def test_two_clusters_have_states_of_their_own(bench: Bench) -> None:
    bench.execute(surge(resources(*BROKER, uid="aaa")))
    bench.execute(surge(resources(*BROKER, uid="bbb")))
    kept = bench.state("bbb").path.read_bytes()
    bench.execute(run(RunKind.DESTROY, resources(*BROKER, uid="aaa"), deletes=targets(resources(*BROKER))))
    assert bench.state("bbb").path.read_bytes() == kept
    assert [(i.cluster_uid, i.state) for i in bench.listing().instances] == [("bbb", InstanceState.RUNNING)]


def test_a_destroy_that_does_not_name_everything_is_refused(bench: Bench) -> None:
    bench.execute(surge(resources(*BROKER, *SECOND)))
    with pytest.raises(UnsafeChange, match=r"instance/b-1\.g1: a destroy run leaves nothing"):
        bench.execute(
            run(RunKind.DESTROY, resources(*BROKER, *SECOND), deletes=targets(resources(*BROKER)), intent="run-2")
        )
    assert len(bench.listing().instances) == 2


def test_progress_tells_what_is_being_made(bench: Bench) -> None:
    bench.execute(surge(resources(instance("b-0"))))
    told = [(p.kind, p.target) for p in bench.progress if p.kind in (ProgressKind.STARTED, ProgressKind.DONE)]
    assert told == [(ProgressKind.STARTED, "instance/b-0.g1"), (ProgressKind.DONE, "instance/b-0.g1")]


def test_the_clouds_own_error_arrives_typed_and_the_rest_is_made(bench: Bench) -> None:
    bench.cloud.faults.set_vm("no_capacity", {"b-1.g1": 1})
    wanted = resources(*BROKER, *SECOND)
    with pytest.raises(NoCapacity, match="zone b has no room"):
        bench.execute(surge(wanted))
    assert [i.key for i in bench.listing().instances] == ["b-0.g1"]
    bench.cloud.faults.clear()
    result = bench.execute(surge(wanted))
    assert {"instance/b-1.g1", "attachment/b-1.g1.data"} <= set(result.changed)
    assert {i.key for i in bench.listing().instances} == {"b-0.g1", "b-1.g1"}


def test_a_run_leaves_no_files_but_the_state_and_only_for_its_owner(bench: Bench) -> None:
    bench.execute(surge(resources(*BROKER)))
    state = bench.state()
    assert not state.folder.workspaces.exists()
    assert state.path.stat().st_mode & 0o077 == 0
    assert state.directory.stat().st_mode & 0o077 == 0


def test_variables_of_the_persons_shell_change_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CLI_ARGS", "-no-such-flag")
    monkeypatch.setenv("TF_WORKSPACE", "elsewhere")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", "/no/such/file")
    assert bench.execute(surge(resources(instance("b-0")))).changed == ("instance/b-0.g1",)


def test_terraform_is_installed() -> None:
    assert shutil.which("terraform"), "these tests need Terraform 1.9 or later on the PATH"
