"""What a server may do in PostgreSQL, and no more: one role owns the tables and migrates them, the server has another.

`RIGHTS` names every table. Of the two that only grow, the event log and the audit trail, a server reads and adds rows:
their triggers refuse the rest too, but whoever owns a table may drop its triggers. SQLite has no roles: there the
triggers and the mode of the file (0600) are all there is.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, text
from sqlmodel import SQLModel

import controlplane.tables  # noqa: F401  (imported for its tables)
from events.engine import reading
from providers.doctor import Finding

_log = logging.getLogger(__name__)

_LOOK, _ADD, _COUNT = "SELECT", "SELECT, INSERT", "SELECT, UPDATE"
_KEEP, _ALL = "SELECT, INSERT, UPDATE", "SELECT, INSERT, UPDATE, DELETE"

APPEND_ONLY = ("event", "audit_entry")
RIGHTS: Mapping[str, str] = {
    **dict.fromkeys(APPEND_ONLY, _ADD),
    "alembic_version": _LOOK,
    "counter": _COUNT,
    **dict.fromkeys(("lease", "latest", "plan_blob", "agent_credential", "api_token"), _KEEP),
    **dict.fromkeys(("terraform_lock", "notifier_state"), _KEEP),
    **dict.fromkeys(("home", "job", "projection_checkpoint", "topic_placement", "terraform_state"), _ALL),
    **dict.fromkeys(("notice_outbox", "portal_user", "role_binding", "portal_session"), _ALL),
    **dict.fromkeys(("oidc_person", "oidc_attempt"), _ALL),
}
"""What a server needs of each table."""

SECRETS = {"agent_credential", "api_token", "portal_user", "portal_session", "oidc_attempt", "terraform_state"}
"""Hashes of secrets, and Terraform's states, which may hold secrets themselves: no reader's."""

_OVERMUCH = ("UPDATE", "DELETE", "TRUNCATE", "TRIGGER")

_WHAT_NEXT = "give the server a role of its own: `kedge db grants`, docs/operating.md, Roles in PostgreSQL"

_HELD = text("""
SELECT asked.name, asked.what, coalesce(has_table_privilege(to_regclass(asked.name), asked.what), false) AS held
  FROM unnest(CAST(:names AS text[]), CAST(:whats AS text[])) AS asked (name, what)
""")
_OWNED = text("""
SELECT name FROM unnest(CAST(:names AS text[])) AS name JOIN pg_class ON pg_class.oid = to_regclass(name)
 WHERE pg_has_role(relowner, 'USAGE')
""")
_ROLE = text("SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user")


@dataclass(frozen=True, slots=True)
class Standing:
    """The role this server has, what it lacks (`INSERT on event`), and what it has that no server should."""

    role: str
    lacks: tuple[str, ...]
    too_much: tuple[str, ...]


def grants(app: str, reader: str = "", *, schema: str = "public") -> Iterator[str]:
    """The statements by which the owner of the tables gives a server's role its rights, and a reader's role, if named.

    They may be run again, and take away what these roles had beyond it. A release with a new table needs them anew.
    """
    everything = ", ".join(_in(schema, table) for table in sorted(RIGHTS))
    for role in (r for r in (app, reader) if r):
        yield f"REVOKE ALL ON {everything} FROM {_quoted(role)};"
        yield f"GRANT USAGE ON SCHEMA {_quoted(schema)} TO {_quoted(role)};"
    yield f"REVOKE ALL ON {everything} FROM PUBLIC;"
    yield f"REVOKE CREATE ON SCHEMA {_quoted(schema)} FROM PUBLIC;"
    alike = defaultdict(list)
    for table, rights in sorted(RIGHTS.items()):
        alike[rights].append(_in(schema, table))
    for rights, tables in alike.items():
        yield f"GRANT {rights} ON {', '.join(tables)} TO {_quoted(app)};"
    if reader:
        readable = ", ".join(_in(schema, table) for table in sorted(RIGHTS.keys() - SECRETS))
        yield f"GRANT SELECT ON {readable} TO {_quoted(reader)};"


def standing(engine: Engine) -> Standing | None:
    """How the role of this engine stands on PostgreSQL; None on SQLite. Raises StoreUnavailable."""
    if engine.dialect.name != "postgresql":
        return None
    needed = [(table, right) for table, rights in RIGHTS.items() for right in rights.split(", ")]
    refused = [(table, right) for table in APPEND_ONLY for right in _OVERMUCH]
    asked = [*needed, *refused]
    with reading(engine) as connection:
        role, is_superuser = connection.execute(_ROLE).one()
        told = connection.execute(_HELD, {"names": [t for t, _ in asked], "whats": [w for _, w in asked]})
        held = {(row.name, row.what) for row in told if row.held}
        owned = connection.execute(_OWNED, {"names": list(APPEND_ONLY)}).scalars().all()
    lacks = tuple(f"{right} on {table}" for table, right in needed if (table, right) not in held)
    if is_superuser:
        return Standing(role, lacks, ("it is a superuser",))
    if owned:
        return Standing(role, lacks, tuple(f"it owns {table}" for table in owned))
    return Standing(role, lacks, tuple(f"{right} on {table}" for table, right in refused if (table, right) in held))


class RoleRefused(Exception):
    """The server's role in PostgreSQL lacks rights it needs. What now: the tables' owner gives them."""


def check_role(engine: Engine) -> None:
    """At a server's start: raises RoleRefused, naming the rights its role lacks, and logs those it should not have."""
    stands = standing(engine)
    if stands is None:
        return
    if stands.lacks:
        raise RoleRefused(
            f"role {stands.role} of the database lacks {', '.join(stands.lacks)}. As the tables' owner: "
            f"`kedge db grants --app {stands.role} | psql URL`; then start again."
        )
    if stands.too_much:
        _log.warning("%s", " -> ".join((examined(engine)[0].told, _WHAT_NEXT)))


def examined(engine: Engine) -> tuple[Finding, ...]:
    """For `kedge doctor`: what the role of a server can do that it should not; nothing on SQLite."""
    stands = standing(engine)
    if stands is None:
        return ()
    if not stands.too_much:
        return (Finding("database", True, f"role {stands.role} may add events and audit entries, and change none"),)
    told = f"role {stands.role} could change or delete events and audit entries: {', '.join(stands.too_much)}"
    return (Finding("database", False, told, _WHAT_NEXT),)


def unnamed() -> frozenset[str]:
    """Tables of this release that `RIGHTS` does not name, and names that no table has."""
    return frozenset(SQLModel.metadata.tables.keys() ^ (RIGHTS.keys() - {"alembic_version"}))


def _in(schema: str, table: str) -> str:
    return f"{_quoted(schema)}.{_quoted(table)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
