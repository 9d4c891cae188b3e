"""The role of a portal apart, on a real PostgreSQL: it adds what people ask for, and nothing that a loop does; servers
see every row though row security is on.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from sqlalchemy import Engine, text

from controlplane.server.database_roles import PORTAL, RIGHTS, RoleRefused, check_role, examined, role_status
from controlplane.server.portal_rights import EVENTS, LATEST, PORTAL_RIGHTS
from controlplane.server.split.moments import SqlCredentialMoments
from controlplane.storage.agent_credentials import SqlCredentialStore, Vm
from controlplane.storage.latest_values import LatestValue, SqlLatestStore, Subject
from events.engine import build_engine, reading, writing
from events.envelope import NewEvent, Origin
from events.errors import StoreUnavailable
from events.ids import ClusterUid, IntentId, NodeName
from events.registry import REGISTRY
from events.sql_store import SqlEventStore
from tests.databases import APP, PORTAL as PORTAL_ROLE, as_role

pytestmark = pytest.mark.postgres
UID = ClusterUid("ab" * 16)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


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


@pytest.fixture
def portal(own: str) -> Iterator[Engine]:
    """The same for a portal."""
    engine = build_engine(as_role(own, PORTAL_ROLE))
    yield engine
    engine.dispose()


def by_owner(url: str, statement: str) -> None:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(statement.encode())


def seen(kind: str, at: datetime = NOW) -> LatestValue:
    return LatestValue(Subject(kind, UID, "x"), {}, "test", at)


def test_a_portal_adds_what_people_ask_for_and_no_event_of_the_loop(app: Engine, portal: Engine) -> None:
    store = SqlEventStore(portal)
    for number, name in enumerate(EVENTS):
        event = NewEvent(f"{number:032x}", name, 1, {})
        assert store.append("cluster-x", [event], expected_version=number, origin=Origin("ann"))
    others = sorted(entry.name for entry in REGISTRY if entry.name not in EVENTS)
    assert {"retire.requested", "surge.requested", "agents.published", "chaos.injected"} <= set(others)
    for name in others:
        with pytest.raises(StoreUnavailable, match="row-level security"):
            store.append("cluster-y", [NewEvent("f" * 32, name, 1, {})], expected_version=0, origin=Origin("ann"))
    written = SqlEventStore(app).append(
        "cluster-y", [NewEvent("e" * 32, "retire.requested", 1, {})], expected_version=0, origin=Origin("converger")
    )
    assert [one.position for one in written] == [len(EVENTS) + 1], "what was refused took no position"
    assert len(store.read_all(0, limit=1000)) == len(EVENTS) + 1, "it reads all of them"


def test_a_portal_writes_its_own_latest_values_and_forges_no_report(app: Engine, portal: Engine) -> None:
    theirs, ours = SqlLatestStore(app), SqlLatestStore(portal)
    assert theirs.put(seen("agent-report"))
    for kind in LATEST:
        assert ours.put(seen(kind))
        assert ours.put(seen(kind, NOW.replace(day=2))), "and again"
    for kind in ("agent-report", "agent-findings", "loop-word", "loop-said", "move-pulses", "topic-looks"):
        with pytest.raises(StoreUnavailable, match="row-level security"):
            ours.put(seen(kind, NOW.replace(day=3)))
        with pytest.raises(StoreUnavailable, match="row-level security"):
            ours.put(LatestValue(Subject(kind, UID, "fresh"), {}, "test", NOW))
    assert ours.get(Subject("agent-report", UID, "x")) == seen("agent-report"), "it reads them"
    assert len(theirs.of_cluster(UID)) == len(LATEST) + 1, "a server sees every row"


CLOSED = (
    "lease",
    "terraform_lock",
    "terraform_state",
    "terraform_providers",
    "cluster_authority",
    "user_password",
    "plan_blob",
    "projection_checkpoint",
)


def test_leases_states_locks_and_plans_are_closed_to_a_portal(portal: Engine) -> None:
    assert set(CLOSED) == RIGHTS.keys() - PORTAL_RIGHTS.keys() - {"agent_credential"}
    refused = [f"SELECT * FROM {table}" for table in (*CLOSED, "agent_credential")]
    refused += ["SELECT credential_sha256 FROM agent_credential", "UPDATE agent_credential SET generation = 1"]
    refused += [f"DELETE FROM {table}" for table in ("event", "audit_entry", "job", "home", "latest", "counter")]
    refused += ["UPDATE home SET terraform_state = 'http'", "UPDATE job SET state = 'failed'", "TRUNCATE latest"]
    refused += [
        "ALTER TABLE latest DISABLE ROW LEVEL SECURITY",
        'DROP POLICY "kedge portal adds kedge_portal" ON event',
        "CREATE TABLE mine (a int)",
    ]
    for statement in refused:
        with (
            pytest.raises(StoreUnavailable, match=r"permission denied|must be owner|does not exist"),
            writing(portal) as transaction,
        ):
            transaction.execute(text(statement))
    with reading(portal) as connection:
        for table in PORTAL_RIGHTS:
            connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()


def test_a_portal_reads_when_credentials_came_into_force_and_no_hash(app: Engine, portal: Engine) -> None:
    vm = Vm(UID, NodeName("brokers-a-0"), 1)
    enrolled = SqlCredentialStore(app).enroll(vm, credential_sha256="c" * 64, intent_id=IntentId("i"))
    moments = SqlCredentialMoments(portal)
    known = moments.get(vm)
    assert known is not None
    assert (known.since, known.credential_sha256) == (enrolled.since, "")
    assert moments.recognise(vm, "c" * 64) is None
    assert moments.recognise(vm, "") is None


def test_a_role_with_what_a_portal_needs_and_no_more_is_well(portal: Engine) -> None:
    stands = role_status(portal, PORTAL)
    assert stands is not None
    assert (stands.role, stands.lacks, stands.too_much) == (PORTAL_ROLE, (), ())
    check_role(portal, PORTAL)
    assert [(f.well, "sees no lease" in f.told) for f in examined(portal, PORTAL)] == [(True, True)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("GRANT SELECT ON terraform_state TO kedge_portal", "SELECT on terraform_state"),
        ("GRANT UPDATE ON lease TO kedge_portal", "UPDATE on lease"),
        ("GRANT SELECT ON agent_credential TO kedge_portal", "SELECT on agent_credential"),
        ("GRANT UPDATE ON event TO kedge_portal", "UPDATE on event"),
        ("ALTER TABLE event DISABLE ROW LEVEL SECURITY", "every row of event"),
        ("ALTER TABLE latest OWNER TO kedge_portal", "every row of latest"),
    ],
)
def test_a_portal_whose_role_may_do_more_does_not_start(own: str, portal: Engine, given: str, told: str) -> None:
    by_owner(own, given)
    with pytest.raises(RoleRefused, match=rf"may do more than a portal should: .*{told}.*kedge db grants"):
        check_role(portal, PORTAL)
    assert [f.well for f in examined(portal, PORTAL)] == [False]


def test_the_role_of_a_loop_is_none_for_a_portal(app: Engine) -> None:
    with pytest.raises(RoleRefused, match=r"kedge_app.*SELECT on lease.*every row of event"):
        check_role(app, PORTAL)


def test_a_portal_whose_role_lacks_something_names_it(own: str, portal: Engine) -> None:
    by_owner(own, "REVOKE INSERT ON audit_entry FROM kedge_portal")
    by_owner(own, "REVOKE SELECT (rotated_at) ON agent_credential FROM kedge_portal")
    with pytest.raises(RoleRefused, match=r"lacks INSERT on audit_entry, SELECT on agent_credential.rotated_at"):
        check_role(portal, PORTAL)


def test_a_server_that_row_security_would_blind_does_not_start(own: str, app: Engine) -> None:
    by_owner(own, 'DROP POLICY "kedge server kedge_app" ON latest')
    assert SqlLatestStore(app).of_kind("agent-report") == []
    with pytest.raises(RoleRefused, match="lacks a policy on latest"):
        check_role(app)


def test_without_a_portal_row_security_stays_off(own: str, app: Engine) -> None:
    from controlplane.server.database_roles import grants

    assert not any("ENABLE ROW LEVEL SECURITY" in line for line in grants(APP))
    for table in ("event", "latest"):
        by_owner(own, f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    check_role(app)
    stands = role_status(app)
    assert stands is not None
    assert stands.lacks == ()
