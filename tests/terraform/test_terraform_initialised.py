"""One `init` for all runs of a state, until what it was made from changes or it does not work any more."""

import shutil
from pathlib import Path

import pytest

from providers.base import RunKind
from providers.errors import TerraformFailed
from providers.tf.initialised import Initialised
from providers.tf.runner import TerraformRunner
from tests.fakes.resources import UID, attachment, instance, resources, run, surge, targets, volume
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


def test_each_state_has_its_own(bench: Bench, commands: list[str]) -> None:
    """What is kept names the state: another cluster's would be written to."""
    other = resources(instance("b-0"), uid="decaf")
    bench.execute(surge(WANTED))
    bench.execute(surge(other))
    assert commands.count("init") == 2
    assert bench.state().path.exists()
    assert bench.state("decaf").path.exists()
    assert {i.cluster_uid for i in bench.listing().instances} == {UID, "decaf"}


def test_what_is_kept_and_damaged_costs_one_run(bench: Bench, commands: list[str]) -> None:
    bench.execute(surge(WANTED))
    pid = bench.first_pid("b-0.g1")
    _damage(bench)
    with pytest.raises(TerraformFailed, match="terraform init"):
        bench.execute(surge(WANTED))
    assert bench.execute(surge(WANTED)).changed == ()
    assert commands.count("init") == 2
    assert bench.first_pid("b-0.g1") == pid


def _damage(bench: Bench) -> None:
    (kept,) = bench.state().folder.initialised.iterdir()
    shutil.rmtree(kept / "modules")


def test_it_is_for_its_owner_only(bench: Bench) -> None:
    bench.execute(surge(WANTED))
    kept = Initialised(bench.state().folder.initialised).directory
    assert _mode(kept) & 0o077 == 0


def _mode(path: Path) -> int:
    return path.stat().st_mode
