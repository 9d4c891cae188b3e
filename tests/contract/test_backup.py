"""Backup and restore: whole, unchanged, made beside a working server, and only into an empty database."""

import json
import stat
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from sqlalchemy import Engine, text

from controlplane.api.access.accounts import People
from controlplane.api.access.oidc_users import OidcPerson, SqlOidcPeople
from controlplane.api.access.passwords import Passwords
from controlplane.api.access.roles import Role, Verb
from controlplane.api.access.sessions import SqlSessionStore
from controlplane.api.access.tokens import SqlTokenStore
from controlplane.api.access.users import SqlUserStore
from controlplane.api.audit.entry import Entry, Outcome
from controlplane.api.audit.store import AuditFilter, SqlAuditStore
from controlplane.storage.agent_credentials import SqlCredentialStore, Vm
from controlplane.storage.backup import EPOCH_LEAP, BackupCorrupt, RestoreRefused, backup, restore, verify
from controlplane.storage.job_store import SqlJobStore
from controlplane.storage.lease import SqlLeaseStore
from events.engine import build_engine, writing
from events.envelope import NewEvent, Origin
from events.errors import StreamConflict
from events.ids import ClusterUid, Epoch, IntentId, NodeName
from events.sql_store import SqlEventStore
from tests.fakes.event_store import MemoryEventStore
from tests.present import present

C1 = ClusterUid("c1")

FIRST = Epoch(1)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VM = Vm(C1, NodeName("broker-0"), 1)


@pytest.fixture
def target(fresh_database: Callable[[str], str], tmp_path: Path) -> Iterator[Engine]:
    """An empty SQLite database to restore into, whatever the source is."""
    from controlplane.storage import migrate

    url = f"sqlite:///{tmp_path}/target.db"
    migrate.upgrade(url)
    built = build_engine(url)
    yield built
    built.dispose()


