"""A backup holds the newest version of each Terraform state in the database; older backups still count."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from controlplane.storage import migrate
from controlplane.storage.backup import BackupCorrupt, backup, restore, verify
from events.engine import build_engine
from events.envelope import NewEvent, Origin
from events.sql_store import SqlEventStore
from tests.fakes.states import KEY, OTHER_KEY, Served, body


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Engine]:
    """An empty, migrated SQLite database."""
    url = f"sqlite:///{tmp_path}/target.db"
    migrate.upgrade(url)
    built = build_engine(url)
    yield built
    built.dispose()


@pytest.fixture
def made(engine: Engine, tmp_path: Path) -> Path:
    """A backup of two states, one of them with a history, and one that was set aside."""
    store = SqlEventStore(engine)
    store.append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("x"))
    states = Served(engine, tmp_path).server()
    for key, serials in ((KEY, (1, 2, 9)), (OTHER_KEY, (4,))):
        state = states.of(key)
        with state.locked("run", on_lost=lambda: None):
            for serial in serials:
                state.write(body(serial, instances=("b-0.g1",)))
    gone = states.of(KEY)
    assert gone.set_aside("earlier")
    with gone.locked("run", on_lost=lambda: None):
        for serial in (1, 2):
            gone.write(body(serial, lineage="line-2"))
    states.chosen.keep("aws-1", b"checksums", instead_of=None)
    summary = backup(store, engine, tmp_path / "kedge.backup")
    assert (summary.rows["terraform_state"], summary.rows["terraform_providers"]) == (2, 1)
    return tmp_path / "kedge.backup"


def test_the_newest_versions_come_back_and_are_gone_on_from(made: Path, target: Engine, tmp_path: Path) -> None:
    restore(made, target)
    states = Served(target, tmp_path).server(home="other")
    assert states.keys() == (KEY, OTHER_KEY)
    assert states.of(KEY).read() == body(2, lineage="line-2")
    assert states.of(OTHER_KEY).read() == body(4, instances=("b-0.g1",))
    state = states.of(KEY)
    with state.locked("run", on_lost=lambda: None):
        state.write(body(3, lineage="line-2"))
    assert [v.version for v in states.versions.versions(KEY)] == [3, 2]
    assert states.chosen.read("aws-1") == b"checksums"


def test_a_backup_of_the_release_before_is_restored(made: Path, target: Engine, tmp_path: Path) -> None:
    older = rewritten(made, tmp_path / "older", lambda line: line.get("table") != "terraform_state")
    assert verify(older).rows["terraform_state"] == 0
    restore(older, target)
    assert Served(target, tmp_path).server().keys() == ()


def test_a_backup_that_lost_a_state_is_told(made: Path, tmp_path: Path) -> None:
    torn = rewritten(made, tmp_path / "torn", lambda line: line.get("table") != "terraform_state", counts=False)
    with pytest.raises(BackupCorrupt):
        verify(torn)


def rewritten(path: Path, to: Path, keep: Callable[[dict[str, object]], bool], *, counts: bool = True) -> Path:
    """The backup as format 1 with the lines that are kept, and a footer that fits them."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    header, rest, footer = {**lines[0], "version": 1}, [line for line in lines[1:-1] if keep(line)], dict(lines[-1])
    if counts:
        footer["rows"] = {name: n for name, n in footer["rows"].items() if name != "terraform_state"}
    encoded = [json.dumps(line).encode() + b"\n" for line in (header, *rest)]
    footer["sha256"] = hashlib.sha256(b"".join(encoded)).hexdigest()
    to.write_bytes(b"".join([*encoded, json.dumps(footer).encode() + b"\n"]))
    return to
