"""Tokens of people's programs: never more than their maker may, and over when the maker is."""

from contextlib import suppress
from datetime import timedelta
from itertools import product

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.accounts import SignInRefused, UserRefused
from controlplane.api.access.bindings import Binding
from controlplane.api.access.oidc_users import OidcPerson
from controlplane.api.access.passwords import neighbourhood
from controlplane.api.access.rights import Rights, rights_of
from controlplane.api.access.roles import ALLOWS, Role, Verb
from controlplane.api.audit.store import AuditFilter
from controlplane.api.auth import cookie_name
from controlplane.api.bearers import Bearers
from controlplane.api.call_rates import BURST, PER_S, CallRates
from controlplane.api.portal_access import Door, at_door
from controlplane.api.problems import ApiError
from tests.fakes.asking import Asker
from tests.unit.controlplane.api.portal_house import PORT, TOKEN, House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

ADMIN = Binding("", Role.ADMIN, "*")


def token_of(house: House, *bindings: Binding, role: str = "admin", scope: str = "*", name: str = "ada") -> str:
    """A token somebody made on their account page."""
    browser = house.browser(name, *bindings)
    made = browser.post("/account/tokens", data={"label": "ci", "role": role, "scope": scope, "days": "30"})
    assert made.status_code == 200, made.text
    return made.text.partition('id="made">')[2].partition("<")[0]


def program(house: House, token: str) -> TestClient:
    return house.client_with({"Authorization": f"Bearer {token}"})


def test_a_token_does_what_its_role_and_scope_leave_and_the_history_names_its_maker() -> None:
    house = house_with_orders()
    ours = program(house, token_of(house, ADMIN, role="operator", scope="cluster:orders"))
    assert ours.get("/v1/whoami").json()["limit"] == {
        "subject": "user:ada",
        "role": "operator",
        "scope": "cluster:orders",
    }
    paused = ours.post("/v1/clusters/orders/pause", json={"reason": "x"}, headers={"X-Kedge-Actor": "eve"})
    assert paused.status_code == 200
    (last,) = house.store.read_all(house.store.head() - 1)
    assert last.actor == "person:ada", "what a header says counts for nobody who has a name"
    assert ours.post("/v1/clusters/orders/delete", json={"confirm": "orders"}).status_code == 403
    assert ours.get("/v1/users").status_code == 403
    assert ours.post("/v1/backup", json={"path": "/x"}).status_code == 403


@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/policies", "/v1/networks"])
def test_what_is_no_clusters_is_told_to_whoever_has_some_role_and_not_to_who_has_none(path: str) -> None:
    house = house_with_orders()
    assert program(house, token_of(house, name="nob")).get(path).status_code == 403
    viewer = Binding("", Role.VIEWER, "team:search")
    assert program(house, token_of(house, viewer, name="vic")).get(path).status_code == 200


def test_a_token_sees_nothing_outside_its_scope() -> None:
    house = house_with_orders()
    theirs = program(house, token_of(house, ADMIN, role="viewer", scope="team:search"))
    assert theirs.get("/v1/clusters").json() == []
    assert theirs.get("/v1/clusters/orders").status_code == 404


def test_a_role_bound_to_a_token_widens_it_up_to_what_its_maker_may() -> None:
    house = house_with_orders()
    token = token_of(house, Binding("", Role.OWNER, "team:payments"), role="viewer", scope="cluster:orders")
    subject = f"token:{token.split('_')[1]}"
    ours, pause = program(house, token), {"reason": "x"}
    assert ours.post("/v1/clusters/orders/pause", json=pause).status_code == 403
    given = {"subject": subject, "role": "admin", "scope": "*"}
    assert house.client.post("/v1/bindings", json=given).json() == {"changed": True}
    assert ours.post("/v1/clusters/orders/pause", json=pause).status_code == 200
    assert ours.get("/v1/whoami").json()["granted"] == [given]
    assert ours.get("/v1/users").status_code == 403, "its maker is not an administrator"
    assert ours.post("/v1/tokens", json={"label": "x", "role": "viewer", "scope": "*", "days": 1}).status_code == 403
    assert house.client.post("/v1/bindings/remove", json=given).json() == {"changed": True}
    assert ours.post("/v1/clusters/orders/pause", json=pause).status_code == 403


