"""Terraform's lock files: whoever chose first is who later ones are held to, on whatever machine."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, select

from controlplane.storage.tables import TERRAFORM_PROVIDERS
from controlplane.storage.terraform_states.lock_files import SqlChosenProviders
from events.engine import reading, writing
from providers.errors import TerraformFailed
from providers.tf.initialised import Initialised
from providers.tf.lock_files import ChosenInFiles, ChosenProviders
from tests.unit.providers.test_tf_initialised import House, packages_are

FIRST, MORE, OTHER = b"first\n", b"first\nand for another platform\n", b"other\n"


@pytest.fixture(params=["files", "database"])
def again(request: pytest.FixtureRequest, tmp_path: Path, engine: Engine) -> Callable[[], ChosenProviders]:
    """The same storage as another server has it: of files on the same machine, of the database on a new one."""
    if request.param == "files":
        return lambda: ChosenInFiles(tmp_path / "providers")
    homes = iter(range(9))
    return lambda: SqlChosenProviders(engine, ChosenInFiles(tmp_path / f"home-{next(homes)}"))


def test_another_server_reads_what_the_first_one_kept(again: Callable[[], ChosenProviders]) -> None:
    assert again().read("aws-1") is None
    assert again().keep("aws-1", FIRST, instead_of=None)
    assert (again().read("aws-1"), again().read("aws-2")) == (FIRST, None)


def test_whoever_chose_first_stays(again: Callable[[], ChosenProviders]) -> None:
    again().keep("aws-1", FIRST, instead_of=None)
    assert not again().keep("aws-1", OTHER, instead_of=None)
    again().keep_first("aws-1", OTHER)
    assert again().read("aws-1") == FIRST


def test_what_another_platform_needs_is_added_to_what_was_read(again: Callable[[], ChosenProviders]) -> None:
    again().keep("aws-1", FIRST, instead_of=None)
    assert again().keep("aws-1", MORE, instead_of=FIRST)
    assert not again().keep("aws-1", OTHER, instead_of=FIRST), "it is not what was read any more"
    assert again().read("aws-1") == MORE


def test_what_a_machine_works_with_is_kept_where_nothing_is_on_record(again: Callable[[], ChosenProviders]) -> None:
    again().keep_first("aws-1", FIRST)
    assert again().read("aws-1") == FIRST


def test_a_file_of_the_home_is_in_force_until_there_is_a_row(tmp_path: Path, engine: Engine) -> None:
    """The states were files, or an earlier release kept the lock files beside the database's home."""
    files = ChosenInFiles(tmp_path)
    files.keep("aws-1", FIRST, instead_of=None)
    rows = SqlChosenProviders(engine, files)
    assert rows.read("aws-1") == FIRST
    assert rows.keep("aws-1", MORE, instead_of=FIRST)
    assert (rows.read("aws-1"), files.read("aws-1")) == (MORE, FIRST)
    assert "pins = 'aws-1'" in rows.where("aws-1")
    assert str(tmp_path / "aws-1.hcl") in rows.where("aws-1"), "it would be in force again"


def test_a_run_puts_into_the_database_what_the_home_has_alone(tmp_path: Path, engine: Engine) -> None:
    files = ChosenInFiles(tmp_path)
    files.keep("aws-1", FIRST, instead_of=None)
    SqlChosenProviders(engine, files).keep_first("aws-1", FIRST)
    assert SqlChosenProviders(engine, ChosenInFiles(tmp_path / "elsewhere")).read("aws-1") == FIRST


def test_lock_files_become_files_with_the_states(tmp_path: Path, engine: Engine) -> None:
    files = ChosenInFiles(tmp_path)
    files.keep("aws-1", OTHER, instead_of=None)
    rows = SqlChosenProviders(engine, files)
    rows.keep("aws-1", FIRST, instead_of=OTHER)
    rows.keep("google-1", MORE, instead_of=None)
    rows.write_files()
    rows.forget()
    assert (files.read("aws-1"), files.read("google-1")) == (FIRST, MORE)
    with reading(engine) as connection:
        assert connection.execute(select(TERRAFORM_PROVIDERS)).all() == [], "files of later are never behind old rows"


def test_a_row_that_was_deleted_is_chosen_anew(tmp_path: Path, engine: Engine) -> None:
    rows = SqlChosenProviders(engine, ChosenInFiles(tmp_path))
    rows.keep("aws-1", FIRST, instead_of=None)
    with writing(engine) as transaction:
        transaction.execute(delete(TERRAFORM_PROVIDERS))
    assert rows.read("aws-1") is None
    assert rows.keep("aws-1", OTHER, instead_of=None)


def test_a_server_on_a_new_machine_is_held_to_the_checksums_of_the_first_one(tmp_path: Path, engine: Engine) -> None:
    first, rebuilt = (House(made(tmp_path / name)) for name in ("first", "rebuilt"))
    for house in (first, rebuilt):
        rows = SqlChosenProviders(engine, ChosenInFiles(house.root / "providers"))
        house.kept = Initialised(house.kept.directory, rows)
    packages_are(first, "genuine")
    assert first.run() == "made\ngenuine\n"
    packages_are(rebuilt, "other")
    with pytest.raises(
        TerraformFailed, match="the first init, in the database: delete the row of table terraform_prov"
    ):
        rebuilt.run()
    packages_are(rebuilt, "genuine")
    assert rebuilt.run() == "made\ngenuine\n"


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
