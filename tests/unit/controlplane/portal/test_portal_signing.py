"""Signing in and out: sessions on the server, tokens in forms, and what a cookie does not open."""

import re

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.accounts import FIRST_USER
from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.auth import cookie_name
from tests.unit.controlplane.api.portal_house import PORT, TOKEN, House
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES, filled
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

ADMIN = Binding("", Role.ADMIN, "*")
COOKIE = cookie_name("inst")


@pytest.fixture
def house() -> House:
    return House()


def stranger(house: House) -> TestClient:
    client = house.client_with({"Accept": "text/html"})
    client.follow_redirects = False
    return client


def sign_in(client: TestClient, name: str, password: str, **fields: str):  # type: ignore[no-untyped-def]
    token = re.search(r'name="token" value="(\w+)"', client.get("/login").text)
    assert token is not None
    form = {"name": name, "password": password, "token": token[1], **fields}
    return client.post("/login", data=form, headers={"Origin": f"http://127.0.0.1:{PORT}"})


def test_the_first_password_is_made_once_and_opens_everything(house: House) -> None:
    password = house.services.access.people.first_password(house.now)
    assert len(password) == 29
    assert house.services.access.people.first_password(house.now) == ""
    browser = stranger(house)
    answer = sign_in(browser, FIRST_USER, password)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "People" in browser.get("/").text
    assert "made by the server" in browser.get("/account").text


def test_the_password_is_stored_as_an_argon2_hash(house: House) -> None:
    password = house.services.access.people.first_password(house.now)
    (user,) = house.services.access.people.users.all()
    assert user.password_hash.startswith("$argon2id$")
    assert password not in user.password_hash
    assert user.password_hash not in repr(user)


def test_the_cookie_is_kept_from_scripts_and_from_other_sites_and_is_not_what_is_stored(house: House) -> None:
    password = house.services.access.people.first_password(house.now)
    answer = sign_in(stranger(house), FIRST_USER, password)
    given = next(c for c in answer.headers.get_list("set-cookie") if c.startswith(COOKIE))
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(given.split("; "))
    cookie = given.split(";")[0].removeprefix(f"{COOKIE}=")
    assert house.services.access.people.sessions.get(cookie) is None
    assert house.services.access.people.recognise(cookie, house.now) is not None


def test_a_sign_in_begins_a_new_session_whatever_the_browser_came_with(house: House) -> None:
    password = house.services.access.people.first_password(house.now)
    browser = stranger(house)
    browser.cookies.set(COOKIE, "planted")
    sign_in(browser, FIRST_USER, password)
    assert browser.cookies.get(COOKIE, domain="127.0.0.1") not in (None, "planted")
    assert house.services.access.people.recognise("planted", house.now) is None


def test_a_wrong_password_and_an_unknown_name_are_told_alike(house: House) -> None:
    house.services.access.people.first_password(house.now)
    wrong = sign_in(stranger(house), FIRST_USER, "x" * 20)
    unknown = sign_in(stranger(house), "nobody", "x" * 20)
    assert (wrong.status_code, unknown.status_code) == (422, 422)
    assert "do not go together" in wrong.text
    assert "do not go together" in unknown.text


def test_guessing_takes_longer_and_longer_and_the_right_password_waits_too(house: House) -> None:
    password = house.services.access.people.first_password(house.now)
    for _ in range(6):
        sign_in(stranger(house), FIRST_USER, "wrong wrong wrong")
    assert "wait" in sign_in(stranger(house), FIRST_USER, password).text
    house.pass_time(minutes=6)
    assert sign_in(stranger(house), FIRST_USER, password).status_code == 303


def test_a_login_form_of_another_browser_signs_nobody_in(house: House) -> None:
    password = house.services.access.people.first_password(house.now)
    token = re.search(r'name="token" value="(\w+)"', stranger(house).get("/login").text)
    assert token is not None
    form = {"name": FIRST_USER, "password": password, "token": token[1]}
    answer = stranger(house).post("/login", data=form)
    assert (answer.status_code, COOKIE in answer.headers.get("set-cookie", "")) == (422, False)


@pytest.mark.parametrize(
    "wanted", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "evil", "/a\r\nb"]
)
def test_a_sign_in_leads_to_no_other_site(house: House, wanted: str) -> None:
    password = house.services.access.people.first_password(house.now)
    assert sign_in(stranger(house), FIRST_USER, password, next=wanted).headers["location"] == "/"


def test_a_sign_in_leads_on_to_the_page_that_was_asked_for(house: House) -> None:
    password = house.services.access.people.first_password(house.now)
    browser = stranger(house)
    sent = browser.get("/clusters/orders?x=1")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/clusters/orders%3Fx%3D1")
    assert sign_in(browser, FIRST_USER, password, next="/clusters/orders?x=1").headers["location"] == (
        "/clusters/orders?x=1"
    )


