"""`init` is left out where what an earlier run's made still fits, with a shell script in Terraform's place."""

import os
import threading
from pathlib import Path

import pytest

from providers.errors import TerraformFailed
from providers.tf.initialised import Initialised
from providers.tf.runner import TerraformRunner
from providers.tf.workspace import Workspace, open_workspace

SCRIPT = """#!/bin/sh
echo "$1 $TF_DATA_DIR" >> {calls}
case $1 in
  init)
    mkdir -p "$TF_DATA_DIR/modules"
    echo made > "$TF_DATA_DIR/modules/modules.json"
    echo chosen > .terraform.lock.hcl ;;
  version) cat "$TF_DATA_DIR/modules/modules.json" .terraform.lock.hcl ;;
esac
"""


class House:
    """One state with its module and its Terraform."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.module = root / "module"
        self.module.mkdir()
        (self.module / "main.tf").write_text("# one\n")
        self.kept = Initialised(root / "initialised")
        self.program = root / "terraform"
        self.program.write_text(SCRIPT.format(calls=root / "calls"))
        self.program.chmod(0o755)

    def run(self, **variables: object) -> str:
        """What Terraform finds in its data directory, and which providers were chosen, in a run of its own."""
        workspace = self.workspace(**variables)
        terraform = TerraformRunner(
            workspace,
            environment={},
            stop=threading.Event(),
            on_progress=lambda _: None,
            timeout_s=20.0,
            binary=str(self.program),
        )
        terraform.prepare(self.kept)
        _, out, _ = terraform.cmd("version")
        workspace.remove()
        return out

    def workspace(self, **variables: object) -> Workspace:
        return open_workspace(
            self.root / "runs",
            module=self.module,
            backend={"local": {"path": "state"}},
            variables={"instances": {}, **variables},
            intent_id="i",
        )

    @property
    def inits(self) -> int:
        return sum(line.startswith("init ") for line in (self.root / "calls").read_text().splitlines())


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_the_next_run_finds_what_the_first_one_made(house: House) -> None:
    assert house.run() == house.run() == "made\nchosen\n"
    assert house.inits == 1


def test_other_values_need_no_init(house: House) -> None:
    house.run(instances={"a": 1})
    house.run(instances={"b": 2})
    assert house.inits == 1


def test_another_module_configuration_or_terraform_is_initialised_anew(house: House) -> None:
    house.run()
    (house.module / "main.tf").write_text("# two\n")
    house.run()
    assert house.inits == 2
    house.run(another_variable=1)
    assert house.inits == 3
    os.utime(house.program, ns=(1, 1))
    house.run(another_variable=1)
    assert house.inits == 4
    assert len(list(house.kept.directory.iterdir())) == 1, "only the last one is kept"


def test_an_init_that_fails_leaves_nothing_to_take(house: House) -> None:
    house.program.write_text("#!/bin/sh\nmkdir -p $TF_DATA_DIR; exit 1\n")
    with pytest.raises(TerraformFailed):
        house.run()
    assert house.kept.take(house.workspace(), binary=str(house.program)) is None


def test_what_was_dropped_is_made_again(house: House) -> None:
    house.run()
    house.kept.drop()
    house.kept.drop()
    house.run()
    assert house.inits == 2
