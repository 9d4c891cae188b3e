"""Roles of PostgreSQL: a server adds to the log and changes nothing of it, and tells where its role may more or less.

The other contract tests run under the same role, so what servers do they may do.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlmodel import SQLModel

from controlplane.server.database_roles import (
    APPEND_ONLY,
    RIGHTS,
    SECRETS,
    RoleRefused,
    check_role,
    examined,
    role_status,
)
from controlplane.storage import migrate
from controlplane.storage.home import Home
from controlplane.storage.migrate import MigrationError
from events.engine import build_engine, reading, writing
from events.envelope import NewEvent, Origin
from events.errors import StoreUnavailable
from events.sql_store import SqlEventStore
from tests.contract.server_process import ServerProcess
from tests.databases import APP, READER, as_role
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres
DEADLINE_S = 60.0


@pytest.fixture
def own(fresh_database: Callable[[str], str]) -> str:
    """A migrated database of this test's own, for its owner."""
    return fresh_database("postgresql")


@pytest.fixture
def app(own: str) -> Iterator[Engine]:
    """The same for a server."""
    engine = build_engine(as_role(own, APP))
    yield engine
    engine.dispose()


def by_owner(url: str, statement: str) -> None:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(statement.encode())


def test_every_table_has_its_rights_and_every_right_its_table() -> None:
    assert SQLModel.metadata.tables.keys() == RIGHTS.keys() - {"alembic_version"}
    assert RIGHTS.keys() > SECRETS


REFUSED = [
    template.format(table)
    for table in APPEND_ONLY
    for template in (
        "UPDATE {0} SET position = position",
        "DELETE FROM {0}",
        "TRUNCATE {0}",
        "DROP TABLE {0}",
        "DROP TRIGGER {0}_append_only ON {0}",
        "ALTER TABLE {0} DISABLE TRIGGER ALL",
        "CREATE TRIGGER mine BEFORE INSERT ON {0} EXECUTE FUNCTION {0}_is_append_only()",
        "LOCK TABLE {0} IN EXCLUSIVE MODE",
    )
]
REFUSED += ["CREATE TABLE mine (a int)", "UPDATE alembic_version SET version_num = 'x'", "DELETE FROM counter"]
REFUSED += ["SET session_replication_role = replica", "DROP FUNCTION event_is_append_only()"]


@pytest.mark.parametrize("statement", REFUSED)
def test_postgresql_refuses_a_server_to_change_what_only_grows(postgresql: Engine, statement: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"permission denied|must be owner"), writing(postgresql) as transaction:
        transaction.execute(text(statement))


def test_a_reader_reads_the_log_and_no_secret_and_writes_nothing(own: str) -> None:
    engine = build_engine(as_role(own, READER))
    with reading(engine) as connection:
        for table in RIGHTS.keys() - SECRETS:
            connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
    refused = [f"SELECT * FROM {table}" for table in sorted(SECRETS)]
    refused += [f"DELETE FROM {table}" for table in sorted(RIGHTS)] + ["INSERT INTO counter VALUES ('x', 1)"]
    for statement in refused:
        with pytest.raises(StoreUnavailable, match="permission denied"), writing(engine) as transaction:
            transaction.execute(text(statement))
    engine.dispose()


def test_a_role_with_what_it_needs_and_no_more_is_well(app: Engine) -> None:
    stands = role_status(app)
    assert stands is not None
    assert (stands.role, stands.lacks, stands.too_much) == (APP, (), ())
    assert [f.well for f in examined(app)] == [True]
    check_role(app)


def test_a_superuser_and_an_owner_and_a_right_too_much_are_told(
    own: str, app: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    owner = build_engine(own)
    with caplog.at_level(logging.WARNING):
        check_role(owner)
    assert "role postgres could change or delete events and audit entries: it is a superuser" in caplog.text
    owner.dispose()
    by_owner(own, f"GRANT DELETE, TRIGGER ON event TO {APP}")
    (found,) = examined(app)
    assert (found.well, found.told.partition(": ")[2]) == (False, "DELETE on event, TRIGGER on event")
    by_owner(own, f"ALTER TABLE audit_entry OWNER TO {APP}")
    assert examined(app)[0].told.endswith(": it owns audit_entry")
    assert "kedge db grants" in examined(app)[0].what_next


def test_a_lacking_right_is_named_at_the_start_and_where_it_is_missed(own: str, app: Engine) -> None:
    by_owner(own, f"REVOKE INSERT ON event FROM {APP}; REVOKE ALL ON lease FROM {APP}")
    with pytest.raises(RoleRefused) as refused:
        check_role(app)
    assert "lacks INSERT on event, SELECT on lease, INSERT on lease, UPDATE on lease" in str(refused.value)
    assert f"kedge db grants --app {APP}" in str(refused.value)
    store = SqlEventStore(app)
    with pytest.raises(StoreUnavailable, match=r"permission denied for table event.*kedge db grants"):
        store.append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("converger"))


def test_a_schema_the_role_may_not_use_is_a_lacking_right_too(own: str, app: Engine) -> None:
    by_owner(own, f"REVOKE ALL ON SCHEMA public FROM PUBLIC, {APP}")
    with pytest.raises(RoleRefused, match="SELECT on event"):
        check_role(app)


def test_a_server_that_may_not_migrate_says_what_to_run(postgres_server: PostgresServer, own: str) -> None:
    before = migrate.current(own)
    migrate.upgrade(as_role(own, APP))  # nothing to do
    migrate.downgrade(own, "e1_0007")
    with pytest.raises(MigrationError) as refused:
        migrate.upgrade(as_role(own, APP))
    said = str(refused.value)
    assert f"at revision e1_0007, this release needs {before}, and role {APP} may not change tables" in said
    assert "kedge db migrate --database-url URL" in said
    with pytest.raises(MigrationError, match="at revision none"):
        migrate.upgrade(as_role(postgres_server.create_database(), APP))
    migrate.upgrade(own)
    migrate.upgrade(as_role(own, APP))


def test_a_real_server_serves_under_its_role_and_tells_the_doctor(own: str, tmp_path: Path) -> None:
    from tests.contract.server_process import eventually
    from tests.contract.test_api_server import Server

    (tmp_path / "kedge.toml").write_text(f'terraform_state = "http"\ndatabase_url = "{as_role(own, APP)}"\n')
    home = Home(tmp_path)
    server = Server(home).wait_until_it_listens()
    try:
        eventually(lambda: server.leads, server)
        assert server.post("/v1/backup", {"path": str(tmp_path / "b")}).status_code == 200
        (found,) = server.get("/v1/doctor").json()["database"]
        assert found["well"], found
    finally:
        server.end()
    by_owner(own, f"REVOKE UPDATE ON lease FROM {APP}")
    process = ServerProcess(str(home.path), dict(os.environ))
    said = process.stderr.read()
    assert process.wait(DEADLINE_S) != 0
    assert re.search(r"RoleRefused: .*lacks UPDATE on lease", said), said
