"""`init` is left out where what an earlier run's made still fits, with a shell script in Terraform's place."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from providers.errors import TerraformFailed
from providers.tf.initialised import Initialised
from providers.tf.lock_files import ChosenInFiles
from providers.tf.runner import TerraformRunner
from providers.tf.states import StateAccess
from providers.tf.workspace import Workspace, open_workspace

CHECKS = """
    if [ -e .terraform.lock.hcl ] && [ "$(cat .terraform.lock.hcl)" != {package} ]; then
      echo "it matches none of the checksums in the lock file" >&2; exit 1
    fi
    echo {package} > .terraform.lock.hcl ;;"""
"""What Terraform does where a folder of plugins has that package."""

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
        (self.module / "versions.tf").write_text("# one\n")
        self.chosen = root / "providers"
        self.kept = Initialised(root / "initialised", ChosenInFiles(self.chosen))
        self.program = root / "terraform"
        self.program.write_text(SCRIPT.format(calls=root / "calls"))
        self.program.chmod(0o755)

    def run(self, during: Callable[[], object] = lambda: None, *, plugins: str = "", **variables: object) -> str:
        """What Terraform finds in its data directory, and which providers were chosen, in a run of its own."""
        workspace = self.workspace(**variables)
        terraform = TerraformRunner(
            workspace,
            environment={"XDG_DATA_DIRS": plugins},
            stop=threading.Event(),
            on_progress=lambda _: None,
            timeout_s=20.0,
            binary=str(self.program),
        )
        try:
            with terraform.prepared(self.kept):
                during()
                _, out, _ = terraform.cmd("version")
        finally:
            workspace.remove()
        return out

    def workspace(self, **variables: object) -> Workspace:
        return open_workspace(
            self.root / "runs",
            module=self.module,
            access=StateAccess({"local": {"path": "state"}}),
            variables={"instances": {}, **variables},
            intent_id="i",
        )

    def there(self) -> list[Path]:
        """The data directories that were kept."""
        return sorted(self.kept.directory.glob("*/*"))

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


def test_another_module_configuration_terraform_or_folder_of_plugins_is_initialised_anew(house: House) -> None:
    house.run()
    (house.module / "main.tf").write_text("# two\n")
    house.run()
    assert house.inits == 2
    house.run(another_variable=1)
    assert house.inits == 3
    house.run(another_variable=1, plugins="/elsewhere")
    assert house.inits == 4
    os.utime(house.program, ns=(1, 1))
    house.run(another_variable=1)
    assert house.inits == 5


def test_what_an_earlier_release_used_goes_a_week_after_its_last_use(house: House) -> None:
    house.run()
    (first,) = house.there()
    house.run(another_variable=1)
    assert len(house.there()) == 2, "somebody may run that release still"
    long_ago_s = time.time() - 8 * 24 * 3600
    os.utime(first / "in-use", (long_ago_s, long_ago_s))
    house.run(a_third_variable=1)
    assert first not in house.there()
    assert len(house.there()) == 2
    assert len(list(house.kept.directory.iterdir())) == 2, "its folder went, too"


def test_what_is_in_use_stays_however_old_it_is(house: House) -> None:
    house.run()
    (first,) = house.there()

    def meanwhile() -> None:
        os.utime(first / "in-use", (0, 0))
        house.run(another_variable=1)
        assert first.is_dir()

    assert house.run(meanwhile) == "made\nchosen\n"


def test_each_use_is_noted(house: House) -> None:
    house.run()
    (first,) = house.there()
    os.utime(first / "in-use", (0, 0))
    house.run()
    house.run(another_variable=1)
    assert first.is_dir()
    assert house.inits == 2


def test_an_init_that_fails_leaves_nothing_to_take(house: House) -> None:
    house.program.write_text("#!/bin/sh\nmkdir -p $TF_DATA_DIR; exit 1\n")
    with pytest.raises(TerraformFailed):
        house.run()
    assert house.there() == []


def test_a_server_that_dies_during_init_leaves_nothing_to_take(house: House) -> None:
    """What was made so far is in the folder of its run; the next run of that state deletes it."""
    house.program.write_text(
        SCRIPT.format(calls=house.root / "calls").replace("    echo made", "    exit 1; echo made")
    )
    with pytest.raises(TerraformFailed):
        house.run()
    house.program.write_text(SCRIPT.format(calls=house.root / "calls"))
    assert house.run() == "made\nchosen\n"


def test_a_deletion_that_was_cut_short_is_finished_and_never_taken_for_whole(house: House) -> None:
    house.run()
    (first,) = house.there()
    half = first.rename(first.with_suffix(".gone"))
    (half / "in-use").unlink()
    assert house.run() == "made\nchosen\n"
    assert not half.exists()


def test_of_two_that_initialise_at_once_one_is_kept_and_both_work(house: House) -> None:
    """The second begins and ends while the first one is in its `init`."""
    workspace = house.workspace()
    made = workspace.directory / ".terraform"

    def init() -> None:
        made.mkdir()
        assert house.run() == "made\nchosen\n"

    with house.kept.opened(workspace, binary=str(house.program), plugins="", init=init) as given:
        assert [given.data] == house.there()
        assert (given.data / "modules" / "modules.json").exists(), "the second one's"
    assert house.run() == "made\nchosen\n"
    assert house.inits == 1


def test_of_many_that_finish_their_init_at_the_same_moment_one_is_kept(house: House) -> None:
    """Between the look at what others kept and the rename another may have been kept: two were, on a busy machine."""
    for value in range(30):
        workspaces = [house.workspace(**{f"round_{value}": 1}) for _ in range(4)]
        together = threading.Barrier(len(workspaces))

        def first_run(workspace: Workspace, together: threading.Barrier = together) -> None:
            def init() -> None:
                (workspace.directory / ".terraform").mkdir()
                together.wait(timeout=20)

            with house.kept.opened(workspace, binary="sh", plugins="", init=init):
                together.wait(timeout=20)

        with ThreadPoolExecutor(len(workspaces)) as pool:
            for done in [pool.submit(first_run, workspace) for workspace in workspaces]:
                done.result()
        assert len(house.there()) == value + 1


def test_what_a_run_that_never_had_a_plan_used_is_doubted_and_made_again(house: House) -> None:
    house.run()
    (first,) = house.there()

    def fails() -> None:
        raise TerraformFailed("terraform plan ended with exit code 1", [])

    def meanwhile() -> None:
        """A run that doubts it takes nothing from those that use it."""
        with pytest.raises(TerraformFailed):
            house.run(fails)
        house.run()
        assert first.is_dir()
        assert house.inits == 2

    assert house.run(meanwhile) == "made\nchosen\n"
    house.run(another_variable=1)
    assert not first.exists(), "doubted, and nobody uses it"
    house.run()
    assert house.inits == 3


def packages_are(house: House, package: str) -> None:
    script = SCRIPT.format(calls=house.root / "calls")
    house.program.write_text(script.replace("    echo chosen > .terraform.lock.hcl ;;", CHECKS.format(package=package)))


def test_every_later_init_is_held_to_the_providers_of_the_first_whatever_else_was_deleted(house: House) -> None:
    packages_are(house, "first")
    assert house.run() == "made\nfirst\n"
    packages_are(house, "second")
    shutil.rmtree(house.kept.directory)
    (chosen,) = house.chosen.iterdir()
    with pytest.raises(TerraformFailed, match=f"first init, in {chosen}: delete that file"):
        house.run(another_variable=1)
    assert house.there() == []
    assert chosen.read_text() == "first\n"
    chosen.unlink()
    assert house.run() == "made\nsecond\n"


class Overtaken(ChosenInFiles):
    """Another server's first `init` ends a moment before ours, with `others`."""

    others = b""

    def keep(self, pins: str, body: bytes, *, instead_of: bytes | None) -> bool:
        if instead_of is None:
            super().keep(pins, self.others, instead_of=None)
        return super().keep(pins, body, instead_of=instead_of)