@pytest.fixture
def store(engine: Engine) -> SqlEventStore:
    store = SqlEventStore(engine)
    for number in range(30):
        events = [NewEvent(f"{number}-{part}", "test", 2, {"n": number, "text": "ü\n"}) for part in range(2)]
        origin = Origin("person:ada", cause="x", command_id=f"command-{number}", epoch=3)
        store.append(f"s{number % 3}", events, expected_version=number // 3 * 2, origin=origin)
    return store


@pytest.fixture
def furnished(engine: Engine, store: SqlEventStore) -> SqlEventStore:
    SqlLeaseStore(engine, longest_call_s=5).acquire("converge", "server-1", term_s=15)
    jobs = SqlJobStore(engine)
    jobs.create(IntentId("i1"), cluster_uid=C1, kind="surge", epoch=FIRST, owner="server-1")
    jobs.start(IntentId("i1"), epoch=FIRST, owner="server-1")
    jobs.create(IntentId("i2"), cluster_uid=C1, kind="surge", epoch=FIRST, owner="server-1")
    jobs.start(IntentId("i2"), epoch=FIRST, owner="server-1")
    jobs.succeed(IntentId("i2"), epoch=FIRST, result={"vm": "x"})
    SqlCredentialStore(engine).enroll(VM, credential_sha256="aa", intent_id=IntentId("i1"))
    return store


def test_everything_comes_back_as_it_was(
    engine: Engine, furnished: SqlEventStore, target: Engine, tmp_path: Path
) -> None:
    made = backup(furnished, engine, tmp_path / "kedge.backup")
    ownerless = dict.fromkeys(
        (
            "terraform_state",
            "terraform_providers",
            "cluster_authority",
            "portal_user",
            "role_binding",
            "oidc_person",
            "api_token",
            "audit_entry",
        ),
        0,
    )
    assert (made.head, made.rows) == (60, {"lease": 1, "job": 2, "agent_credential": 1} | ownerless)
    assert restore(tmp_path / "kedge.backup", target) == made
    restored = SqlEventStore(target)
    assert list(restored.iterate_all()) == list(furnished.iterate_all())
    assert restored.verify() == 60
    assert SqlJobStore(target).of_cluster(C1) == SqlJobStore(engine).of_cluster(ClusterUid("c1"))
    assert SqlCredentialStore(target).get(VM) == SqlCredentialStore(engine).get(VM)


def test_a_restored_log_goes_on_without_a_gap_and_still_knows_its_commands(
    engine: Engine, store: SqlEventStore, target: Engine, tmp_path: Path
) -> None:
    backup(store, engine, tmp_path / "kedge.backup")
    restore(tmp_path / "kedge.backup", target)
    restored = SqlEventStore(target)
    again = restored.append(
        "s0", [NewEvent("new", "test", 1, {})], expected_version=0, origin=Origin("x", command_id="command-0")
    )
    assert [one.event_id for one in again] == ["0-0", "0-1"]
    with pytest.raises(StreamConflict):
        restored.append("s0", [NewEvent("new", "test", 1, {})], expected_version=1, origin=Origin("x"))
    assert (
        restored.append("s0", [NewEvent("new", "test", 1, {})], expected_version=20, origin=Origin("x"))[0].position
        == 61
    )


def test_the_next_epoch_after_a_restore_is_above_any_that_agents_heard_of(
    engine: Engine, furnished: SqlEventStore, target: Engine, tmp_path: Path
) -> None:
    backup(furnished, engine, tmp_path / "kedge.backup")
    restore(tmp_path / "kedge.backup", target)
    assert SqlLeaseStore(target, longest_call_s=5).acquire("converge", "server-2", term_s=15) is None, "still held"
    with writing(target) as transaction:
        transaction.execute(text("UPDATE lease SET released = true"))
    lease = present(SqlLeaseStore(target, longest_call_s=5).acquire("converge", "server-2", term_s=15))
    assert lease.epoch == 1 + EPOCH_LEAP + 1


def test_a_backup_goes_from_postgresql_to_sqlite_and_back(postgresql: Engine, target: Engine, tmp_path: Path) -> None:
    store = SqlEventStore(target)
    store.append("a", [NewEvent("1", "t", 1, {"x": 0.1})], expected_version=0, origin=Origin("x"))
    backup(store, target, tmp_path / "kedge.backup")
    restore(tmp_path / "kedge.backup", postgresql)
    assert list(SqlEventStore(postgresql).iterate_all()) == list(store.iterate_all())


def test_a_backup_beside_working_writers_is_a_whole_prefix_of_the_log(
    engine: Engine, store: SqlEventStore, target: Engine, tmp_path: Path
) -> None:
    stop = threading.Event()

    def busy() -> None:
        version = 0
        while not stop.is_set():
            store.append("busy", [NewEvent(f"b{version}", "t", 1, {})], expected_version=version, origin=Origin("x"))
            version += 1

    writer = threading.Thread(target=busy)
    writer.start()
    try:
        made = backup(store, engine, tmp_path / "kedge.backup")
    finally:
        stop.set()
        writer.join()
    restore(tmp_path / "kedge.backup", target)
    assert list(SqlEventStore(target).iterate_all()) == store.read_all(0, made.head)


def test_a_log_in_memory_can_be_backed_up_too(target: Engine, tmp_path: Path) -> None:
    store = MemoryEventStore()
    store.append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("x"))
    assert backup(store, target, tmp_path / "kedge.backup").head == 1


def test_the_file_is_for_its_owner_only_and_nothing_else_is_left(
    engine: Engine, store: SqlEventStore, tmp_path: Path
) -> None:
    directory = tmp_path / "backups"
    directory.mkdir()
    backup(store, engine, directory / "kedge.backup")
    assert stat.S_IMODE((directory / "kedge.backup").stat().st_mode) == 0o600
    assert [path.name for path in directory.iterdir()] == ["kedge.backup"]


def test_a_backup_that_fails_leaves_the_one_before_and_no_rubbish(
    engine: Engine, store: SqlEventStore, tmp_path: Path
) -> None:
    directory = tmp_path / "backups"
    directory.mkdir()
    backup(store, engine, directory / "kedge.backup")
    before = (directory / "kedge.backup").read_bytes()

    class Torn(MemoryEventStore):
        def head(self) -> int:
            return 5  # more than it can read: events are missing

    with pytest.raises(BackupCorrupt):
        backup(Torn(), engine, directory / "kedge.backup")
    assert (directory / "kedge.backup").read_bytes() == before
    assert [path.name for path in directory.iterdir()] == ["kedge.backup"]


