"""What is rendered for a run: values are data, never code; what goes is not in it."""

import json
from pathlib import Path

import pytest

from providers.base import RunKind
from providers.tf.modules import module_root
from providers.tf.states import IN_A_FILE, STATE_PATH, StateAccess
from providers.tf.workspace import open_workspace, rendered
from tests.fakes.resources import attachment, instance, resources, run, volume


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "main.tf").write_text("# one\n")
    return folder


def test_a_value_that_looks_like_a_template_stays_data(tmp_path: Path, module: Path) -> None:
    workspace = open_workspace(
        tmp_path / "runs",
        module=module,
        access=StateAccess({"local": {"path": "${x}/state"}}),
        variables={"cluster_name": "${file('/etc/passwd')}"},
        intent_id="i",
    )
    configuration = json.loads((workspace.directory / "main.tf.json").read_text())
    values = json.loads((workspace.directory / "kedge.auto.tfvars.json").read_text())
    assert values == {"cluster_name": "${file('/etc/passwd')}"}
    assert configuration["module"]["kedge"]["cluster_name"] == "${var.cluster_name}"
    assert configuration["terraform"]["backend"]["local"]["path"] == "$${x}/state"


def test_two_runs_of_different_states_are_the_same_to_an_init(tmp_path: Path, module: Path) -> None:
    """What it remembers are places in the folder of the run: of the module, and of the state."""
    opened = [
        open_workspace(
            tmp_path / name / "deeper" / "runs",
            module=module,
            access=StateAccess(IN_A_FILE, folder=tmp_path / name),
            variables={"cluster_name": name},
            intent_id="i",
        )
        for name in ("one", "two")
    ]
    one, two = ((w.directory / "main.tf.json").read_text() for w in opened)
    assert one == two
    assert opened[0].fingerprint == opened[1].fingerprint
    source = json.loads(one)["module"]["kedge"]["source"]
    for workspace, name in zip(opened, ("one", "two"), strict=True):
        assert (workspace.directory / source / "main.tf").resolve() == module / "main.tf"
        assert not (workspace.directory / source).is_symlink(), "Terraform would remember where it leads to"
        (workspace.directory / STATE_PATH).write_text(name)
        assert (tmp_path / name / "terraform.tfstate").read_text() == name


def test_a_module_that_grows_volumes_needs_no_init_of_its_own(tmp_path: Path, module: Path) -> None:
    (module / "volumes.tf").write_text("    ignore_changes = all # grows: [type]\n")
    access = StateAccess({"local": {}})
    plain, grows = (
        open_workspace(tmp_path / "runs", module=module, access=access, variables={}, intent_id="i", grows=grows)
        for grows in (False, True)
    )
    assert plain.fingerprint == grows.fingerprint
    assert (grows.directory / "module" / "volumes.tf").read_text() == "    ignore_changes = [type]\n"


def test_everything_rendered_is_for_its_owner_only(tmp_path: Path, module: Path) -> None:
    workspace = open_workspace(
        tmp_path / "runs", module=module, access=StateAccess({"local": {}}), variables={}, intent_id="i"
    )
    assert workspace.directory.stat().st_mode & 0o077 == 0


def test_a_workspace_with_the_only_copy_of_a_state_is_kept(tmp_path: Path, module: Path) -> None:
    workspace = open_workspace(
        tmp_path / "runs", module=module, access=StateAccess({"local": {}}), variables={}, intent_id="i"
    )
    workspace.errored_state.write_text("{}")
    workspace.remove()
    assert workspace.errored_state.exists()
    workspace.errored_state.unlink()
    workspace.remove()
    assert not workspace.directory.exists()


def test_what_a_run_deletes_or_forgets_is_not_rendered() -> None:
    everything = resources(
        instance("b-0"), instance("b-1"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"), volume("b-1")
    )
    left = rendered(
        run(
            RunKind.RETIRE,
            everything,
            deletes={"instance/b-0.g1", "attachment/b-0.g1.data", "volume/b-0.data.v1"},
            forget={"instance/b-1.g1"},
        )
    )
    assert left == resources(volume("b-1"))


def test_the_modules_are_found() -> None:
    assert (module_root() / "local" / "instances.tf").exists()
