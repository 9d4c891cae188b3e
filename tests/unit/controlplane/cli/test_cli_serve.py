"""backup, restore, version, and a server that cannot be started."""

import json
from pathlib import Path

import httpx
import pytest

from controlplane.api.schemas import system as system_api
from controlplane.cli import exits
from controlplane.storage.backup import backup as backup_to
from controlplane.storage.migrate import upgrade
from events.engine import build_engine
from events.envelope import NewEvent, Origin
from events.sql_store import SqlEventStore
from tests.unit.controlplane.cli.cli_world import World, problem, snapshot

THERE = system_api.VersionOut(version="0.2.0", api="v1", installation_id="i1", epoch=7, leader=True, planner="spark")


def test_version_tells_both_sides(world: World) -> None:
    world.server.on("GET", "/version", THERE)
    lines = world.run("version").stdout.splitlines()
    assert lines[0].startswith("kedge ")
    assert lines[1:] == ["server 0.2.0 (API v1, leads, epoch 7, planner: spark)", "installation i1"]


def test_a_server_that_does_not_answer_is_no_error_of_version(world: World) -> None:
    world.server.on("GET", "/version", httpx.ConnectError("Connection refused"))
    ran = world.run("version")
    assert (ran.exit_code, len(ran.stdout.splitlines())) == (exits.OK, 1)
    assert "does not answer" in ran.stderr


def test_version_client_asks_nobody(world: World) -> None:
    assert world.run("version", "--client").exit_code == exits.OK
    assert world.server.requests == []


def test_version_writes_a_versioned_document(world: World) -> None:
    world.server.on("GET", "/version", THERE)
    content = json.loads(world.run("version", "-o", "json").stdout)
    assert content["apiVersion"] == "kedge.cli/v1"
    assert (content["kind"], content["server"]["epoch"]) == ("Version", 7)


@pytest.mark.parametrize(("given", "absolute"), [("b.jsonl", False), ("/var/backups/b.jsonl", True)])
def test_backup_names_an_absolute_path_because_the_server_lives_elsewhere(
    world: World, given: str, absolute: bool
) -> None:
    world.server.on("POST", "/backup", system_api.BackupOut(path="/x/b.jsonl", events=12, sha256="ab" * 32))
    ran = world.run("backup", given)
    expected = given if absolute else str(world.home / given)
    assert (ran.exit_code, world.server.bodies("POST", "/backup")) == (exits.OK, [{"path": expected}])
    assert ran.stdout == f"/x/b.jsonl: 12 events, sha256 {'ab' * 32}\n"


def test_a_backup_that_is_refused_is_told(world: World) -> None:
    answer = problem(409, "file-exists", "b exists and is not overwritten", next_step="Name another file.")
    world.server.on("POST", "/backup", answer)
    ran = world.run("backup", "b")
    assert ran.exit_code == exits.FAILED
    assert "next:  Name another file." in ran.stderr


def test_backup_writes_a_versioned_document(world: World) -> None:
    world.server.on("POST", "/backup", system_api.BackupOut(path="/x/b.jsonl", events=12, sha256="ab" * 32))
    snapshot("backup.json", world.run("backup", "b", "-o", "json").stdout)


@pytest.mark.parametrize(
    "options", [["--host", "0.0.0.0"], ["--database-url", "mysql://x/y"], ["--database-url", "nonsense"]]
)
def test_a_setting_that_makes_no_sense_is_told_and_nothing_is_started(world: World, options: list[str]) -> None:
    ran = world.run("server", "--home", str(world.home / "fresh"), *options)
    assert ran.exit_code == exits.FAILED
    assert "the server was not started" in ran.stderr
    assert "Traceback" not in ran.output
    assert not (world.home / "fresh").exists()


def test_a_backup_is_restored_into_an_empty_database_and_refused_by_a_full_one(world: World, tmp_path: Path) -> None:
    engine = build_engine(f"sqlite:///{tmp_path / 'old.db'}")
    upgrade(f"sqlite:///{tmp_path / 'old.db'}")
    store = SqlEventStore(engine)
    store.append("names", [NewEvent("e1", "t", 1, {})], expected_version=0, origin=Origin("test"))
    backup_to(store, engine, tmp_path / "b.jsonl")
    url = f"sqlite:///{tmp_path / 'new.db'}"
    ran = world.run("restore", str(tmp_path / "b.jsonl"), "--database-url", url)
    assert (ran.exit_code, ran.stdout) == (exits.OK, "1 events restored; start the server\n")
    again = world.run("restore", str(tmp_path / "b.jsonl"), "--database-url", url)
    assert again.exit_code != exits.OK
    assert "nothing was restored" in again.stderr
