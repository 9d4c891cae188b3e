"""Migrations run up, match the code, and run down again, on both databases."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

import events
from controlplane.storage import migrate
from controlplane.storage.job_store import SqlJobStore
from events.engine import build_engine, writing
from events.envelope import NewEvent, Origin
from events.ids import ClusterUid, Epoch, IntentId
from events.sql_store import SqlEventStore
from tests.postgres_server import PostgresServer

URLS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/100%25.db"  # a percent sign, which configuration files would interpret
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.create_database()


def tables(url: str) -> set[str]:
    engine = build_engine(url)
    try:
        return set(inspect(engine).get_table_names())
    finally:
        engine.dispose()


def test_up_check_down(url: str) -> None:
    assert migrate.current(url) is None
    migrate.upgrade(url)
    assert migrate.current(url) == "e1_0014"
    migrate.check(url)
    assert {"terraform_state", "terraform_lock"} < tables(url)
    assert {"home", "event", "counter", "projection_checkpoint", "lease", "job", "plan_blob", "latest"} < tables(url)
    migrate.downgrade(url, "base")
    assert tables(url) <= {"alembic_version"}
    migrate.upgrade(url)
    migrate.check(url)


def test_upgrading_again_changes_nothing_and_keeps_the_events(url: str) -> None:
    migrate.upgrade(url)
    engine = build_engine(url)
    store = SqlEventStore(engine)
    store.append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("converger"))
    migrate.upgrade(url)
    assert store.verify() == 1
    engine.dispose()


def test_two_servers_may_upgrade_at_once(url: str) -> None:
    command = [
        sys.executable,
        "-c",
        "import sys; from controlplane.storage.migrate import upgrade; upgrade(sys.argv[1])",
        url,
    ]
    servers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [server.communicate(timeout=60)[1] for server in servers]
    assert [server.returncode for server in servers] == [0, 0], errors
    migrate.check(url)


def test_check_names_what_differs(url: str) -> None:
    migrate.upgrade(url)
    engine = build_engine(url)
    with writing(engine) as transaction:
        transaction.execute(text("ALTER TABLE job DROP COLUMN error_class"))
    engine.dispose()
    with pytest.raises(migrate.MigrationError, match="error_class"):
        migrate.check(url)


def test_a_database_that_was_never_migrated_fails_the_check(url: str) -> None:
    with pytest.raises(migrate.MigrationError, match="Upgrade it first"):
        migrate.check(url)


def become_the_next_release(url: str, revision: str) -> None:
    """What a later release may do to the database while this one still works on it: add."""
    engine = build_engine(url)
    with writing(engine) as transaction:
        transaction.execute(text("ALTER TABLE event ADD COLUMN tenant VARCHAR"))
        transaction.execute(text("ALTER TABLE job ADD COLUMN priority INTEGER DEFAULT 0 NOT NULL"))
        transaction.execute(text("CREATE TABLE invention (name VARCHAR PRIMARY KEY)"))
        transaction.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    engine.dispose()


def test_this_release_starts_and_works_on_a_database_the_next_one_has_expanded(url: str) -> None:
    migrate.upgrade(url)
    become_the_next_release(url, "e1_0099")
    migrate.upgrade(url)
    assert migrate.current(url) == "e1_0099"
    engine = build_engine(url)
    store = SqlEventStore(engine)
    appended = store.append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("converger"))
    assert store.read_all() == appended
    jobs = SqlJobStore(engine)
    created = jobs.create(IntentId("i1"), cluster_uid=ClusterUid("c1"), kind="surge", epoch=Epoch(1), owner="a")
    assert jobs.open_jobs() == [created]
    engine.dispose()


def test_a_database_from_which_a_newer_release_took_things_away_is_refused(url: str) -> None:
    migrate.upgrade(url)
    become_the_next_release(url, "e2_0006")
    with pytest.raises(migrate.MigrationError, match="Run that release"):
        migrate.upgrade(url)


def test_migrations_are_found_in_a_checkout() -> None:
    directory = migrate.script_directory()
    assert directory.name == "alembic"
    assert (directory / "script.py.mako").is_file()
    assert not (directory / "__init__.py").exists(), "it would hide the package alembic"


def test_migrations_are_found_in_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "events"
    package.mkdir(parents=True)
    shutil.copytree(migrate.script_directory(), package / "_alembic")
    monkeypatch.setattr(events, "__file__", str(package / "__init__.py"))
    assert migrate.script_directory() == package / "_alembic"
    migrate.upgrade(f"sqlite:///{tmp_path}/kedge.db")
    assert migrate.current(f"sqlite:///{tmp_path}/kedge.db") == "e1_0014"


def test_a_missing_script_directory_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "__file__", str(tmp_path / "events" / "__init__.py"))
    with pytest.raises(migrate.MigrationError, match="reinstall"):
        migrate.script_directory()


def test_an_autogenerated_migration_names_no_class_of_ours(tmp_path: Path) -> None:
    """The template and the renderer, together, as `alembic revision --autogenerate` uses them."""
    from alembic import command
    from alembic.config import Config

    scripts = tmp_path / "alembic"
    shutil.copytree(migrate.script_directory(), scripts, ignore=shutil.ignore_patterns("0*.py", "__pycache__"))
    engine = build_engine(f"sqlite:///{tmp_path}/kedge.db")
    config = Config()
    config.set_main_option("script_location", str(scripts))
    config.set_main_option("path_separator", "os")
    config.attributes["engine"] = engine
    command.revision(config, "everything", autogenerate=True, rev_id="e1_0001")
    (written,) = Path(scripts / "versions").glob("*.py")
    content = written.read_text()
    assert "import sqlmodel" in content
    assert "events.tables" not in content
    assert "sa.Column('recorded_at', sa.DateTime(timezone=True), nullable=False)" in content
    command.upgrade(config, "head")
    engine.dispose()
