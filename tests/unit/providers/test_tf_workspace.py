"""What is rendered for a run: values are data, never code; what goes is not in it."""

import json
from pathlib import Path

from providers.base import RunKind
from providers.tf.modules import module_root
from providers.tf.workspace import open_workspace, rendered
from tests.fakes.resources import attachment, instance, resources, run, volume


def test_a_value_that_looks_like_a_template_stays_data(tmp_path: Path) -> None:
    workspace = open_workspace(
        tmp_path / "runs",
        module=tmp_path / "module",
        backend={"local": {"path": str(tmp_path / "${x}" / "state")}},
        variables={"cluster_name": "${file('/etc/passwd')}"},
        intent_id="i",
    )
    configuration = json.loads((workspace.directory / "main.tf.json").read_text())
    values = json.loads((workspace.directory / "kedge.auto.tfvars.json").read_text())
    assert values == {"cluster_name": "${file('/etc/passwd')}"}
    assert configuration["module"]["kedge"]["cluster_name"] == "${var.cluster_name}"
    assert configuration["terraform"]["backend"]["local"]["path"] == f"{tmp_path}/$${{x}}/state"


def test_the_module_is_named_by_a_relative_path_so_that_it_is_not_copied(tmp_path: Path) -> None:
    workspace = open_workspace(
        tmp_path / "runs", module=tmp_path / "module", backend={"local": {}}, variables={}, intent_id="i"
    )
    source = json.loads((workspace.directory / "main.tf.json").read_text())["module"]["kedge"]["source"]
    assert source == "../../module"


def test_everything_rendered_is_for_its_owner_only(tmp_path: Path) -> None:
    workspace = open_workspace(
        tmp_path / "runs", module=tmp_path / "module", backend={"local": {}}, variables={}, intent_id="i"
    )
    assert workspace.directory.stat().st_mode & 0o077 == 0


def test_a_workspace_with_the_only_copy_of_a_state_is_kept(tmp_path: Path) -> None:
    workspace = open_workspace(
        tmp_path / "runs", module=tmp_path / "module", backend={"local": {}}, variables={}, intent_id="i"
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
