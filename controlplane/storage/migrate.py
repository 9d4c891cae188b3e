"""Brings a database to the tables of this release. Needs no alembic.ini, and works from a checkout and from a wheel.

A release works with the database of the next one (expand and contract): revisions are named ERA_NUMBER, and only a new
era takes something away that the era before it needs.
"""

import logging
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
from sqlalchemy.exc import DBAPIError

import events
from events.engine import answering, build_engine, is_refused, reading

_log = logging.getLogger(__name__)


class MigrationError(Exception):
    """The database and this release do not fit together. The message says which way to go."""


def upgrade(url: str, revision: str = "head") -> None:
    """Applies what is missing, in one transaction; nothing when the database is up to date. Safe beside other servers.

    A database that a newer release has only expanded is left as it is. Raises MigrationError when that release has also
    taken things away, or when this role may not change tables and something is missing; StoreUnavailable.
    """
    with _configured(url) as (config, engine):
        if _is_ahead(config, engine):
            return
        try:
            command.upgrade(config, revision)
        except DBAPIError as error:
            if not is_refused(error):
                raise
            newest = ScriptDirectory.from_config(config).get_current_head()
            raise MigrationError(
                f"the database is at revision {revision_of(engine) or 'none'}, this release needs {newest}, and role "
                f"{engine.url.username} may not change tables ({str(error.orig).splitlines()[0]}). As their owner: "
                "`kedge db migrate --database-url URL`, then what `kedge db grants` prints."
            ) from error


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
    engine = build_engine(url, statement_timeout_s=0)  # a migration takes as long as there are rows
    config = Config(stdout=StringIO())  # Alembic talks on stdout, which belongs to the commands of `kedge`
    config.set_main_option("script_location", str(script_directory()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["engine"] = engine
    try:
        with answering(engine):
            yield config, engine
    finally:
        engine.dispose()


def _is_ahead(config: Config, engine: Engine) -> bool:
    """Whether a newer release has expanded the database. Raises MigrationError when it has also taken things away."""
    revision = revision_of(engine)
    scripts = ScriptDirectory.from_config(config)
    if revision is None or revision in {script.revision for script in scripts.walk_revisions()}:
        return False
    if _era(revision) == _era(scripts.get_current_head() or ""):
        _log.warning("the database is at revision %s of a newer release, which this release can work with", revision)
        return True
    raise MigrationError(
        f"the database is at revision {revision}: a newer release has migrated it past what this one can work with. "
        "Run that release, or restore a backup from before."
    )


def _era(revision: str) -> str:
    return revision.partition("_")[0]
