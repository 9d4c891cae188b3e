"""What a server may do in PostgreSQL, and no more: one role owns the tables and migrates them, the server has another,
and a portal and a relay that are processes of their own a third and a fourth, which may do less.

`RIGHTS` names every table. Of the two that only grow, the event log and the audit trail, a server reads and adds rows:
their triggers refuse the rest too, but whoever owns a table may drop its triggers. SQLite has no roles: there the
triggers and the mode of the file (0600) are all there is.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, text

import controlplane.storage.tables  # noqa: F401  (imported for its tables)
from controlplane.server.portal_rights import CREDENTIAL_COLUMNS, EVENTS, LATEST, PORTAL_RIGHTS
from events.engine import reading
from providers.finding import Finding

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
    "terraform_providers": _ALL,
    "cluster_authority": "SELECT, INSERT, DELETE",
    "user_password": "SELECT, INSERT, DELETE",
    **dict.fromkeys(("notice_outbox", "portal_user", "role_binding", "portal_session"), _ALL),
    **dict.fromkeys(("oidc_person", "oidc_attempt", "call_key"), _ALL),
}
"""What a server needs of each table."""

RELAY_RIGHTS: Mapping[str, str] = {"audit_entry": "SELECT"}
"""What a relay needs: a hash in each entry covers the one before, so that is the chain too. All other tables are closed
to it, column by column. Turns and words of a relay need no right (`controlplane.api.audit.lock`).
"""

SECRETS = {
    *("agent_credential", "api_token", "portal_user", "portal_session", "oidc_attempt"),
    *("terraform_state", "cluster_authority", "user_password"),
}
"""Hashes of secrets, sealed keys of CAs and passwords of users, and Terraform's states, which may hold secrets
themselves: no reader's."""

_OVERMUCH = ("UPDATE", "DELETE", "TRUNCATE", "TRIGGER")
_EVERY = ("SELECT", "INSERT", *_OVERMUCH)

BY_ROW = {"event": ("type", EVENTS), "latest": ("kind", LATEST)}
"""Tables a portal shares with the loop, the column that says whose a row is, and the values a portal may write."""


@dataclass(frozen=True, slots=True)
class ProcessRights:
    """What one kind of process may do, `name` for people: rights by table, `columns` it reads of tables it may not read
    as a whole, and what it must not have. `by_row`: row security keeps it to its own rows. `nothing_else`: no column
    of another table, no role beside its own. `option` of `kedge db grants` names it.
    """

    name: str
    option: str
    rights: Mapping[str, str]
    refused: Sequence[tuple[str, str]]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    by_row: bool = False
    nothing_else: bool = False

    @property
    def is_apart(self) -> bool:
        """Whether it does not start where it may do more: it is nothing else than that."""
        return self.by_row or self.nothing_else


def _all_but(rights: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(table, right) for table in RIGHTS for right in _EVERY if right not in rights.get(table, "").split(", ")]


SERVER = ProcessRights("server", "--app", RIGHTS, [(table, right) for table in APPEND_ONLY for right in _OVERMUCH])
PORTAL = ProcessRights(
    "portal", "--portal", PORTAL_RIGHTS, _all_but(PORTAL_RIGHTS), {"agent_credential": CREDENTIAL_COLUMNS}, by_row=True
)
RELAY = ProcessRights("relay", "--relay", RELAY_RIGHTS, _all_but(RELAY_RIGHTS), nothing_else=True)

_WHAT_NEXT = "give the server a role of its own: `kedge db grants`, docs/operating.md, Roles in PostgreSQL"

