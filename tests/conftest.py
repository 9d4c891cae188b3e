"""Fixtures all tests may use. Kept tiny: heavy imports happen inside, when a test asks for the real thing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres_server() -> "Iterator[PostgresServer]":
    """A real PostgreSQL server for the whole run; fails, with what to install, where there is none."""
    from tests.postgres_server import running_postgres

    with running_postgres() as server:
        yield server
