"""Terraform's own `http` backend against the real app: a whole life, a lock that is taken, runs that were killed."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers import process
from providers.base import InstanceState, RunKind
from providers.errors import RunInProgress, RunInterrupted, TerraformFailed
from providers.tf.initialised import Initialised
from providers.tf.progress import RunProgress
from providers.tf.runner import TerraformRunner
from providers.tf.state_body import targets_in
from providers.tf.states import StateAccess, TerraformState, state_key
from providers.tf.workspace import open_workspace
from tests.databases import sqlite_template
from tests.fakes.resources import PLACE, UID, attachment, instance, resources, run, surge, targets, volume
from tests.fakes.states import claim
from tests.terraform.conftest import MODULES, Bench
from tests.terraform.served import Server, serving, start_server

pytestmark = pytest.mark.terraform

WANTED = resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
SECOND = resources(instance("b-1", zone="b"), volume("b-1", zone="b"), attachment("b-1.g1", "b-1.data.v1"))
BOTH = resources(
    *WANTED.instances, *WANTED.volumes, *WANTED.attachments, *SECOND.instances, *SECOND.volumes, *SECOND.attachments
)
KEY = state_key(UID, PLACE)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{sqlite_template(tmp_path)}"


@pytest.fixture
def server(url: str, tmp_path: Path, bench: Bench) -> Iterator[Server]:
    with serving(url, tmp_path / "homes", bench.cloud) as made:
        yield made


def test_a_cluster_lives_its_whole_life_on_states_in_the_database(server: Server, bench: Bench) -> None:
    made = server.execute(surge(WANTED))
    assert set(made.changed) == targets(WANTED)
    assert targets_in(server.states.of(KEY).read()) == targets(WANTED)
    pid = bench.first_pid("b-0.g1")
    assert server.execute(surge(WANTED)).changed == ()
    server.execute(surge(BOTH, only=targets(SECOND), intent="run-2"))
    retired = server.execute(run(RunKind.RETIRE, BOTH, deletes=targets(SECOND), intent="run-3"))
    assert set(retired.changed) == targets(SECOND)
    assert [i.key for i in bench.listing().instances] == ["b-0.g1"]
    assert bench.first_pid("b-0.g1") == pid
    versions = server.states.versions.versions(KEY)
    assert len({v.lineage for v in versions}) == 1
    assert [v.serial for v in versions] == sorted({v.serial for v in versions}, reverse=True)
    assert {v.run_id.partition("-")[2] for v in versions} == {"run-1", "run-2", "run-3"}
    assert server.states.locks.holder(KEY) is None


def test_neither_the_state_nor_the_credentials_of_a_run_are_ever_on_disk(server: Server, tmp_path: Path) -> None:
    looked: list[str] = []

    def look(_: RunProgress) -> None:
        """While it applies: the saved plan, what `init` made and the configuration are all there."""
        password = server.passes.ever[-1].password.get_secret_value().encode()
        files = [path for path in (tmp_path / "homes").rglob("*") if path.is_file()]
        looked.extend(path.name for path in files)
        assert [path for path in files if password in path.read_bytes()] == []

    server.execute(surge(WANTED), on_progress=look)
    server.execute(surge(BOTH, only=targets(SECOND), intent="run-2"), on_progress=look)
    assert {"run.tfplan", "main.tf.json", "terraform.tfstate"} <= set(looked), (
        "the last is what init says of the backend"
    )
    one, two = server.passes.ever
    assert one.password != two.password
    left = {path.name for path in (tmp_path / "homes").rglob("*") if path.is_file()}
    assert not left & {"run.tfplan", "main.tf.json", "errored.tfstate"}
    assert [path.name for path in server.states.root.iterdir()] == ["initialised"], "of the cluster, not even a folder"
    (given,) = server.states.root.glob("initialised/*/*")
    assert not any(UID in path.read_text() for path in given.rglob("*") if path.is_file())


def test_a_run_that_comes_while_another_holds_the_state_is_told_whose_it_is(server: Server, bench: Bench) -> None:
    another = server.states.of(KEY).locked("another", on_lost=lambda: None)
    with another, pytest.raises(RunInProgress, match="run another of server server-1"):
        server.execute(surge(WANTED))
    assert bench.listing().instances == ()
    assert server.execute(surge(WANTED)).changed


def test_terraform_itself_shows_who_has_the_lock_and_does_nothing(server: Server, tmp_path: Path) -> None:
    state = server.states.of(KEY)
    with state.locked("run-1", on_lost=lambda: None) as access:
        terraform = command(server, state, access)
        held = server.states.locks.holder(KEY)
        assert held is not None
        lock = {"ID": "11111111-2222", "Operation": "OperationTypeApply", "Who": "somebody@elsewhere"}
        with terraform.prepared(Initialised.of(state)):
            server.states.locks.lock(KEY, held.claim.hold_id, lock)
            with pytest.raises(TerraformFailed, match=r"(?s)state lock.*already locked: ID=11111111-2222"):
                terraform.plan()
            server.states.locks.unlock(KEY, held.claim.hold_id, "11111111-2222")
            assert "planned_values" in terraform.plan()
        after = server.states.locks.holder(KEY)
        assert after is not None
        assert after.lock == {}, "Terraform gave its lock back"


def test_with_credentials_that_are_over_terraform_gets_nothing(server: Server) -> None:
    state = server.states.of(KEY)
    with state.locked("run-1", on_lost=lambda: None) as old:
        pass
    with state.locked("run-2", on_lost=lambda: None) as access:
        terraform = command(server, state, StateAccess(access.backend, {**access.environment, **old.environment}))
        opened = terraform.prepared(Initialised.of(state))
        with pytest.raises(TerraformFailed, match="requires auth"), opened:
            pass


def test_a_killed_servers_run_is_finished_by_another_home_and_there_is_one_vm(
    url: str, tmp_path: Path, bench: Bench
) -> None:
    finishes_what_a_killed_server_began(url, tmp_path / "homes", bench)


@pytest.mark.soak  # what is asked of the database there is held by tests/contract on both
@pytest.mark.postgres
def test_the_same_on_postgresql(tmp_path: Path, bench: Bench, postgres_server: object) -> None:
    from tests.databases import postgres_copy

    made = postgres_copy(postgres_server)  # type: ignore[arg-type]
    try:
        finishes_what_a_killed_server_began(made, tmp_path / "homes", bench)
    finally:
        postgres_server.drop_database(made)  # type: ignore[attr-defined]


def finishes_what_a_killed_server_began(url: str, homes: Path, bench: Bench) -> None:
    bench.cloud.faults.set_vm("slow_create_s", {"*": 30})
    first = start_server(url, homes, bench.cloud)
    try:
        wait_for(lambda: in_creation(bench))
        with serving(url, homes, bench.cloud, home="second", epoch=2) as second:
            with pytest.raises(RunInProgress, match=r"run \w+-run-1 of server server-1"):
                second.execute(surge(WANTED))
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
            bench.cloud.faults.clear()
            second.execute(surge(WANTED))
            assert bench.vm("b-0.g1").state is InstanceState.RUNNING
            assert bench.vm("b-0.g1").volumes == ("b-0.data.v1",)
            assert len(vm_processes(bench)) == 1
            assert targets_in(second.states.of(KEY).read()) == targets(WANTED)
            assert len({v.lineage for v in second.states.versions.versions(KEY)}) == 1
            assert second.states.locks.holder(KEY) is None
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()


def test_a_run_whose_hold_was_broken_is_interrupted_and_writes_nothing_any_more(server: Server, bench: Bench) -> None:
    bench.cloud.faults.set_vm("slow_create_s", {"*": 30})
    seen: list[int] = []

    def break_it() -> None:
        wait_for(lambda: in_creation(bench))
        held = server.states.locks.holder(KEY)
        assert held is not None
        server.states.locks.take(KEY, claim("successor", epoch=2), proved_dead=held.claim.hold_id)
        seen.append(len(server.states.versions.versions(KEY)))

    breaker = threading.Thread(target=break_it)
    breaker.start()
    with pytest.raises(RunInterrupted, match="asked to stop"):
        server.execute(surge(WANTED))
    breaker.join()
    assert [len(server.states.versions.versions(KEY))] == seen
    assert not vm_processes(bench)


def test_a_stop_saves_the_state_and_the_next_run_goes_on_from_it(server: Server, bench: Bench) -> None:
    bench.cloud.faults.set_vm("slow_create_s", {"*": 30})
    stop = threading.Event()

    def stop_in_creation() -> None:
        wait_for(lambda: in_creation(bench))
        stop.set()

    waiter = threading.Thread(target=stop_in_creation)
    waiter.start()
    with pytest.raises(RunInterrupted, match="its state is saved"):
        server.execute(surge(WANTED), stop=stop)
    waiter.join()
    assert "volume/b-0.data.v1" in targets_in(server.states.of(KEY).read()), "what was done before is in the state"
    bench.cloud.faults.clear()
    server.execute(surge(WANTED))
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING
    assert len(vm_processes(bench)) == 1


def test_a_state_terraform_could_not_write_is_pushed_by_the_next_run(server: Server, bench: Bench) -> None:
    server.execute(surge(WANTED))
    state = server.states.of(KEY)
    newest = json.loads(state.read() or b"")
    left = state.folder.workspaces / "an-earlier-run"
    left.mkdir(parents=True)
    (left / "errored.tfstate").write_text(json.dumps({**newest, "serial": newest["serial"] + 1}))
    assert server.execute(surge(WANTED)).changed == ()
    pushed = json.loads(state.read() or b"")
    assert pushed["serial"] > newest["serial"]
    assert pushed["resources"] == newest["resources"]
    assert not state.folder.workspaces.exists()


def command(server: Server, state: TerraformState, access: StateAccess) -> TerraformRunner:
    """Terraform by hand, in a workspace of its own."""
    workspace = open_workspace(
        state.folder.workspaces,
        module=MODULES / "local",
        access=access,
        variables=server.cloud.variables(WANTED),
        intent_id="by-hand",
    )
    return TerraformRunner(
        workspace,
        environment={**server.cloud.terraform_environment(PLACE), **access.environment},
        stop=threading.Event(),
        on_progress=lambda _: None,
        timeout_s=60.0,
    )


def in_creation(bench: Bench) -> bool:
    path = bench.vm_dir("b-0.g1") / "vm.json"
    return path.exists() and json.loads(path.read_text())["launched"] is None


def vm_processes(bench: Bench) -> tuple[int, ...]:
    found = process.carrying("KEDGE_VM_DIR").items()
    return tuple(pid for pid, vm in found if Path(vm).is_relative_to(bench.cloud.root))


def wait_for(condition: object) -> None:
    assert callable(condition)
    assert process.wait_until(condition, timeout_s=30.0), "not in time"