def test_a_role_bound_to_a_token_of_the_installation_counts_and_opens_nothing_for_other_tokens() -> None:
    house = house_with_orders()
    wanted = {"label": "ci", "role": "viewer", "scope": "cluster:other", "days": 1}
    one, other = (house.client.post("/v1/tokens", json=wanted).json() for _ in range(2))
    subject = f"token:{one['token']['id']}"
    house.client.post("/v1/bindings", json={"subject": subject, "role": "viewer", "scope": "cluster:orders"})
    assert [c["name"] for c in program(house, one["text"]).get("/v1/clusters").json()] == ["orders"]
    assert program(house, other["text"]).get("/v1/clusters").json() == []
    rights = house.services.access.people.rights_now("token:ci", subject, house.now)
    assert rights is not None
    assert rights.may_on(Verb.READ, house.view()), "a proposal it made is judged by the same"


def test_a_role_is_given_to_tokens_in_force_alone() -> None:
    house = house_with_orders()
    given = {"role": "viewer", "scope": "*"}
    assert house.client.post("/v1/bindings", json={"subject": "token:0123456789ab", **given}).status_code == 422
    assert house.client.post("/v1/bindings", json={"subject": "token:ci", **given}).status_code == 422
    over = token_of(house, ADMIN).split("_")[1]
    browser = house.browser("bob", ADMIN)
    assert browser.post("/people/bind", data={"name": f"token:{over}", **given}).status_code == 303
    assert f"token:{over}" in browser.get("/people").text
    house.client.post(f"/v1/tokens/{over}/revoke")
    refused = browser.post("/people/bind", data={"name": f"token:{over}", **given})
    assert (refused.status_code, "not a token in force" in refused.text) == (422, True)


def test_a_token_loses_at_once_what_its_maker_loses() -> None:
    house = house_with_orders()
    ours = program(house, token_of(house, ADMIN))
    assert ours.get("/v1/users").status_code == 200
    house.services.access.people.users.unbind(Binding("user:ada", Role.ADMIN, "*"))
    assert ours.get("/v1/users").status_code == 403
    assert ours.get("/v1/clusters").json() == []


@pytest.mark.parametrize("end", ["disabled", "removed", "revoked", "expired"])
def test_a_token_is_dead_when_its_maker_is_gone_or_it_is_over(end: str) -> None:
    house = house_with_orders()
    text = token_of(house, ADMIN)
    house.browser("zoe", ADMIN)
    ours, people = program(house, text), house.services.access.people
    assert ours.get("/v1/clusters").status_code == 200
    if end == "disabled":
        people.disable("ada", disabled=True)
    elif end == "removed":
        people.remove("ada")
    elif end == "revoked":
        people.tokens.revoke(text.split("_")[1], house.now)
    else:
        house.pass_time(days=30)
    assert ours.get("/v1/clusters").status_code == 401
    if end == "disabled":
        people.disable("ada", disabled=False)
        assert ours.get("/v1/clusters").status_code == 200
    if end == "removed":
        house.browser("ada", ADMIN)
        assert ours.get("/v1/clusters").status_code == 401, "who gets the name later gets no tokens with it"


CASES = list(product(Role, Role))


@pytest.mark.parametrize(("maker", "limit"), CASES)
def test_the_rights_of_a_token_are_those_both_have(maker: Role, limit: Role) -> None:
    house = house_with_orders()
    view = house.view()
    bindings = [Binding("user:ada", maker, "team:payments")]
    full, cut = rights_of("user:ada", bindings), Rights("user:ada", tuple(bindings), limit=Binding("", limit, "*"))
    assert {v for v in Verb if cut.may_on(v, view)} == ALLOWS[maker] & ALLOWS[limit]
    assert {v for v in Verb if cut.may_on(v, view)} <= {v for v in Verb if full.may_on(v, view)}
    assert not any(cut.may_everywhere(v) for v in Verb), "the maker has it on one team"