class TestDamage:
    @pytest.fixture
    def lines(self, engine: Engine, store: SqlEventStore, tmp_path: Path) -> list[bytes]:
        backup(store, engine, tmp_path / "kedge.backup")
        return (tmp_path / "kedge.backup").read_bytes().splitlines(keepends=True)

    def refused(self, tmp_path: Path, target: Engine, lines: list[bytes], match: str) -> None:
        (tmp_path / "damaged").write_bytes(b"".join(lines))
        with pytest.raises(BackupCorrupt, match=match):
            restore(tmp_path / "damaged", target)
        assert SqlEventStore(target).head() == 0

    def test_a_changed_byte_is_found(self, tmp_path: Path, target: Engine, lines: list[bytes]) -> None:
        lines[7] = lines[7].replace(b"person:ada", b"person:eve")
        self.refused(tmp_path, target, lines, "changed after it was written")

    def test_a_missing_line_is_found(self, tmp_path: Path, target: Engine, lines: list[bytes]) -> None:
        self.refused(tmp_path, target, lines[:5] + lines[6:], "changed after it was written")

    def test_a_cut_off_file_is_found(self, tmp_path: Path, target: Engine, lines: list[bytes]) -> None:
        self.refused(tmp_path, target, lines[:-1], "cut off")
        self.refused(tmp_path, target, [*lines[:-1], lines[-1][:30]], "not JSON")

    def test_something_after_the_end_is_found(self, tmp_path: Path, target: Engine, lines: list[bytes]) -> None:
        self.refused(tmp_path, target, [*lines, lines[3]], "cut off")

    def test_another_file_is_found(self, tmp_path: Path, target: Engine, lines: list[bytes]) -> None:
        self.refused(tmp_path, target, [b'{"hello": 1}\n'], "not a backup of Kedge")
        self.refused(tmp_path, target, [], "not JSON")


def test_a_target_that_is_not_empty_is_refused(
    engine: Engine, store: SqlEventStore, target: Engine, tmp_path: Path
) -> None:
    backup(store, engine, tmp_path / "kedge.backup")
    SqlEventStore(target).append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("x"))
    with pytest.raises(RestoreRefused, match="event has 1 rows"):
        restore(tmp_path / "kedge.backup", target)
    assert SqlEventStore(target).head() == 1


def test_a_target_without_tables_is_refused(engine: Engine, store: SqlEventStore, tmp_path: Path) -> None:
    backup(store, engine, tmp_path / "kedge.backup")
    bare = build_engine(f"sqlite:///{tmp_path}/bare.db")
    with pytest.raises(RestoreRefused, match="migrate it first"):
        restore(tmp_path / "kedge.backup", bare)
    bare.dispose()


def test_a_backup_is_verified_without_a_database(engine: Engine, store: SqlEventStore, tmp_path: Path) -> None:
    made = backup(store, engine, tmp_path / "kedge.backup")
    assert verify(tmp_path / "kedge.backup") == made
    header = json.loads((tmp_path / "kedge.backup").read_text().splitlines()[0])
    assert (header["format"], header["revision"], header["head"]) == ("kedge-backup", "e1_0014", 60)


def test_people_their_roles_tokens_and_the_audit_come_back_and_sessions_do_not(
    engine: Engine, store: SqlEventStore, target: Engine, tmp_path: Path
) -> None:
    people, audit = _people(engine), SqlAuditStore(engine)
    password = people.first_password(NOW)
    people.sign_in_oidc(OidcPerson("eve@example.com", "sub", ("platform",), NOW, NOW), NOW, life=timedelta(hours=1))
    cookie, _ = people.sign_in("admin", password, NOW)
    rights = present(people.recognise(cookie, NOW))
    text, token = people.make_token(rights, label="ci", role=Role.VIEWER, scope="*", life=timedelta(days=1), now=NOW)
    audit.append(Entry(NOW, "user:admin", "session", "", "POST /x", "make token", "ci", Outcome.DONE, 200))
    made = backup(store, engine, tmp_path / "kedge.backup")
    assert [made.rows[t] for t in ("portal_user", "oidc_person", "api_token", "audit_entry")] == [1, 1, 1, 1]
    kept = (tmp_path / "kedge.backup").read_text()
    assert not [secret for secret in (password, text, text[-43:], cookie) if secret in kept]
    restore(tmp_path / "kedge.backup", target)
    back = _people(target)
    assert back.first_password(NOW) == "", "there is somebody"
    assert back.recognise(cookie, NOW) is None
    assert back.sign_in("admin", password, NOW)
    assert back.tokens.get(token.id) == token
    assert present(back.recognise_token(text, NOW)).may_everywhere(Verb.READ)
    assert back.oidc.all() == people.oidc.all()
    assert SqlAuditStore(target).verify() == 1
    assert SqlAuditStore(target).append(audit.page(AuditFilter(), 1)[0].entry).position == 2


def _people(engine: Engine) -> People:
    return People(
        users=SqlUserStore(engine),
        sessions=SqlSessionStore(engine),
        passwords=Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)),
        tokens=SqlTokenStore(engine),
        oidc=SqlOidcPeople(engine),
    )