_HELD = text("""
SELECT asked.name, asked.what, coalesce(has_table_privilege(to_regclass(asked.name), asked.what), false) AS held
  FROM unnest(CAST(:names AS text[]), CAST(:whats AS text[])) AS asked (name, what)
""")
_OWNED = text("""
SELECT name FROM unnest(CAST(:names AS text[])) AS name JOIN pg_class ON pg_class.oid = to_regclass(name)
 WHERE pg_has_role(relowner, 'USAGE')
""")
_COLUMNS_HELD = text("""
SELECT coalesce(has_column_privilege(to_regclass(:name), :column, 'SELECT'), false)
""")
_ROWS = text("""
SELECT row_security_active(to_regclass(:name)) AS active,
       EXISTS (SELECT FROM pg_policies, unnest(roles) AS whose
                WHERE schemaname = ANY (current_schemas(false)) AND tablename = :name AND permissive = 'PERMISSIVE'
                  AND policyname LIKE 'kedge server %' AND whose <> 'public'
                  AND pg_has_role(whose, 'USAGE')) AS of_servers
""")
_ROLE = text("SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user")
_COLUMNS_OF = text("""
SELECT asked.name, asked.what
  FROM unnest(CAST(:names AS text[]), CAST(:whats AS text[])) AS asked (name, what)
 WHERE coalesce(has_any_column_privilege(to_regclass(asked.name), asked.what), false)
   AND NOT has_table_privilege(to_regclass(asked.name), asked.what)
""")
_BESIDE = text("""
SELECT 'it is a member of ' || whose.rolname FROM pg_auth_members JOIN pg_roles AS whose ON whose.oid = roleid
 WHERE member = (SELECT oid FROM pg_roles WHERE rolname = current_user)
UNION ALL
SELECT told FROM pg_roles, LATERAL (VALUES (rolcreaterole, 'it makes roles'), (rolcreatedb, 'it makes databases'),
       (rolreplication, 'it replicates'), (rolbypassrls, 'row security does not hold it')) AS may (is_so, told)
 WHERE rolname = current_user AND is_so
UNION ALL
SELECT 'CREATE on schema ' || current_schema() WHERE has_schema_privilege(current_schema(), 'CREATE')
UNION ALL
SELECT 'CREATE on the database' WHERE has_database_privilege(current_database(), 'CREATE')
""")


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """The role this server has, what it lacks (`INSERT on event`), and what it has that no server should."""

    role: str
    lacks: tuple[str, ...]
    too_much: tuple[str, ...]


def grants(app: str, reader: str = "", *, portal: str = "", relay: str = "", schema: str = "public") -> Iterator[str]:
    """The statements by which the owner of the tables gives a server's role its rights, and the role of a reader, of a
    portal and of a relay, if named.

    They may be run again, and take away what these roles had beyond it. A release with a new table needs them anew.
    """
    everything = ", ".join(_in(schema, table) for table in sorted(RIGHTS))
    for role in (r for r in (app, reader, portal, relay) if r):
        yield f"REVOKE ALL ON {everything} FROM {_quoted(role)};"
        yield f"GRANT USAGE ON SCHEMA {_quoted(schema)} TO {_quoted(role)};"
    yield f"REVOKE ALL ON {everything} FROM PUBLIC;"
    yield f"REVOKE CREATE ON SCHEMA {_quoted(schema)} FROM PUBLIC;"
    yield from _given(app, RIGHTS, schema)
    if reader:
        readable = ", ".join(_in(schema, table) for table in sorted(RIGHTS.keys() - SECRETS))
        yield f"GRANT SELECT ON {readable} TO {_quoted(reader)};"
    if portal:
        yield from _given(portal, PORTAL_RIGHTS, schema)
        for table, columns in PORTAL.columns.items():
            named = ", ".join(_quoted(column) for column in columns)
            yield f"GRANT SELECT ({named}) ON {_in(schema, table)} TO {_quoted(portal)};"
    if relay:
        yield from _given(relay, RELAY_RIGHTS, schema)
    for table, (column, values) in BY_ROW.items():
        yield from _policies(_in(schema, table), column, values, app=app, reader=reader, portal=portal)


def _given(role: str, rights_of: Mapping[str, str], schema: str) -> Iterator[str]:
    alike = defaultdict(list)
    for table, rights in sorted(rights_of.items()):
        alike[rights].append(_in(schema, table))
    for rights, tables in alike.items():
        yield f"GRANT {rights} ON {', '.join(tables)} TO {_quoted(role)};"


def _policies(table: str, column: str, values: Sequence[str], *, app: str, reader: str, portal: str) -> Iterator[str]:
    """Who sees and writes which rows. Without a portal they say nothing: row security is not on."""
    yield from _policy(f"kedge server {app}", table, f"TO {_quoted(app)} USING (true) WITH CHECK (true)")
    if reader:
        yield from _policy(f"kedge reader {reader}", table, f"FOR SELECT TO {_quoted(reader)} USING (true)")
    if portal:
        own = f"{_quoted(column)} IN ({', '.join(_literal(value) for value in values)})"
        to = f"TO {_quoted(portal)}"
        yield from _policy(f"kedge portal reads {portal}", table, f"FOR SELECT {to} USING (true)")
        yield from _policy(f"kedge portal adds {portal}", table, f"FOR INSERT {to} WITH CHECK ({own})")
        yield from _policy(f"kedge portal keeps {portal}", table, f"FOR UPDATE {to} USING ({own}) WITH CHECK ({own})")
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"


def _policy(name: str, table: str, rule: str) -> Iterator[str]:
    yield f"DROP POLICY IF EXISTS {_quoted(name)} ON {table};"
    yield f"CREATE POLICY {_quoted(name)} ON {table} {rule};"


