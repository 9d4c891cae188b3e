"""The role of a relay apart, on a real PostgreSQL: it reads the audit, and nothing else is open to it, not a column."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlmodel import SQLModel

from controlplane.api.audit.entry import Entry, Outcome
from controlplane.api.audit.store import AuditFilter, SqlAuditStore
from controlplane.server.database_roles import (
    RELAY,
    RELAY_RIGHTS,
    RIGHTS,
    RoleRefused,
    check_role,
    examined,
    grants,
    role_status,
)
from events.engine import build_engine, reading, writing
from events.errors import StoreUnavailable
from tests.databases import APP, PORTAL, READER, RELAY as RELAY_ROLE, as_role, postgres_copy
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = sorted(RIGHTS)


@pytest.fixture(scope="module")
def own(postgres_server: PostgresServer) -> Iterator[str]:
    """A migrated database of these tests' own, for its owner."""
    url = postgres_copy(postgres_server)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def relay(own: str) -> Iterator[Engine]:
    """The same for a relay."""
    engine = build_engine(as_role(own, RELAY_ROLE))
    yield engine
    engine.dispose()


def by_owner(url: str, *statements: str) -> None:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def an_entry(who: str) -> Entry:
    return Entry(NOW, who, "session", "127.0.0.1", "POST /v1/clusters", "declare", "orders", Outcome.DONE, 200)


def refuses(engine: Engine, statement: str) -> None:
    with (
        pytest.raises(StoreUnavailable, match=r"permission denied|must be (owner|superuser)"),
        writing(engine) as transaction,
    ):
        transaction.execute(text(statement))


def test_a_relay_reads_the_audit_and_its_chain(own: str, relay: Engine) -> None:
    engine = build_engine(as_role(own, APP))
    written = [SqlAuditStore(engine).append(an_entry(who)) for who in ("ada", "grace")]
    engine.dispose()
    store = SqlAuditStore(relay)
    assert store.page(AuditFilter(after=0), 10) == written
    assert store.verify() == 2
    with pytest.raises(StoreUnavailable, match="permission denied"):
        store.append(an_entry("mallory"))


