"""Empty, migrated databases for tests: made once by the real migrations, then copied."""

import shutil
from pathlib import Path

import psycopg
from sqlmodel import SQLModel

import controlplane.tables  # noqa: F401  (imported for its tables)
from controlplane import migrate
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


def postgres_copy(server: PostgresServer) -> str:
    """URL of a migrated database of its own: for tests that change its tables. Costs 7 MB and a third of a second."""
    return server.create_database(server.template("kedge_template", migrate.upgrade))


def postgres_wiped(server: PostgresServer) -> str:
    """URL of one migrated database that all tests share in turn, wiped clean: ten times as fast as a copy."""
    url = server.url(server.template("kedge_shared", migrate.upgrade))
    tables = ", ".join(f'"{name}"' for name in SQLModel.metadata.tables if name != "counter")
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        # `replica` switches the trigger off that keeps the event log append-only.
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"TRUNCATE {tables}".encode())
        connection.execute("UPDATE counter SET position = 0")
    return url
