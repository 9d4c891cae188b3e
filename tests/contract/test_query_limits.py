"""How long the database may take for what somebody waits for. PostgreSQL sleeps as long as told; SQLite counts."""

import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import Engine, text

from controlplane.api.audit.entry import Kept
from controlplane.api.audit.store import AuditFilter
from controlplane.storage.agent_credentials import Credential, Vm
from events.engine import answered_within, build_engine, reading, writing
from events.errors import QueryTooLong, StoreUnavailable
from tests.fakes.agent_credentials import MemoryCredentialStore
from tests.fakes.audit import MemoryAuditStore
from tests.unit.controlplane.api.portal_house import House

COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {most}) SELECT count(*) FROM n"
LIMIT_S = 0.2


def long_query(engine: Engine) -> str:
    """Half a minute of work where nobody ends it."""
    return "SELECT pg_sleep(30)" if engine.dialect.name == "postgresql" else COUNTING.format(most=10**9)


def short_query(engine: Engine) -> str:
    """Longer than the limit of these tests, and it ends."""
    return "SELECT pg_sleep(0.5)" if engine.dialect.name == "postgresql" else COUNTING.format(most=10**6)


def test_what_takes_too_long_is_ended_and_says_so(engine: Engine) -> None:
    began = time.monotonic()
    with answered_within(LIMIT_S), pytest.raises(QueryTooLong, match=r"longer than 0\.2 s"), reading(engine) as asked:
        asked.execute(text(long_query(engine)))
    assert time.monotonic() - began < 20


def test_a_write_that_is_ended_writes_nothing(engine: Engine, owner: Engine) -> None:
    def rows() -> int:
        with reading(engine) as asked:
            return int(asked.execute(text("SELECT count(*) FROM noted")).scalar_one())

    def insert_and_linger() -> None:
        with writing(engine) as write:
            write.execute(text("INSERT INTO noted VALUES ('half')"))
            write.execute(text(long_query(engine)))

    with writing(owner) as made:
        made.execute(text("CREATE TABLE noted (word TEXT)"))
        if owner.dialect.name == "postgresql":
            made.execute(text("GRANT ALL ON noted TO PUBLIC"))
    try:
        with answered_within(LIMIT_S), pytest.raises(QueryTooLong):
            insert_and_linger()
        assert rows() == 0
        with answered_within(LIMIT_S), writing(engine) as write:
            write.execute(text("INSERT INTO noted VALUES ('whole')"))
        assert rows() == 1
    finally:
        with writing(owner) as dropped:
            dropped.execute(text("DROP TABLE noted"))


def test_the_limit_is_of_those_who_wait_and_of_nobody_else(engine: Engine) -> None:
    """One connection, used in turn: what a page was held to does not hold for the loop that gets it next."""
    url = engine.url.render_as_string(hide_password=False)
    alone = build_engine(url, pool_size=1)
    try:
        with answered_within(LIMIT_S), pytest.raises(QueryTooLong), reading(alone) as asked:
            asked.execute(text(long_query(alone)))
        with reading(alone) as asked:
            asked.execute(text(short_query(alone)))
        with answered_within(LIMIT_S), answered_within(None), reading(alone) as asked:
            asked.execute(text(short_query(alone)))
        others: list[Exception | None] = []

        def other() -> None:
            try:
                with reading(alone) as asked:
                    asked.execute(text(short_query(alone)))
                others.append(None)
            except StoreUnavailable as error:
                others.append(error)

        with answered_within(LIMIT_S):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        assert others == [None]
    finally:
        alone.dispose()


@pytest.fixture
def limited(postgresql: Engine) -> Iterator[Engine]:
    built = build_engine(postgresql.url.render_as_string(hide_password=False), statement_timeout_s=LIMIT_S)
    yield built
    built.dispose()


def test_the_loop_has_a_limit_of_its_own_and_a_migration_none(limited: Engine, postgresql: Engine) -> None:
    with pytest.raises(QueryTooLong), reading(limited) as asked:
        asked.execute(text("SELECT pg_sleep(30)"))
    with reading(postgresql) as asked:
        assert asked.execute(text("SHOW statement_timeout")).scalar_one() == "10min"
    endless = build_engine(postgresql.url.render_as_string(hide_password=False), statement_timeout_s=0)
    try:
        with reading(endless) as asked:
            assert asked.execute(text("SHOW statement_timeout")).scalar_one() == "0"
    finally:
        endless.dispose()


def test_a_lock_that_is_not_given_is_no_query_that_takes_too_long(postgresql: Engine) -> None:
    hasty = build_engine(postgresql.url.render_as_string(hide_password=False), lock_timeout_s=0.2)
    owner = build_engine(postgresql.url.set(username="postgres").render_as_string(hide_password=False))
    try:
        with writing(owner) as holding:
            holding.execute(text("LOCK TABLE event IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(StoreUnavailable, match="lock timeout") as away, reading(hasty) as asked:
                asked.execute(text("SELECT count(*) FROM event"))
        assert not isinstance(away.value, QueryTooLong)
    finally:
        hasty.dispose()
        owner.dispose()


class SlowAudit(MemoryAuditStore):
    """One whose page is a long query, of a database that is a real one."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def page(self, wanted: AuditFilter, limit: int) -> Sequence[Kept]:
        with reading(self._engine) as asked:
            asked.execute(text(long_query(self._engine)))
        return ()


def test_a_call_and_a_page_that_take_too_long_are_answered_in_words(engine: Engine) -> None:
    house = House(audit=SlowAudit(engine))
    object.__setattr__(house.services.operations, "query_limit_s", LIMIT_S)
    answer = house.client.get("/v1/audit")
    assert (answer.status_code, answer.json()["code"]) == (504, "query-too-long")
    assert answer.json()["next"]
    assert answer.headers["Retry-After"] == "15"
    page = house.client.get("/audit", headers={"Accept": "text/html"})
    assert page.status_code == 504
    for told in (answer.text, page.text):
        assert "Traceback" not in told
        assert "pg_sleep" not in told + house.client.get("/healthz").text


def test_agents_and_terraforms_states_are_not_cut_short(engine: Engine) -> None:
    """A report is what the loop lives on: its database call here takes longer than people would wait."""

    took: list[str] = []

    class SlowCredentials(MemoryCredentialStore):
        def recognise(self, vm: Vm, sha256: str, *, is_certified: bool = False) -> Credential | None:
            with reading(engine) as asked:
                asked.execute(text(short_query(engine)))
            took.append(vm.node)
            return super().recognise(vm, sha256, is_certified=is_certified)

    house = House()
    object.__setattr__(house.services.access, "credentials", SlowCredentials())
    object.__setattr__(house.services.operations, "query_limit_s", 0.01)
    cluster = "ab" * 16
    headers = {"Authorization": "Bearer x", "X-Kedge-Instance": f"{cluster}/brokers-a-0.g1"}
    asked_by = {"cluster": cluster, "node": "brokers-a-0", "generation": "1"}
    answer = house.client_with({}).get("/agent/v1/document", params=asked_by, headers=headers)
    assert (answer.status_code, took) == (401, ["brokers-a-0"]), answer.text
