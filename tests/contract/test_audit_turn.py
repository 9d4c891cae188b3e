"""Whose turn it is to write the audit's topic and who waits for it, on a real PostgreSQL: one at a time, by a role that
may only read the audit.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import psycopg
import pytest
from sqlalchemy import Engine, text

from controlplane.api.audit.holder import KEY, WAITS, Holder, RelayWord, relays_of
from controlplane.api.audit.lock import AuditTurnTaken, NoOtherWriter, SqlTurn, turn_of
from events.engine import build_engine, reading
from events.errors import StoreUnavailable
from tests.databases import APP, PORTAL, READER, RELAY, as_role, postgres_copy
from tests.postgres_server import PostgresServer
from tests.waiting import until

pytestmark = pytest.mark.postgres

Connect = Callable[[str], Engine]
Turns = Callable[..., SqlTurn]


@pytest.fixture(scope="module")
def own(postgres_server: PostgresServer) -> Iterator[str]:
    """A migrated database of these tests' own, for its owner."""
    url = postgres_copy(postgres_server)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def connect(own: str) -> Iterator[Connect]:
    """An engine by a role."""
    made: list[Engine] = []

    def by(role: str) -> Engine:
        made.append(build_engine(as_role(own, role), pool_size=2))
        return made[-1]

    yield by
    for engine in made:
        engine.dispose()
    # A session is over when its process is: the next test would count it among those that wait.
    until(lambda: others(own) == 0, "all sessions to be over", timeout_s=30)


@pytest.fixture
def turn(connect: Connect) -> Iterator[Turns]:
    """A process's turn, by its role; given back, whatever came of the test."""
    made: list[SqlTurn] = []

    def of(role: str, *, keeps: bool = False) -> SqlTurn:
        made.append(SqlTurn(connect(role), keeps=keeps))
        return made[-1]

    yield of
    for one in made:
        one.close()


def holder_of(engine: Engine) -> Holder | None:
    return relays_of(engine).holder


def waits(one: SqlTurn) -> SqlTurn:
    with pytest.raises(AuditTurnTaken):
        one.take()
    return one


@contextmanager
def called(url: str, role: str, name: str) -> Iterator[psycopg.Connection]:
    """A session of a role that calls itself so."""
    address = as_role(url, role).replace("+psycopg", "")
    with psycopg.connect(address, autocommit=True, application_name=name) as connection:
        yield connection


def others(url: str) -> int:
    """How many sessions the database has beside this one."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        counted = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        found = connection.execute(counted).fetchone()
        return int(found[0]) if found else 0


def sessions(url: str, name: str) -> list[int]:
    """The ids of sessions with that name, as the owner sees them."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s", [name]
        )
        return [pid for (pid,) in found.fetchall()]


def test_a_relay_keeps_its_turn_and_another_waits_until_it_ends(connect: Connect, turn: Turns) -> None:
    first, second = turn(RELAY, keeps=True), turn(RELAY, keeps=True)
    number = first.take()
    first.pass_on()
    assert first.take() == number
    with pytest.raises(AuditTurnTaken, match="role kedge_relay, writes the audit to its topic: this one waits"):
        second.take()
    assert not second.is_ours()
    first.close()
    second.take()
    assert second.is_ours()


def test_a_server_passes_its_turn_on_after_each_look_and_knows_that_others_may_have_had_it(
    connect: Connect, turn: Turns
) -> None:
    one, other = turn(APP), turn(APP)
    number = one.take()
    with pytest.raises(AuditTurnTaken, match="role kedge_app"):
        other.take()
    one.pass_on()
    other.take()
    other.pass_on()
    assert one.take() != number
    one.close()
    assert holder_of(connect(APP)) is None


def test_a_server_beside_a_relay_waits_and_is_told_the_setting_that_is_meant(connect: Connect, turn: Turns) -> None:
    relay, server = turn(RELAY, keeps=True), turn(APP)
    relay.take()
    relay.tell(RelayWord(7))
    with pytest.raises(AuditTurnTaken, match=r"role kedge_relay.*`apart = true` in \[audit_topic\]"):
        server.take()
    relay.close()
    server.take()


