"""One database, one home: the first server claims it, servers of the same home share it, another home is refused."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from controlplane.server.process import run
from controlplane.server.sections.database import DatabaseSection
from controlplane.server.sections.planner import PlannerSection
from controlplane.server.sections.process import ProcessSection
from controlplane.server.settings import Settings
from controlplane.storage import migrate
from controlplane.storage.home import Home, HomeIdentity
from controlplane.storage.home_binding import HomeRefused, claim_home, homes_of
from controlplane.storage.lease import SqlLeaseStore
from events.engine import build_engine
from events.envelope import NewEvent, Origin
from events.sql_store import SqlEventStore

OURS = HomeIdentity("home-1", "installation-1", "alpha", "/var/lib/kedge")
OTHER = HomeIdentity("home-2", "installation-1", "beta", "/srv/kedge")


def leases(engine: Engine) -> SqlLeaseStore:
    return SqlLeaseStore(engine, longest_call_s=10)


def test_the_first_home_claims_the_database_and_comes_back_to_it(engine: Engine) -> None:
    assert not homes_of(engine)
    claim_home(engine, OURS)
    claim_home(engine, OURS)
    assert homes_of(engine)[0].home == OURS


def test_another_home_is_refused_and_both_are_named(engine: Engine) -> None:
    claim_home(engine, OURS)
    with pytest.raises(HomeRefused) as refused:
        claim_home(engine, OTHER)
    told = str(refused.value)
    assert "/var/lib/kedge on alpha" in told
    assert "/srv/kedge on beta" in told
    assert "--take-over-home" in told
    assert homes_of(engine)[0].home == OURS


def test_two_servers_of_one_home_share_it_while_one_leads(engine: Engine) -> None:
    claim_home(engine, OURS)
    assert leases(engine).acquire("converge", "alpha:1:aa", term_s=30)
    claim_home(engine, OURS)


def test_of_two_homes_that_claim_at_once_one_wins(engine: Engine) -> None:
    def claimed(mine: HomeIdentity) -> bool:
        try:
            claim_home(engine, mine)
        except HomeRefused:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(claimed, (OURS, OTHER))) == [False, True]


def test_a_lost_home_is_taken_over_once_its_lease_is_over(engine: Engine) -> None:
    claim_home(engine, OURS)
    lease = leases(engine).acquire("converge", "alpha:1:aa", term_s=30)
    assert lease is not None
    with pytest.raises(HomeRefused, match=r"/var/lib/kedge on alpha holds the lease for \d+ s more"):
        claim_home(engine, OTHER, take_over=True)
    leases(engine).release(lease)
    claim_home(engine, OTHER, take_over=True)
    assert homes_of(engine)[0].home == OTHER
    with pytest.raises(HomeRefused):
        claim_home(engine, OURS)


def test_a_home_of_another_installation_may_not_take_over(engine: Engine) -> None:
    claim_home(engine, OURS)
    with pytest.raises(HomeRefused, match="installation-1 into /srv/kedge/installation-id"):
        claim_home(engine, replace(OTHER, installation_id="installation-2"), take_over=True)
    assert homes_of(engine)[0].home == OURS


def test_a_moved_home_is_known_by_its_id_when_nobody_leads(engine: Engine) -> None:
    claim_home(engine, OURS)
    moved = replace(OURS, host="beta", path="/srv/kedge")
    lease = leases(engine).acquire("converge", "alpha:1:aa", term_s=30)
    assert lease is not None
    with pytest.raises(HomeRefused, match="holds the lease"):
        claim_home(engine, moved)
    leases(engine).release(lease)
    claim_home(engine, moved)
    assert homes_of(engine)[0].home == moved


def test_a_home_keeps_its_id_wherever_it_is(tmp_path: Path) -> None:
    first = Home(tmp_path / "a").identity()
    (tmp_path / "a").rename(tmp_path / "b")
    second = Home(tmp_path / "b").identity()
    assert (second.home_id, second.installation_id) == (first.home_id, first.installation_id)
    assert second.path != first.path


def test_a_server_with_another_home_does_not_start(
    tmp_path: Path, fresh_database: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    url = fresh_database("sqlite")
    engine = build_engine(url)
    claim_home(engine, Home(tmp_path / "first").identity())
    engine.dispose()
    settings = Settings(
        home=tmp_path / "second",
        process=ProcessSection(port=0),
        database=DatabaseSection(url=url),
        planner=PlannerSection(spark_master="off"),
    )
    assert run(settings) == 1
    told = capsys.readouterr().err
    assert str(tmp_path / "first") in told
    assert str(tmp_path / "second") in told


def test_the_release_before_works_on_a_database_with_a_home(tmp_path: Path) -> None:
    """It knows no such table: what it reads and writes is as before, and going back drops the table alone."""
    url = f"sqlite:///{tmp_path}/kedge.db"
    migrate.upgrade(url)
    engine = build_engine(url)
    claim_home(engine, OURS)
    store = SqlEventStore(engine)
    store.append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("converger"))
    migrate.downgrade(url, "e1_0001")
    assert store.verify() == 1
    migrate.upgrade(url)
    assert not homes_of(engine)
    engine.dispose()
