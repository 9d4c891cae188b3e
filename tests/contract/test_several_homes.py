"""Several homes on one database: on PostgreSQL with Terraform's states in it, and only where their keys agree."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from controlplane.server.assembly.terraform_states import SharedClouds, keys_print, refuse_beside_local
from controlplane.storage.home import HomeIdentity
from controlplane.storage.home_binding import HTTP, LOCAL, HomeRefused, agree_on_agent_url, claim_home, homes_of, leave
from controlplane.storage.lease import SqlLeaseStore
from events.engine import build_engine
from providers.errors import PlaceUnknown
from tests.changed_view import changed_view
from tests.fakes.cloud import FakeCloud
from tests.unit.controlplane.api.portal_house import House

ALPHA = HomeIdentity("home-1", "installation-1", "alpha", "/var/lib/kedge")
BETA = HomeIdentity("home-2", "installation-1", "beta", "/srv/kedge")
GAMMA = HomeIdentity("home-3", "installation-1", "gamma", "/srv/kedge")
URL = "http://127.0.0.1:8428"


def claim(engine: Engine, home: HomeIdentity, *, state: str = HTTP, keys: str = "same") -> bool:
    """True when the home is new beside others."""
    return claim_home(engine, home, state=state, keys_print=keys).joined


def members(engine: Engine) -> list[str]:
    return [member.home.home_id for member in homes_of(engine)]


def test_homes_that_agree_share_a_postgresql_database_with_the_states_in_it(postgresql: Engine) -> None:
    assert claim(postgresql, ALPHA) is False
    assert claim(postgresql, BETA) is True
    assert claim(postgresql, GAMMA) is True
    for home in (BETA, ALPHA, GAMMA):
        assert claim(postgresql, home) is False, "they come back as they are"
    assert members(postgresql) == ["home-1", "home-2", "home-3"]


def test_states_in_files_keep_other_homes_out(postgresql: Engine) -> None:
    claim(postgresql, ALPHA, state=LOCAL)
    with pytest.raises(HomeRefused) as refused:
        claim(postgresql, BETA, state=HTTP)
    told = str(refused.value)
    assert "both PostgreSQL and the `http` state backend" in told
    assert "what is missing: Terraform's states in it (they are `local` to that home)" in told
    assert members(postgresql) == ["home-1"]


def test_a_home_that_is_set_to_files_is_kept_out(postgresql: Engine) -> None:
    claim(postgresql, ALPHA)
    with pytest.raises(HomeRefused, match=r"what is missing: the setting terraform.state = `http` here"):
        claim(postgresql, BETA, state=LOCAL)


def test_sqlite_is_for_one_home_wherever_the_states_are(wiped_database: Callable[[str], str]) -> None:
    engine = build_engine(wiped_database("sqlite"))
    claim(engine, ALPHA)
    with pytest.raises(HomeRefused, match=r"what is missing: PostgreSQL as the database \(this one is sqlite\)"):
        claim(engine, BETA)
    assert members(engine) == ["home-1"]
    engine.dispose()


def test_other_keys_are_refused_with_the_files_to_copy(postgresql: Engine) -> None:
    claim(postgresql, ALPHA)
    with pytest.raises(HomeRefused) as refused:
        claim(postgresql, BETA, keys="others")
    told = str(refused.value)
    assert "/var/lib/kedge on alpha" in told
    assert all(
        name in told for name in ("installation-id", "server-key", "token", "agent-url", "ca-key.pem", "home-id")
    )
    assert members(postgresql) == ["home-1"]


def test_another_installation_is_refused(postgresql: Engine) -> None:
    claim(postgresql, ALPHA)
    with pytest.raises(HomeRefused, match="it would take them for a stranger's"):
        claim(postgresql, replace(BETA, installation_id="installation-2"))


def test_keys_that_nobody_has_on_record_are_not_taken_for_the_same(postgresql: Engine) -> None:
    claim(postgresql, ALPHA, keys="")
    with pytest.raises(HomeRefused, match="start a server of that home once"):
        claim(postgresql, BETA)
    claim(postgresql, ALPHA)
    assert claim(postgresql, BETA)


def test_keys_are_changed_in_all_homes_one_after_the_other_while_nobody_leads(postgresql: Engine) -> None:
    claim(postgresql, ALPHA)
    claim(postgresql, BETA)
    leases = SqlLeaseStore(postgresql, longest_call_s=10)
    lease = leases.acquire("converge", "alpha:1:aa", term_s=30)
    assert lease is not None
    with pytest.raises(HomeRefused, match="holds the lease"):
        claim(postgresql, ALPHA, keys="new")
    leases.release(lease)
    claim(postgresql, ALPHA, keys="new")
    claim(postgresql, ALPHA, keys="new")
    with pytest.raises(HomeRefused, match="different keys"):
        claim(postgresql, BETA)
    assert leases.acquire("converge", "alpha:2:bb", term_s=30)
    claim(postgresql, BETA, keys="new")


def test_all_homes_tell_vms_one_address(postgresql: Engine) -> None:
    for home in (ALPHA, BETA):
        claim(postgresql, home)
        agree_on_agent_url(postgresql, home.home_id, URL)
    with pytest.raises(HomeRefused, match=r"same\s+host and port"):
        agree_on_agent_url(postgresql, BETA.home_id, "http://127.0.0.1:9999")
    assert {member.agent_url for member in homes_of(postgresql)} == {URL}


def test_a_lone_home_may_change_what_it_tells(engine: Engine) -> None:
    claim(engine, ALPHA, state=LOCAL)
    for url in (URL, "http://127.0.0.1:9999"):
        agree_on_agent_url(engine, ALPHA.home_id, url)
    assert homes_of(engine)[0].agent_url == "http://127.0.0.1:9999"


def test_a_home_leaves_and_the_first_one_stays(postgresql: Engine) -> None:
    claim(postgresql, ALPHA)
    claim(postgresql, BETA)
    leave(postgresql, BETA.home_id)
    leave(postgresql, ALPHA.home_id)
    assert members(postgresql) == ["home-1"]


def test_a_home_does_not_join_where_clusters_are_processes_of_another(postgresql: Engine) -> None:
    house = House()
    house.apply()
    claim(postgresql, ALPHA)
    claim(postgresql, BETA)
    with pytest.raises(HomeRefused, match="orders live in the `local` cloud"):
        refuse_beside_local(postgresql, BETA.home_id, [house.view()])
    assert members(postgresql) == ["home-1"]
    deleted = changed_view(house.view(), deleted=True)
    refuse_beside_local(postgresql, BETA.home_id, [deleted])


def test_the_local_cloud_is_for_one_home() -> None:
    homes = [1]
    clouds = SharedClouds({"local": FakeCloud(), "elsewhere": FakeCloud()}.__getitem__, lambda: homes[0])
    assert clouds("local")
    homes[0] = 2
    assert clouds("elsewhere")
    with pytest.raises(PlaceUnknown, match="2 homes share this database"):
        clouds("local")


def test_what_stands_for_the_keys_tells_nothing_of_them_and_changes_with_each() -> None:
    key = b"a server's key"
    prints = {keys_print(key, ""), keys_print(key, "ab"), keys_print(b"another", "")}
    assert len(prints) == 3
    assert keys_print(key, "ab") == keys_print(key, "ab")
    assert not any(key.hex() in text for text in prints)


def test_who_takes_over_the_first_home_needs_the_keys_of_those_that_are_left(postgresql: Engine) -> None:
    claim(postgresql, ALPHA)
    claim(postgresql, BETA)
    with pytest.raises(HomeRefused, match="different keys"):
        claim_home(postgresql, GAMMA, take_over=True, state=HTTP, keys_print="others")
    claim_home(postgresql, GAMMA, take_over=True, state=HTTP, keys_print="same")
    assert members(postgresql) == ["home-3", "home-2"]