@pytest.mark.parametrize(
    ("scope", "may"),
    [
        ("*", True),
        ("cluster:orders", True),
        ("label:env=prod", True),
        ("cluster:ledger", False),
        ("team:search", False),
    ],
)
def test_the_scope_of_a_token_narrows_the_makers(scope: str, may: bool) -> None:
    view = house_with_orders().view()
    rights = Rights("user:ada", (Binding("user:ada", Role.OWNER, "*"),), limit=Binding("", Role.OWNER, scope))
    assert rights.may_on(Verb.DELETE, view) is may
    assert rights.may_everywhere(Verb.DELETE) is (scope == "*")


def test_a_token_makes_no_token_and_the_homes_token_does() -> None:
    house = House()
    wanted = {"label": "ci", "role": "viewer", "scope": "*", "days": 1}
    refused = program(house, token_of(house, ADMIN)).post("/v1/tokens", json=wanted)
    assert (refused.status_code, refused.json()["title"]) == (403, "a token makes no token")
    made = house.client.post("/v1/tokens", json=wanted).json()
    told = program(house, made["text"]).get("/v1/whoami").json()
    assert (told["subject"], told["via"]) == ("token:ci", f"token:{made['token']['id']}")
    assert program(house, made["text"]).post("/v1/users", json={"name": "eve"}).status_code == 403


@pytest.mark.parametrize(
    "wrong", [{"label": "\n"}, {"role": "king"}, {"scope": "mars"}, {"days": 0}, {"days": 400}, {"days": -1}]
)
def test_a_token_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    house = House()
    wanted = {"label": "ci", "role": "viewer", "scope": "*", "days": 1, **wrong}
    assert house.client.post("/v1/tokens", json=wanted).status_code == 422
    assert house.services.access.people.tokens.all() == []


def test_one_sees_and_revokes_ones_own_tokens_and_administrators_all() -> None:
    house = House()
    adas = token_of(house, ADMIN, name="ada")
    bobs = token_of(house, Binding("", Role.VIEWER, "*"), role="viewer", name="bob")
    ids = {"ada": adas.split("_")[1], "bob": bobs.split("_")[1]}
    bob = program(house, bobs)
    assert [t["id"] for t in bob.get("/v1/tokens").json()] == [ids["bob"]]
    assert bob.get("/v1/tokens?everyone=true").status_code == 403
    assert bob.post(f"/v1/tokens/{ids['ada']}/revoke").status_code == 404
    assert len(house.client.get("/v1/tokens?everyone=true").json()) == 2
    assert house.client.post(f"/v1/tokens/{ids['ada']}/revoke").json() == {"changed": True}
    assert program(house, adas).get("/v1/clusters").status_code == 401
    assert bob.post(f"/v1/tokens/{ids['bob']}/revoke").json() == {"changed": True}


def test_a_token_of_somebody_of_the_provider_has_their_groups_and_works_while_that_is_fresh() -> None:
    house = house_with_orders()
    people = house.services.access.people
    ada = OidcPerson("ada@example.com", "sub", ("platform",), house.now, house.now)
    people.sign_in_oidc(ada, house.now, life=timedelta(hours=1))
    people.users.bind(Binding("group:platform", Role.ADMIN, "*"))
    rights = people._rights("oidc:ada@example.com", via="session")
    assert rights is not None
    life = timedelta(days=60)
    text, _ = people.make_token(rights, label="ci", role=Role.OPERATOR, scope="*", life=life, now=house.now)
    ours = program(house, text)
    assert len(ours.get("/v1/clusters").json()) == 1
    assert ours.post("/v1/clusters/orders/pause", json={"reason": "x"}).status_code == 200
    (last,) = house.store.read_all(house.store.head() - 1)
    assert last.actor == "person:oidc:ada@example.com"
    house.pass_time(days=8)
    assert ours.get("/v1/clusters").status_code == 401, "nobody has told for a week that they are still there"
    back = OidcPerson("ada@example.com", "sub", (), house.now, house.now)
    people.sign_in_oidc(back, house.now, life=timedelta(hours=1))
    assert ours.get("/v1/clusters").json() == [], "without the group there is nothing left of it"
    people.disable("oidc:ada@example.com", disabled=True)
    assert ours.get("/v1/clusters").status_code == 401


