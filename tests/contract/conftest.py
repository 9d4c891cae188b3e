"""Contract suites run over every implementation of a port; these are the databases the SQL ones stand on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from events.engine import build_engine

SQL = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
ALL = ["memory", *SQL]


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy from."""
    from tests.databases import sqlite_template

    return sqlite_template(tmp_path_factory.mktemp("template"))


@pytest.fixture
def fresh_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Call it with "sqlite" or "postgresql": the URL of a migrated database of this test's own, to do anything with."""
    made: list[str] = []
    from tests.databases import postgres_copy, sqlite_copy

    def make(kind: str) -> str:
        if kind == "sqlite":
            return sqlite_copy(request.getfixturevalue("migrated_sqlite"), tmp_path)
        made.append(postgres_copy(request.getfixturevalue("postgres_server")))
        return made[-1]

    yield make
    for url in made:
        request.getfixturevalue("postgres_server").drop_database(url)


@pytest.fixture
def wiped_database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """The same, but on PostgreSQL the one that all tests share: leave its tables as they are."""
    from tests.databases import postgres_wiped, sqlite_copy

    def make(kind: str) -> str:
        if kind == "sqlite":
            return sqlite_copy(request.getfixturevalue("migrated_sqlite"), tmp_path)
        return postgres_wiped(request.getfixturevalue("postgres_server"))

    return make


@pytest.fixture(params=SQL)
def engine(request: pytest.FixtureRequest, wiped_database: Callable[[str], str]) -> Iterator[Engine]:
    """An engine on an empty, migrated database, SQLite and PostgreSQL in turn."""
    built = build_engine(wiped_database(request.param), pool_size=20)
    yield built
    built.dispose()


@pytest.fixture
def owner(engine: Engine) -> Iterator[Engine]:
    """The database of `engine` for whoever owns its tables. On SQLite that is everybody who may open the file."""
    built = engine if engine.dialect.name == "sqlite" else build_engine(_as_owner(engine))
    yield built
    if built is not engine:
        built.dispose()


@pytest.fixture(params=SQL[1:])
def postgresql(request: pytest.FixtureRequest, wiped_database: Callable[[str], str]) -> Iterator[Engine]:
    """An engine on an empty, migrated PostgreSQL database."""
    built = build_engine(wiped_database(request.param), pool_size=20)
    yield built
    built.dispose()


@pytest.fixture(params=ALL)
def engine_or_memory(request: pytest.FixtureRequest, wiped_database: Callable[[str], str]) -> Iterator[Engine | None]:
    """The same, and None where the implementation in memory is to be used."""
    if request.param == "memory":
        yield None
        return
    built = build_engine(wiped_database(request.param), pool_size=20)
    yield built
    built.dispose()


def _as_owner(engine: Engine) -> str:
    return engine.url.set(username="postgres").render_as_string(hide_password=False)