@pytest.mark.parametrize("others", ["first", "second"])
def test_of_two_first_inits_at_once_the_later_one_is_held_to_the_earlier(house: House, others: str) -> None:
    packages_are(house, "first")
    chosen = Overtaken(house.chosen)
    house.kept = Initialised(house.kept.directory, chosen)
    Overtaken.others = f"{others}\n".encode()
    if others == "first":
        assert house.run() == "made\nfirst\n"
        assert house.inits == 2, "with the lock file of the other"
        return
    with pytest.raises(TerraformFailed, match=r"the first init, in .*\.hcl: delete that file"):
        house.run()
    assert [path.read_text() for path in house.chosen.iterdir()] == ["second\n"]


def test_what_was_initialised_before_the_database_had_lock_files_is_kept_there(house: House) -> None:
    house.run()
    (kept,) = house.chosen.iterdir()
    kept.unlink()
    house.run()
    assert house.inits == 1
    assert kept.read_text() == "chosen\n"


def test_other_pins_are_chosen_anew_and_the_old_ones_kept(house: House) -> None:
    packages_are(house, "first")
    house.run()
    packages_are(house, "second")
    (house.module / "versions.tf").write_text("# two\n")
    assert house.run() == "made\nsecond\n"
    assert sorted(path.read_text() for path in house.chosen.iterdir()) == ["first\n", "second\n"]


def test_an_init_that_fails_for_another_reason_says_nothing_of_checksums(house: House) -> None:
    house.run()
    house.program.write_text("#!/bin/sh\necho no route to host >&2; exit 1\n")
    with pytest.raises(TerraformFailed) as failed:
        house.run()
    assert failed.value.diagnostics == ("no route to host",)