def test_a_session_by_the_provider_ends_after_its_time_and_not_by_use() -> None:
    house = House()
    ada = OidcPerson("ada@example.com", "sub", (), house.now, house.now)
    cookie, _ = house.services.access.people.sign_in_oidc(ada, house.now, life=timedelta(hours=1))
    browser = house.client_with({"Accept": "text/html"})
    browser.follow_redirects = False
    browser.cookies.set(cookie_name("inst"), cookie)
    house.pass_time(minutes=59)
    assert browser.get("/account").status_code == 200
    house.pass_time(minutes=1)
    assert browser.get("/account").status_code == 303


def test_wrong_tokens_make_their_address_wait_and_lock_nobody_out() -> None:
    house = House()
    good, fresh = token_of(house, ADMIN), token_of(house, ADMIN, name="bob")
    assert program(house, good).get("/v1/whoami").status_code == 200
    wrong = program(house, f"kedge_{'0' * 12}_{'x' * 43}")
    assert [wrong.get("/v1/whoami").status_code for _ in range(21)] == [401] * 20 + [429]
    told = wrong.get("/v1/whoami")
    assert 1 <= int(told.headers["retry-after"]) <= 2
    assert program(house, good).get("/v1/whoami").status_code == 200, "it was right before"
    assert house.client.get("/v1/whoami").status_code == 200, "nor does the home's wait"
    for _ in range(21):
        wrong.get("/v1/whoami")
    assert program(house, fresh).get("/v1/whoami").status_code == 429
    house.pass_time(minutes=6)
    assert program(house, fresh).get("/v1/whoami").status_code == 200


def at(house: House, door: Door, **headers: str) -> TestClient:
    base = {Door.PEOPLE: "https://kedge.example.com", Door.AGENTS: "https://agents.example.com"}
    url = base.get(door, f"http://127.0.0.1:{PORT}")
    return Asker(
        at_door(house.app, door), base_url=url, headers=headers, raise_server_exceptions=False, follow_redirects=False
    )


@pytest.fixture
def elsewhere() -> House:
    house = House(public_hosts=frozenset({"kedge.example.com", "kedge.example.com:8444"}))
    return house


def test_off_loopback_a_person_comes_in_by_their_own_token_and_never_by_the_homes(elsewhere: House) -> None:
    token = token_of(elsewhere, ADMIN)
    assert at(elsewhere, Door.PEOPLE, Authorization=f"Bearer {token}").get("/v1/whoami").status_code == 200
    assert at(elsewhere, Door.PEOPLE, Authorization=f"Bearer {TOKEN}").get("/v1/whoami").status_code == 401
    assert at(elsewhere, Door.PEOPLE).get("/v1/whoami").status_code == 401


@pytest.mark.parametrize("path", ["/agent/v1/document", "/agent/v1/enrol", "/agent/v1/ca", "/terraform/v1/states/x/y"])
def test_neither_agents_nor_states_are_served_to_people_elsewhere(elsewhere: House, path: str) -> None:
    assert at(elsewhere, Door.PEOPLE, Authorization=f"Bearer {TOKEN}").get(path).status_code == 403


@pytest.mark.parametrize("path", ["/", "/login", "/v1/whoami", "/terraform/v1/states/x/y", "/healthz", "/readyz"])
def test_nothing_but_agents_is_served_at_the_agents_door(elsewhere: House, path: str) -> None:
    assert at(elsewhere, Door.AGENTS, Authorization=f"Bearer {TOKEN}").get(path).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:8428", "kedge.example.com.evil.example", ""])