def test_signing_out_ends_the_session_on_the_server(house: House) -> None:
    browser = house.browser("ada", ADMIN)
    cookie = browser.cookies[COOKIE]
    answer = browser.post("/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    browser.cookies.set(COOKIE, cookie)
    assert browser.get("/").status_code == 303


@pytest.mark.parametrize("by", [{"hours": 8}, {"hours": 24}])
def test_a_session_ends_by_itself(house: House, by: dict[str, float]) -> None:
    browser = house.browser("ada", ADMIN)
    house.pass_time(**by)
    assert browser.get("/").headers["location"] == "/login"


def test_a_session_in_use_goes_on_until_a_day_is_over(house: House) -> None:
    browser = house.browser("ada", ADMIN)
    for _ in range(3):
        house.pass_time(hours=7)
        assert browser.get("/").status_code == 200
    house.pass_time(hours=7)
    assert browser.get("/").status_code == 303


def test_htmx_is_sent_to_the_login_page_when_the_session_is_over(house: House) -> None:
    client = house.client_with({"HX-Request": "true", "HX-Current-URL": f"http://127.0.0.1:{PORT}/clusters/orders"})
    answer = client.get("/clusters/orders/brokers")
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/login?next=/clusters/orders")


@pytest.mark.parametrize("shown", ["", "wrong"])
def test_no_unsafe_page_does_anything_without_the_token_of_its_session(shown: str) -> None:
    house = house_with_orders()
    head, browser = house.store.head(), house.browser("ada", ADMIN, csrf=False)
    for path in (p for m, p in PAGE_ROUTES if m == "POST"):
        answer = browser.post(filled(path), data={"csrf": shown} if shown else {})
        assert (answer.status_code, "not of your session" in answer.text) == (403, True), path
    assert house.store.head() == head
    assert browser.get("/").status_code == 200, "nobody is signed out by it"


def test_a_form_without_javascript_carries_the_token_as_a_field() -> None:
    house = house_with_orders()
    browser = house.browser("ada", ADMIN, csrf=False)
    token = re.search(r'name="csrf" value="([\w-]+)"', browser.get("/clusters/orders").text)
    assert token is not None
    answer = browser.post("/clusters/orders/pause", data={"csrf": token[1], "reason": "freeze"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/clusters/orders")
    (last,) = house.store.read_all(house.store.head() - 1)
    assert (last.type, last.actor, last.data["reason"]) == ("cluster.paused", "person:ada", "freeze")


def test_the_token_of_another_session_does_nothing(house: House) -> None:
    ada, eve = house.browser("ada", ADMIN, csrf=False), house.browser("eve", ADMIN)
    assert ada.post("/logout", headers={"X-CSRF-Token": eve.headers["X-CSRF-Token"]}).status_code == 403


def test_a_page_of_another_site_is_refused_whatever_it_shows(house: House) -> None:
    browser = house.browser("ada", ADMIN)
    answer = browser.post("/logout", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert browser.get("/").status_code == 200


def test_a_cookie_opens_nothing_of_the_api(house: House) -> None:
    browser = house.browser("ada", ADMIN)
    assert browser.get("/v1/clusters").status_code == 401


def test_a_call_with_a_bearer_ignores_the_cookie(house: House) -> None:
    browser = house.browser("ada", ADMIN)
    assert browser.get("/account", headers={"Authorization": "Bearer wrong", "Accept": "*/*"}).status_code == 401
    told = browser.get("/account", headers={"Authorization": f"Bearer {TOKEN}"}).text
    assert "installation" in told
    assert ">ada<" not in told


def test_a_changed_password_ends_every_other_session(house: House) -> None:
    here, there = house.browser("ada", ADMIN), house.browser("ada", ADMIN)
    form = {"old": "a good password", "new": "another fine one", "again": "another fine one"}
    assert here.post("/account/password", data=form).status_code == 303
    assert there.get("/").status_code == 303
    assert here.get("/").status_code == 200


@pytest.mark.parametrize(
    ("old", "new", "again", "why"),
    [
        ("wrong", "another fine one", "another fine one", "another one"),
        ("a good password", "short", "short", "12 are the least"),
        ("a good password", "another fine one", "another fine two", "passwords differ"),
        ("a good password", "a good password", "a good password", "the old one"),
        ("a good password", "aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaa", "again and again"),
    ],
)
def test_a_password_is_refused_with_its_reason_beside_the_form(
    house: House, old: str, new: str, again: str, why: str
) -> None:
    answer = house.browser("ada", ADMIN).post("/account/password", data={"old": old, "new": new, "again": again})
    assert (answer.status_code, why in answer.text) == (422, True)


def test_a_removed_user_and_a_taken_role_count_from_the_next_request_on(house: House) -> None:
    ada = house.browser("ada", ADMIN)
    house.services.access.people.users.unbind(Binding("user:ada", Role.ADMIN, "*"))
    assert ada.get("/people").status_code == 403
    house.services.access.people.remove("ada")
    assert ada.get("/people").status_code == 303


def test_administrators_add_people_and_give_roles_but_never_lock_themselves_out(house: House) -> None:
    ada = house.browser("ada", ADMIN)
    made = ada.post("/people/add", data={"name": "bob"}).text
    password = re.search(r'id="made">([\w-]+)<', made)
    assert password is not None
    ada.post("/people/bind", data={"name": "bob", "role": "viewer", "scope": "team:payments"})
    assert sign_in(stranger(house), "bob", password[1]).status_code == 303
    assert ada.post("/people/bind", data={"name": "bob", "role": "king", "scope": "*"}).status_code == 422
    assert ada.post("/people/ada/remove").status_code == 422
    unbound = ada.post("/people/unbind", data={"name": "ada", "role": "admin", "scope": "*"})
    assert unbound.status_code == 422


def test_the_installations_token_makes_users_over_the_api(house: House) -> None:
    made = house.client.post("/v1/users", json={"name": "bob"}).json()
    assert sign_in(stranger(house), "bob", made["password"]).status_code == 303
    bound = {"subject": "user:bob", "role": "owner", "scope": "team:payments"}
    assert house.client.post("/v1/bindings", json=bound).json() == {"changed": True}
    assert house.client.get("/v1/users").json()[0]["bindings"] == [bound]
    renewed = house.client.post("/v1/users/bob/password").json()["password"]
    assert renewed != made["password"]
    assert house.client.post("/v1/bindings/remove", json=bound).json() == {"changed": True}
    assert house.client.delete("/v1/users/bob").json() == {"changed": True}
    assert house.client.post("/v1/users", json={"name": "Bob Smith"}).status_code == 422