def test_no_other_table_is_open_to_it_and_the_audit_only_to_look_at(relay: Engine) -> None:
    for table in TABLES:
        if table != "audit_entry":
            refuses(relay, f"SELECT count(*) FROM {table}")
            refuses(relay, f"SELECT * FROM {table} LIMIT 1")
        for statement in ("INSERT INTO {0} DEFAULT VALUES", "DELETE FROM {0}", "TRUNCATE {0}", "DROP TABLE {0}"):
            refuses(relay, statement.format(table))
        refuses(relay, f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        refuses(relay, f"CREATE TRIGGER mine BEFORE INSERT ON {table} EXECUTE FUNCTION event_is_append_only()")
        held = {right for _, right in columns_open(relay, table)}
        assert held == ({"SELECT"} if table == "audit_entry" else set()), f"a column of {table}"


def columns_open(engine: Engine, table: str) -> list[tuple[str, str]]:
    """Each column of a table with each right the role has to it, by whatever way."""
    with reading(engine) as connection:
        found = connection.execute(
            text("""
            SELECT attname, what FROM pg_attribute, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) AS what
             WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped
               AND has_column_privilege(attrelid, attnum, what)
            """),
            {"name": table},
        )
        return [(row.attname, row.what) for row in found]


def test_every_table_of_this_release_was_looked_at() -> None:
    assert set(TABLES) == SQLModel.metadata.tables.keys() | {"alembic_version"}
    assert dict(RELAY_RIGHTS) == {"audit_entry": "SELECT"}


BESIDE = (
    "CREATE TABLE mine (a int)",
    "CREATE SCHEMA mine",
    "CREATE ROLE mine",
    "DROP TRIGGER audit_entry_append_only ON audit_entry",
    "ALTER TABLE audit_entry DISABLE TRIGGER ALL",
    "SET ROLE kedge_app",
    "SELECT * FROM pg_authid",
    "SELECT pg_read_file('/etc/passwd')",
    "COPY audit_entry TO PROGRAM 'cat'",
)


def test_nor_is_anything_beside_tables(relay: Engine) -> None:
    for statement in BESIDE:
        refuses(relay, statement)


def test_a_role_with_what_a_relay_needs_and_no_more_is_well(relay: Engine) -> None:
    stands = role_status(relay, RELAY)
    assert stands is not None
    assert (stands.role, stands.lacks, stands.too_much) == (RELAY_ROLE, (), ())
    check_role(relay, RELAY)
    assert [(f.well, f.told) for f in examined(relay, RELAY)] == [
        (True, "role kedge_relay may read the audit, and nothing else")
    ]


TOO_MUCH = (
    ("GRANT SELECT ON event TO kedge_relay", "SELECT on event"),
    ("GRANT SELECT ON alembic_version TO kedge_relay", "SELECT on alembic_version"),
    ("GRANT INSERT ON audit_entry TO kedge_relay", "INSERT on audit_entry"),
    ("GRANT SELECT ON terraform_state TO PUBLIC", "SELECT on terraform_state"),
    ("GRANT SELECT (position) ON event TO kedge_relay", "SELECT on columns of event"),
    ("GRANT UPDATE (note) ON audit_entry TO kedge_relay", "UPDATE on columns of audit_entry"),
)


def test_a_relay_whose_role_may_do_more_does_not_start_until_the_grants_are_given_anew(own: str, relay: Engine) -> None:
    for given, told in TOO_MUCH:
        by_owner(own, given)
        with pytest.raises(RoleRefused, match=rf"more than a relay should: {re.escape(told)}\. .*--relay kedge_relay"):
            check_role(relay, RELAY)
        assert [(f.well, "more than a relay should" in f.told) for f in examined(relay, RELAY)] == [(False, True)]
        by_owner(own, *grants(APP, READER, portal=PORTAL, relay=RELAY_ROLE))
        check_role(relay, RELAY)


BESIDE_RIGHTS = (
    (
        "GRANT CREATE ON SCHEMA public TO kedge_relay",
        "REVOKE CREATE ON SCHEMA public FROM kedge_relay",
        "CREATE on sch",
    ),
    ("ALTER TABLE latest OWNER TO kedge_relay", "ALTER TABLE latest OWNER TO postgres", "it owns latest"),
    ("GRANT kedge_reader TO kedge_relay", "REVOKE kedge_reader FROM kedge_relay", "a member of kedge_reader"),
    ("ALTER ROLE kedge_relay CREATEROLE", "ALTER ROLE kedge_relay NOCREATEROLE", "it makes roles"),
    ("ALTER ROLE kedge_relay BYPASSRLS", "ALTER ROLE kedge_relay NOBYPASSRLS", "row security does not hold it"),
    ("ALTER ROLE kedge_relay SUPERUSER", "ALTER ROLE kedge_relay NOSUPERUSER", "it is a superuser"),
)


def test_nor_does_one_that_is_more_or_may_become_it(own: str, relay: Engine) -> None:
    by_owner(own, "ALTER ROLE kedge_relay NOINHERIT")  # rights of roles it is a member of come after SET ROLE alone
    try:
        for given, taken, told in BESIDE_RIGHTS:
            by_owner(own, given)
            try:
                with pytest.raises(RoleRefused, match=told):
                    check_role(relay, RELAY)
            finally:  # roles are the whole server's
                by_owner(own, taken)
        by_owner(own, *grants(APP, READER, portal=PORTAL, relay=RELAY_ROLE))
        check_role(relay, RELAY)
    finally:
        by_owner(own, "ALTER ROLE kedge_relay INHERIT")


def test_no_other_role_of_kedge_is_narrow_enough(own: str) -> None:
    for role in (APP, READER, PORTAL):
        engine = build_engine(as_role(own, role))
        with pytest.raises(RoleRefused, match=r"may do more than a relay should: .*SELECT on event"):
            check_role(engine, RELAY)
        engine.dispose()


def test_a_relay_whose_role_may_not_read_the_audit_says_so(own: str, relay: Engine) -> None:
    by_owner(own, "REVOKE ALL ON audit_entry FROM kedge_relay")
    try:
        with pytest.raises(RoleRefused, match=r"lacks SELECT on audit_entry\. As the tables' owner: .*--relay"):
            check_role(relay, RELAY)
    finally:
        by_owner(own, *grants(APP, READER, portal=PORTAL, relay=RELAY_ROLE))