def test_every_role_sees_who_has_it_and_what_a_relay_says(connect: Connect, turn: Turns) -> None:
    looking = [connect(role) for role in (APP, PORTAL, READER, RELAY)]
    assert {holder_of(engine) for engine in looking} == {None}
    relay = turn(RELAY, keeps=True)
    relay.take()
    assert {holder_of(engine) for engine in looking} == {Holder(RELAY, False, RelayWord(None))}, "from the first moment"
    said = RelayWord(41, "not sent: TOPIC_AUTHORIZATION_FAILED")
    relay.tell(said)
    assert {holder_of(engine) for engine in looking} == {Holder(RELAY, False, said)}
    relay.close()
    assert {holder_of(engine) for engine in looking} == {None}


@pytest.mark.parametrize("role", [APP, PORTAL, READER])
def test_a_role_that_may_more_passes_for_no_relay_whatever_it_says(connect: Connect, turn: Turns, role: str) -> None:
    forged = turn(role, keeps=True)
    forged.take()
    forged.tell(RelayWord(41))
    holder = holder_of(connect(APP))
    assert holder is not None
    assert (holder.role, holder.may_more, holder.is_relay) == (role, True, False)


def _waits_alone(engine: Engine) -> bool:
    return relays_of(engine).waiting == {RELAY: 1}


def test_every_role_sees_how_many_relays_wait_and_none_where_one_is_alone(connect: Connect, turn: Turns) -> None:
    looking = [connect(role) for role in (APP, PORTAL, READER, RELAY)]
    first = turn(RELAY, keeps=True)
    first.take()
    first.tell(RelayWord(41))
    assert [relays_of(engine).waiting for engine in looking] == [{}] * 4
    second, third = waits(turn(RELAY, keeps=True)), waits(turn(RELAY, keeps=True))
    assert [relays_of(engine).waiting for engine in looking] == [{RELAY: 2}] * 4
    assert {holder_of(engine) for engine in looking} == {Holder(RELAY, False, RelayWord(41))}, "still the same one"
    second.tell(RelayWord(None, "waits"))
    assert relays_of(looking[0]).waiting == {RELAY: 2}, "who waits says nothing else"
    first.close()
    second.take()
    for engine in looking:
        until(partial(_waits_alone, engine), "the first to be over")
        assert holder_of(engine) == Holder(RELAY, False, RelayWord(None))
    third.close()
    until(lambda: relays_of(looking[0]).waiting == {}, "one that stops to wait no more")


def test_who_waits_holds_one_session_however_often_it_tries_and_that_is_found_dead_soon(own: str, turn: Turns) -> None:
    turn(RELAY, keeps=True).take()
    waiting = waits(turn(RELAY, keeps=True))
    before = sessions(own, WAITS)
    for _ in range(5):
        waits(waiting)
    assert (len(before), sessions(own, WAITS)) == (1, before)
    assert waiting._waiting is not None
    shown = [
        waiting._waiting.execute(text(f"SHOW tcp_keepalives_{name}")).scalar_one() for name in ("idle", "interval")
    ]
    assert shown == ["10", "5"]
    assert waiting._engine.pool.checkedout() == 1  # type: ignore[attr-defined]


