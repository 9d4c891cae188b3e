"""Volumes grow where they are, on the real Terraform and the local cloud: exactly those named, to exactly that size."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from events.spec.storage_rules import GROWS_IN_PLACE
from providers.base import RunKind, TerraformRun
from providers.errors import UnsafeChange, UnsupportedChange
from providers.tf.growing import growing_module
from tests.fakes.resources import attachment, instance, resources, run, surge, volume
from tests.terraform.conftest import Bench

pytestmark = pytest.mark.terraform

GIB = 2**30
MODULES = Path(__file__).resolve().parents[2] / "terraform" / "modules"


def _growing(size_gib: int, *, named: int | None = None, other_gib: int = 1) -> TerraformRun:
    """A run that renders the first volume with `size_gib` and names `named` (the same)."""
    rendered = resources(
        instance("b-0"),
        instance("b-1"),
        replace(volume("b-0"), size_gib=size_gib),
        replace(volume("b-1"), size_gib=other_gib),
        attachment("b-0.g1", "b-0.data.v1"),
        attachment("b-1.g1", "b-1.data.v1"),
    )
    asked = run(RunKind.GROW, rendered, intent=f"grow-{size_gib}")
    return replace(asked, grows={"volume/b-0.data.v1": named or size_gib})


def _sizes(bench: Bench) -> dict[str, int]:
    return {v.key: v.size_gib for v in bench.listing().volumes}


def test_a_volume_grows_under_a_vm_that_runs_on_and_nothing_else_changes(bench: Bench) -> None:
    bench.execute(surge(_growing(1).resources))
    pid = bench.first_pid("b-0.g1")
    (bench.vm_dir("b-0.g1") / "volumes" / "data" / "log").write_text("records")

    result = bench.execute(_growing(3))

    assert result.changed == ("volume/b-0.data.v1",)
    assert _sizes(bench) == {"b-0.data.v1": 3, "b-1.data.v1": 1}
    assert (bench.vm_dir("b-0.g1") / "volumes" / "data.bytes").read_text().strip() == str(3 * GIB)
    assert (bench.vm_dir("b-0.g1") / "volumes" / "data" / "log").read_text() == "records"
    assert bench.first_pid("b-0.g1") == pid

    again = bench.execute(_growing(3))
    assert (again.changed, again.done_before) == ((), ("volume/b-0.data.v1",)), "a run that is repeated is done"


def test_more_than_the_named_growth_is_refused_and_nothing_grows(bench: Bench) -> None:
    bench.execute(surge(_growing(2).resources))
    with pytest.raises(UnsafeChange, match="from 2 to 5 GiB; the run grows it to 4 GiB"):
        bench.execute(_growing(5, named=4))
    with pytest.raises(UnsafeChange, match=r"volume/b-1\.data\.v1: the plan would update it in place"):
        bench.execute(_growing(3, other_gib=2))
    with pytest.raises(UnsafeChange, match="from 2 to 1 GiB"):
        bench.execute(_growing(1))
    assert _sizes(bench) == {"b-0.data.v1": 2, "b-1.data.v1": 1}


def test_other_runs_take_no_notice_of_a_volumes_size(bench: Bench) -> None:
    bench.execute(surge(_growing(1).resources))
    bench.execute(_growing(3))
    there = _growing(1).resources
    wanted = resources(*there.instances, *there.volumes, *there.attachments, volume("b-0", "more"))
    created = frozenset({"volume/b-0.more.v1"})
    assert bench.execute(run(RunKind.SURGE, wanted, creates=created)).changed == ("volume/b-0.more.v1",)
    assert _sizes(bench)["b-0.data.v1"] == 3


@pytest.mark.parametrize("cloud", sorted(path.name for path in MODULES.iterdir() if not path.name.endswith("-network")))
def test_a_cloud_grows_volumes_exactly_where_the_rules_of_specs_say_so(cloud: str, tmp_path: Path) -> None:
    if cloud not in GROWS_IN_PLACE:
        with pytest.raises(UnsupportedChange, match=cloud):
            growing_module(MODULES / cloud, tmp_path / "copy")
        return
    copy = growing_module(MODULES / cloud, tmp_path / "copy")
    before = [line for file in sorted((MODULES / cloud).glob("*.tf")) for line in file.read_text().splitlines()]
    after = [line for file in sorted(copy.glob("*.tf")) for line in file.read_text().splitlines()]
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1, "one line, of the volumes that outlive VMs"
    assert _ignored(changed[0][1]) == _arguments(MODULES / cloud) - {"size", "input"} | _ignored_of_local(cloud)


def _ignored(line: str) -> set[str]:
    return set(re.findall(r"[a-z_.]+", line.partition("= ")[2]))


def _ignored_of_local(cloud: str) -> set[str]:
    """Where this machine's interpreter is may change; what else its one argument holds may not."""
    return {"input.python", "input.root"} if cloud == "local" else set()


def _arguments(module: Path) -> set[str]:
    """Of the volumes that outlive VMs: all that the module says of one."""
    block = re.search(r'^resource "\w+" "volume" \{\n(.*?)^\}', (module / "volumes.tf").read_text(), re.M | re.S)
    assert block is not None
    said = re.findall(r'^  (?:dynamic ")?([a-z_]+)(?:" \{| *=)', block[1], re.M)
    return set(said) - {"for_each"}