def test_off_loopback_only_listed_names_are_answered_to(elsewhere: House, host: str) -> None:
    assert at(elsewhere, Door.PEOPLE).get("/login", headers={"Host": host}).status_code == 421
    assert at(elsewhere, Door.PEOPLE).get("/login", headers={"Host": "kedge.example.com:8444"}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8428", "kedge.example.com", "127.0.0.1"])
def test_on_loopback_a_name_that_was_made_to_point_here_is_not_answered_to(elsewhere: House, host: str) -> None:
    assert at(elsewhere, Door.LOOPBACK).get("/login", headers={"Host": host}).status_code == 421


def test_off_loopback_a_page_of_another_site_is_refused_and_browsers_are_told_to_stay_on_tls(elsewhere: House) -> None:
    people = at(elsewhere, Door.PEOPLE)
    for origin in ("https://evil.example", "http://kedge.example.com", "null"):
        assert people.post("/logout", headers={"Origin": origin}).status_code == 403, origin
    assert people.get("/login").headers["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" not in at(elsewhere, Door.LOOPBACK).get("/login").headers


def test_off_loopback_cookies_go_over_tls_only(elsewhere: House) -> None:
    password = elsewhere.services.access.people.first_password(elsewhere.now)
    people = at(elsewhere, Door.PEOPLE, Accept="text/html")
    form = people.get("/login")
    token = form.text.partition('name="token" value="')[2].partition('"')[0]
    signed_in = people.post("/login", data={"name": "admin", "password": password, "token": token})
    assert signed_in.status_code == 303
    given = [c for a in (form, signed_in) for c in a.headers.get_list("set-cookie") if "Max-Age=0" not in c]
    assert len(given) == 2
    assert all("Secure" in cookie and "HttpOnly" in cookie for cookie in given)


def test_a_disabled_user_does_not_sign_in() -> None:
    house = House()
    people = house.services.access.people
    password = people.first_password(house.now)
    house.browser("zoe", ADMIN)
    people.disable("admin", disabled=True)
    with pytest.raises(Exception, match="do not go together"):
        people.sign_in("admin", password, house.now)


def test_of_a_person_of_the_provider_who_was_not_seen_for_long_nothing_counts_that_was_asked_for_then() -> None:
    house = House()
    people = house.services.access.people
    people.sign_in_oidc(OidcPerson("ada", "sub", ("admins",), house.now, house.now), house.now, life=timedelta(hours=1))
    people.users.bind(Binding("group:admins", Role.ADMIN, "*"))
    known = people.rights_now("oidc:ada", "session", house.now + people.oidc_trust)
    assert known is not None
    assert known.may_everywhere(Verb.ADMINISTER)
    assert people.rights_now("oidc:ada", "session", house.now + people.oidc_trust + timedelta(seconds=1)) is None


def test_one_password_on_many_names_makes_the_address_wait() -> None:
    house = House()
    people = house.services.access.people
    password = people.first_password(house.now)
    for number in range(51):
        with pytest.raises(Exception, match=r"do not go together|wait"):
            people.sign_in(f"user{number}", "summer of 2026", house.now, client="10.0.0.9")
    with pytest.raises(Exception, match="wait"):
        people.sign_in("admin", password, house.now, client="10.0.0.9")
    assert people.sign_in("admin", password, house.now, client="10.0.0.7")


def test_all_addresses_of_one_network_of_ipv6_are_counted_as_one() -> None:
    house = House()
    people = house.services.access.people
    password = people.first_password(house.now)
    for number in range(51):
        with pytest.raises(Exception, match=r"do not go together|wait"):
            people.sign_in(f"user{number}", "summer of 2026", house.now, client=f"2001:db8:0:1::{number:x}")
    with pytest.raises(Exception, match="wait"):
        people.sign_in("admin", password, house.now, client="2001:db8:0:1:ffff::1")
    assert people.sign_in("admin", password, house.now, client="2001:db8:0:2::1")
    bearers = Bearers(people, house.services.access.installation.token)
    for number in range(21):
        with suppress(ApiError):
            bearers.rights("wrong", door=Door.PEOPLE, client=f"2001:db8:0:3::{number:x}", now=house.now)
    with pytest.raises(ApiError):
        bearers.rights("wrong", door=Door.PEOPLE, client="2001:db8:0:3:1::", now=house.now)
    assert bearers.rights("wrong", door=Door.PEOPLE, client="2001:db8:0:4::", now=house.now) is None


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.0.0.9", "10.0.0.9"),
        ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.0.0.9", "10.0.0.9"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_an_address_is_counted_with_its_neighbourhood(address: str, counted: str) -> None:
    assert neighbourhood(address) == counted


def test_guesses_from_elsewhere_lock_nobody_out_of_where_they_came_in_before() -> None:
    house = House()
    people = house.services.access.people
    password = people.first_password(house.now)

    def tries(guess: str, client: str) -> object:
        return people.sign_in("admin", guess, house.now, client=client)

    tries(password, "10.0.0.1")
    for number in range(40):
        with pytest.raises(SignInRefused):
            tries("wrong wrong wrong", f"10.0.{number}.9")
    with pytest.raises(SignInRefused, match="wait"):
        tries(password, "10.0.0.2")
    _, session = people.sign_in("admin", password, house.now, client="10.0.0.1")
    for _ in range(6):
        with pytest.raises(SignInRefused):
            tries("wrong wrong wrong", "10.0.0.1")
    with pytest.raises(SignInRefused, match="wait"):
        tries(password, "10.0.0.1")
    assert people.change_password(session, password, "a long and new one", house.now)


def test_a_token_may_call_so_often_and_then_so_many_times_a_second() -> None:
    rates, now = CallRates(), House().now
    assert {rates.wait_s("token:1", now) for _ in range(BURST)} == {0.0}
    assert rates.wait_s("token:1", now) == pytest.approx(1 / PER_S)
    assert rates.wait_s("token:2", now) == 0.0, "another one has calls of its own"
    later = now + timedelta(seconds=2)
    assert [rates.wait_s("token:1", later) for _ in range(101)].count(0.0) == 2 * PER_S
    assert rates.wait_s("token:1", now) > 0.0, "a clock that was set back gives nothing"


def test_a_token_that_calls_too_often_is_told_when_to_come_back_and_the_audit_is_not_filled_with_it() -> None:
    house = house_with_orders()
    ours = program(house, token_of(house, ADMIN))
    ids = {ours.get("/v1/whoami").json()["via"]}
    answers = [ours.get("/v1/whoami").status_code for _ in range(BURST + 50)]
    assert (answers.count(200), answers.count(429)) == (BURST - 1, 51)
    told = ours.get("/v1/whoami")
    assert (told.json()["code"], told.headers["retry-after"]) == ("too-many-calls", "1")
    noted = [kept for kept in house.audit.page(AuditFilter(), 200) if kept.entry.status == 429]
    assert len(noted) == 30, "so many a minute, as of strangers"
    assert {kept.entry.via for kept in noted} == ids
    assert house.client.get("/v1/whoami").status_code == 200, "the home's own has no such end"
    house.pass_time(seconds=1)
    assert ours.get("/v1/whoami").status_code == 200


def test_the_last_administrator_locks_nobody_out_by_the_api_either() -> None:
    house = House()
    ada = program(house, token_of(house, ADMIN))
    mine = {"subject": "user:ada", "role": "admin", "scope": "*"}
    last = [("POST", "/v1/users/ada/disable", None), ("DELETE", "/v1/users/ada", None)]
    last += [("POST", "/v1/bindings/remove", mine)]  # type: ignore[list-item]
    ada.post("/v1/users", json={"name": "bob"})
    ada.post("/v1/bindings", json={"subject": "user:bob", "role": "admin", "scope": "team:payments"})
    ada.post("/v1/bindings", json={"subject": "group:nobody-yet", "role": "admin", "scope": "*"})
    for method, path, body in last:
        refused = ada.request(method, path, json=body)
        assert (refused.status_code, "the last administrator" in refused.json()["title"]) == (422, True), path
    ada.post("/v1/bindings", json={"subject": "user:bob", "role": "admin", "scope": "*"})
    ada.post("/v1/users/bob/disable")
    assert ada.post("/v1/bindings/remove", json=mine).status_code == 422, "who may not come in is not a help"
    ada.post("/v1/users/bob/enable")
    assert ada.post("/v1/bindings/remove", json=mine).json()["changed"]


def test_somebody_of_a_group_of_administrators_is_one() -> None:
    house = House()
    people = house.services.access.people
    house.browser("ada", ADMIN)
    people.sign_in_oidc(OidcPerson("bea", "sub", ("admins",), house.now, house.now), house.now, life=timedelta(hours=1))
    people.bind(Binding("group:admins", Role.ADMIN, "*"))
    assert people.remove("ada")
    with pytest.raises(UserRefused, match="the last administrator"):
        people.unbind(Binding("group:admins", Role.ADMIN, "*"))
    with pytest.raises(UserRefused, match="oidc:bea is the last"):
        people.disable("oidc:bea", disabled=True)