def test_one_whose_session_is_lost_while_it_waits_says_so_and_waits_anew(
    own: str, connect: Connect, turn: Turns
) -> None:
    turn(RELAY, keeps=True).take()
    waiting = waits(turn(RELAY, keeps=True))
    (lost,) = sessions(own, WAITS)
    with psycopg.connect(own.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", [lost])
    assert relays_of(connect(APP)).waiting == {}
    with pytest.raises(StoreUnavailable):
        waiting.take()
    waits(waiting)
    assert relays_of(connect(APP)).waiting == {RELAY: 1}


def test_a_server_that_waits_is_no_relay_that_does(connect: Connect, turn: Turns) -> None:
    turn(RELAY, keeps=True).take()
    waits(turn(APP))
    assert relays_of(connect(APP)).waiting == {}


@pytest.mark.parametrize("role", [APP, PORTAL, READER])
def test_a_role_that_may_more_passes_for_no_relay_that_waits(own: str, connect: Connect, role: str) -> None:
    with called(own, role, WAITS):
        assert relays_of(connect(APP)).waiting == {}


def test_whoever_only_says_that_they_wait_is_counted_and_is_in_nobodys_way(
    own: str, connect: Connect, turn: Turns
) -> None:
    with called(own, RELAY, WAITS), called(own, RELAY, "kedge-relay 99"), called(own, RELAY, f"{WAITS} x"):
        assert (relays_of(connect(APP)).waiting, holder_of(connect(APP))) == ({RELAY: 1}, None)
        mine = turn(RELAY, keeps=True)
        mine.take()
        mine.tell(RelayWord(3))
        assert holder_of(connect(APP)) == Holder(RELAY, False, RelayWord(3)), "99 was said without the turn"


def test_strangers_who_share_the_turn_are_told_like_one(own: str, connect: Connect, turn: Turns) -> None:
    with called(own, READER, "psql") as one, called(own, RELAY, "psql") as other:
        for stranger in (one, other):
            stranger.execute("SELECT pg_advisory_lock_shared(%s)", [KEY])
        holder = holder_of(connect(APP))
        assert holder is not None
        assert (holder.role in (READER, RELAY), holder.is_relay) == (True, False)
        waits(turn(RELAY, keeps=True))


def test_a_turn_whose_session_is_lost_is_lost_and_taken_anew_under_another_number(own: str, turn: Turns) -> None:
    mine = turn(RELAY, keeps=True)
    number = mine.take()
    with psycopg.connect(own.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'kedge_relay'")
    assert not mine.is_ours()
    mine.tell(RelayWord(1))
    assert mine.take() != number
    assert mine.is_ours()


def test_a_host_that_is_gone_is_found_out_within_half_a_minute(turn: Turns) -> None:
    mine = turn(RELAY, keeps=True)
    mine.take()
    assert mine._session is not None
    shown = [mine._session.execute(text(f"SHOW tcp_keepalives_{name}")).scalar_one() for name in ("idle", "interval")]
    assert shown == ["10", "5"]


def test_what_a_pool_gets_back_is_neither_locked_nor_named(connect: Connect) -> None:
    engine = connect(APP)
    mine = SqlTurn(engine)
    mine.take()
    mine.pass_on()
    with reading(engine) as connection:
        assert connection.execute(text("SHOW application_name")).scalar_one() == "kedge"
        assert connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": KEY}).scalar_one() is False


_HOLDS = """
import sys, time
from controlplane.api.audit.lock import SqlTurn
from events.engine import build_engine
turn = SqlTurn(build_engine(sys.argv[1]), keeps=True)
turn.take()
print("taken", flush=True)
time.sleep(600)
"""


_WAITS = """
import sys, time
from controlplane.api.audit.lock import AuditTurnTaken, SqlTurn
from events.engine import build_engine
turn = SqlTurn(build_engine(sys.argv[1]), keeps=True)
try:
    turn.take()
except AuditTurnTaken:
    print("waits", flush=True)
time.sleep(600)
"""


@contextmanager
def killed_after(url: str, program: str, says: str) -> Iterator[None]:
    """A relay's process in the block, once it says so."""
    command = [sys.executable, "-c", program, as_role(url, RELAY)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."})
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == f"{says}\n"
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()


def test_a_process_that_is_killed_while_it_waits_is_seen_no_more(own: str, connect: Connect, turn: Turns) -> None:
    turn(RELAY, keeps=True).take()
    with killed_after(own, _WAITS, "waits"):
        assert relays_of(connect(APP)).waiting == {RELAY: 1}
    engine = connect(APP)
    for _ in range(1000):
        if not relays_of(engine).waiting:
            break
    assert relays_of(engine).waiting == {}


def test_a_process_that_is_killed_leaves_the_turn_at_once(own: str, turn: Turns) -> None:
    with killed_after(own, _HOLDS, "taken"):
        waiting = waits(turn(RELAY, keeps=True))
    for _ in range(1000):
        try:
            waiting.take()
            break
        except AuditTurnTaken:
            continue
    assert waiting.is_ours()


def test_on_sqlite_there_is_nobody_else() -> None:
    mine = turn_of(build_engine("sqlite:////tmp/never-opened.db"))
    assert isinstance(mine, NoOtherWriter)
    assert (mine.take(), mine.take(), mine.is_ours()) == (0, 0, True)
