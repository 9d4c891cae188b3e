"""Empty, migrated databases for tests: made once by the real migrations, then copied."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import Engine
from sqlmodel import SQLModel

import controlplane.storage.tables  # noqa: F401  (imported for its tables)
from controlplane.server.database_roles import grants
from controlplane.storage import migrate
from events.engine import build_engine
from tests.postgres_server import PostgresServer


def sqlite_template(directory: Path) -> Path:
    """A migrated SQLite file to copy from."""
    template = directory / "template.db"
    migrate.upgrade(f"sqlite:///{template}")
    return template


def sqlite_copy(template: Path, directory: Path) -> str:
    """URL of a fresh copy."""
    copy = directory / "kedge.db"
    shutil.copyfile(template, copy)
    return f"sqlite:///{copy}"


@contextmanager
def sqlite_engine(directory: Path) -> Iterator[Engine]:
    """The server's engine over a migrated database, `kedge.db` in that directory."""
    url = f"sqlite:///{directory / 'kedge.db'}"
    migrate.upgrade(url)
    made = build_engine(url)
    yield made
    made.dispose()


APP, READER, PORTAL, RELAY = "kedge_app", "kedge_reader", "kedge_portal", "kedge_relay"


def with_roles(url: str) -> None:
    """Migrates a database as its owner and gives servers, readers, portals and relays their rights, as people do."""
    migrate.upgrade(url)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for role in (APP, READER, PORTAL, RELAY):
            connection.execute(f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
        for statement in grants(APP, READER, portal=PORTAL, relay=RELAY):
            connection.execute(statement.encode())


def as_role(url: str, role: str) -> str:
    """The same database for another role."""
    return url.replace("//postgres@", f"//{role}@")


def postgres_copy(server: PostgresServer) -> str:
    """URL of a migrated database of its own: for tests that change its tables. Costs 7 MB and a third of a second."""
    return server.create_database(server.template("kedge_template", with_roles))


def postgres_wiped(server: PostgresServer) -> str:
    """URL of one migrated database that all tests share in turn, wiped clean: ten times as fast as a copy.

    For the role that servers are to have: what they do they do with those rights alone.
    """
    url = server.url(server.template("kedge_shared", with_roles))
    tables = ", ".join(f'"{name}"' for name in SQLModel.metadata.tables if name != "counter")
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        # `replica` switches the trigger off that keeps the event log append-only.
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"TRUNCATE {tables}".encode())
        connection.execute("UPDATE counter SET position = 0")
    return as_role(url, APP)
