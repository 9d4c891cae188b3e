"""Brings a database to the tables of this release. Needs no alembic.ini, and works from a checkout and from a wheel."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Engine

import events
from events.engine import answering, build_engine, reading


class MigrationError(Exception):
    """The database and this release do not fit together. The message says which way to go."""


def upgrade(url: str, revision: str = "head") -> None:
    """Applies what is missing, in one transaction; nothing when the database is up to date. Safe beside other servers.

    Raises MigrationError when a newer release has migrated it further, StoreUnavailable.
    """
    with _configured(url) as (config, engine):
        _refuse_unknown_revision(config, engine)
        command.upgrade(config, revision)


def downgrade(url: str, revision: str) -> None:
    """Goes back to a revision; `base` drops every table with all events. For tests, and for people with a backup."""
    with _configured(url) as (config, _):
        command.downgrade(config, revision)


def check(url: str) -> None:
    """Compares the tables in the database with those in the code. Raises MigrationError naming what differs."""
    with _configured(url) as (config, _):
        try:
            command.check(config)
        except CommandError as error:
            raise MigrationError(f"the database does not match this release: {error} Upgrade it first.") from error


def current(url: str) -> str | None:
    """The revision a database is at, None for an empty one."""
    with _configured(url) as (_, engine):
        return revision_of(engine)


def revision_of(engine: Engine) -> str | None:
    """The revision of a database that is open already, None for an empty one."""
    with reading(engine) as connection:
        return MigrationContext.configure(connection).get_current_revision()


def script_directory() -> Path:
    """Where the migrations are: beside the packages in a checkout, inside `events` in a wheel."""
    package = Path(events.__file__).resolve().parent
    for directory in (package / "_alembic", package.parent / "alembic"):
        if (directory / "env.py").is_file():
            return directory
    raise MigrationError(f"no migrations under {package / '_alembic'} or {package.parent / 'alembic'}: reinstall Kedge")


@contextmanager
def _configured(url: str) -> Iterator[tuple[Config, Engine]]:
    engine = build_engine(url)
    config = Config(stdout=StringIO())  # Alembic talks on stdout, which belongs to the commands of `kedge`
    config.set_main_option("script_location", str(script_directory()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["engine"] = engine
    try:
        with answering(engine):
            yield config, engine
    finally:
        engine.dispose()


def _refuse_unknown_revision(config: Config, engine: Engine) -> None:
    revision = revision_of(engine)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision is not None and revision not in known:
        raise MigrationError(
            f"the database is at revision {revision}, which this release does not know: a newer release migrated it. "
            "Run that release, or restore a backup from before."
        )
