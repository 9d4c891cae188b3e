"""One `init` for the runs of all states, until what it was made from changes or it does not work any more."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from providers.base import RunKind
from providers.errors import NoCapacity, TerraformFailed
from providers.tf.runner import TerraformRunner
from tests.fakes.resources import UID, attachment, instance, resources, run, surge, targets, volume
from tests.terraform.cloudbench import left_beside_states
from tests.terraform.conftest import Bench

pytestmark = pytest.mark.terraform

WANTED = resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Terraform's commands in the order they were run."""
    seen: list[str] = []
    run_it = TerraformRunner.cmd

    def noting(self: TerraformRunner, cmd: str, *args: str, **kwargs: object) -> tuple[int, str, str]:
        seen.append(cmd)
        return run_it(self, cmd, *args, **kwargs)

    monkeypatch.setattr(TerraformRunner, "cmd", noting)
    return seen


def test_the_first_run_initialises_and_the_others_do_not(bench: Bench, commands: list[str]) -> None:
    bench.execute(surge(WANTED))
    bench.execute(run(RunKind.RETIRE, WANTED, deletes=targets(WANTED), intent="run-2"))
    assert commands == ["init", "plan", "show", "apply", "plan", "show", "apply"]
    assert bench.listing().instances == ()


def test_another_cluster_needs_none_and_each_writes_its_own_state(bench: Bench, commands: list[str]) -> None:
    other = resources(instance("b-0"), uid="decaf")
    bench.execute(surge(WANTED))
    bench.execute(surge(other))
    assert commands.count("init") == 1
    assert bench.state().path.exists()
    assert bench.state("decaf").path.exists()
    assert {i.cluster_uid for i in bench.listing().instances} == {UID, "decaf"}


def test_what_is_kept_and_damaged_costs_one_run(bench: Bench, commands: list[str]) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    (kept,) = there(bench)
    shutil.rmtree(kept / "modules")
    with pytest.raises(TerraformFailed, match="terraform init"):
        bench.execute(surge(WANTED))
    assert bench.execute(surge(WANTED)).changed == ()
    assert commands.count("init") == 2
    assert bench.first_pid("b-0.g1") == pid


def test_a_cloud_that_refuses_costs_no_init(bench: Bench, commands: list[str]) -> None:
    """The plan was made with what is kept, so that is whole."""
    bench.cloud.faults.set_vm("no_capacity", {"b-0.g1": 1})
    with pytest.raises(NoCapacity):
        bench.execute(surge(WANTED))
    bench.cloud.faults.clear()
    bench.execute(surge(WANTED))
    assert commands.count("init") == 1


def test_eight_new_clusters_are_applied_at_once_and_leave_their_states_and_nothing_else(
    bench: Bench, commands: list[str]
) -> None:
    """From one folder: 8 first runs together may each `init`, and what one of them made is kept."""
    uids = [f"uid-{n}" for n in range(8)]
    runs = {uid: surge(resources(instance("b-0"), volume("b-0"), uid=uid), intent=f"run-{uid}") for uid in uids}
    with ThreadPoolExecutor(8) as pool:
        results = [done.result() for done in [pool.submit(bench.execute, run) for run in runs.values()]]
    assert [set(result.changed) for result in results] == [{"instance/b-0.g1", "volume/b-0.data.v1"}] * 8
    assert sorted(i.cluster_uid for i in bench.listing().instances) == uids
    assert len(there(bench)) == 1
    assert left_beside_states(bench.state_root) == {}
    before = commands.count("init")
    with ThreadPoolExecutor(8) as pool:
        again = [done.result() for done in [pool.submit(bench.execute, run) for run in runs.values()]]
    assert [result.changed for result in again] == [()] * 8
    assert commands.count("init") == before


def test_it_is_for_its_owner_only(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    kept = bench.state().folder.initialised
    assert [path for path in (kept, *kept.glob("*")) if path.stat().st_mode & 0o077] == []


def there(bench: Bench) -> list[Path]:
    """The data directories that were kept."""
    return sorted(bench.state().folder.initialised.glob("*/*"))