def role_status(engine: Engine, part: ProcessRights = SERVER) -> RoleStatus | None:
    """How the role of this engine stands on PostgreSQL; None on SQLite. Raises StoreUnavailable."""
    if engine.dialect.name != "postgresql":
        return None
    needed = [(table, right) for table, rights in part.rights.items() for right in rights.split(", ")]
    asked = [*needed, *part.refused]
    with reading(engine) as connection:
        role, is_superuser = connection.execute(_ROLE).one()
        told = connection.execute(_HELD, {"names": [t for t, _ in asked], "whats": [w for _, w in asked]})
        held = {(row.name, row.what) for row in told if row.held}
        ownable = list(RIGHTS) if part.nothing_else else list(APPEND_ONLY)
        owned = connection.execute(_OWNED, {"names": ownable}).scalars().all()
        columns = [(t, c) for t, names in part.columns.items() for c in names if not _reads(connection, t, c)]
        rows = {table: connection.execute(_ROWS, {"name": table}).one() for table in BY_ROW}
        beside = list(_beside(connection, part)) if part.nothing_else else []
    lacks = [f"{right} on {table}" for table, right in needed if (table, right) not in held]
    lacks += [f"SELECT on {table}.{column}" for table, column in columns]
    if not part.by_row:
        seen = {table: row for table, row in rows.items() if table in part.rights}
        lacks += [f"a policy on {table}" for table, row in seen.items() if row.active and not row.of_servers]
    if is_superuser:
        return RoleStatus(role, tuple(lacks), ("it is a superuser",))
    if owned:
        return RoleStatus(role, tuple(lacks), tuple(f"it owns {table}" for table in owned))
    overmuch = [f"{right} on {table}" for table, right in part.refused if (table, right) in held]
    if part.by_row:
        overmuch += [f"every row of {table}" for table, row in rows.items() if not row.active or row.of_servers]
    return RoleStatus(role, tuple(lacks), (*overmuch, *beside))


def _beside(connection: Connection, part: ProcessRights) -> Iterator[str]:
    """What a role may do past tables as a whole: single columns, what it is, and what it may become."""
    asked = [(table, right) for table, right in part.refused if right in ("SELECT", "INSERT", "UPDATE")]
    found = connection.execute(_COLUMNS_OF, {"names": [t for t, _ in asked], "whats": [w for _, w in asked]})
    yield from (f"{row.what} on columns of {row.name}" for row in found)
    yield from connection.execute(_BESIDE).scalars()


def _reads(connection: Connection, table: str, column: str) -> bool:
    return bool(connection.execute(_COLUMNS_HELD, {"name": table, "column": column}).scalar_one())


class RoleRefused(Exception):
    """The role in PostgreSQL lacks rights it needs, or that of a part apart has some it must not have. What now: the
    tables' owner gives and takes them.
    """


def check_role(engine: Engine, part: ProcessRights = SERVER) -> None:
    """At a start: raises RoleRefused, naming the rights its role lacks. What a server's has too much is logged; that of
    a portal or a relay with too much is refused, since a part apart is nothing else than that.
    """
    stands = role_status(engine, part)
    if stands is None:
        return
    then = f"As the tables' owner: `kedge db grants {_option(part, stands.role)} | psql URL`; then start again."
    if stands.lacks:
        raise RoleRefused(f"role {stands.role} of the database lacks {', '.join(stands.lacks)}. {then}")
    if stands.too_much and part.is_apart:
        raise RoleRefused(f"{_more_than_it_should(stands, part, ' of the database')}. {then}")
    if stands.too_much:
        _log.warning("%s", " -> ".join((examined(engine)[0].told, _WHAT_NEXT)))


def _more_than_it_should(stands: RoleStatus, part: ProcessRights, where: str = "") -> str:
    return f"role {stands.role}{where} may do more than a {part.name} should: {', '.join(stands.too_much)}"


def _option(part: ProcessRights, role: str) -> str:
    return f"{part.option} {role}" if part is SERVER else f"--app ROLE_OF_THE_LOOP {part.option} {role}"


def examined(engine: Engine, part: ProcessRights = SERVER) -> tuple[Finding, ...]:
    """For `kedge doctor`: what the role can do that it should not; nothing on SQLite."""
    stands = role_status(engine, part)
    if stands is None:
        return ()
    if stands.too_much:
        sentence = f"role {stands.role} could change or delete events and audit entries: {', '.join(stands.too_much)}"
        if part.is_apart:
            sentence = _more_than_it_should(stands, part)
        return (Finding("database", False, sentence, _WHAT_NEXT),)
    sentence = f"role {stands.role} may add events and audit entries, and change none"
    if part.by_row:
        sentence = f"role {stands.role} may add what people ask for, and sees no lease and none of Terraform's states"
    elif part.nothing_else:
        sentence = f"role {stands.role} may read the audit, and nothing else"
    return (Finding("database", True, sentence),)


def _in(schema: str, table: str) -> str:
    return f"{_quoted(schema)}.{_quoted(table)}"


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
