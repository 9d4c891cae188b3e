"""Every route: what changes something and what is denied is in the audit before anybody is answered. No secret is."""

from dataclasses import asdict
from typing import Any

from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role, Verb
from controlplane.api.audit.entry import Kept, Outcome
from controlplane.api.audit.store import AuditFilter
from controlplane.api.audit.writer import ASKS_ONLY, SAFE_METHODS, WORK_OF_MACHINES
from events.errors import StoreUnavailable
from tests.fakes.audit import MemoryAuditStore
from tests.unit.controlplane.api.portal_house import TOKEN, House
from tests.unit.controlplane.portal.page_routes import FORMS, KNOWN, PAGE_ROUTES, filled
from tests.unit.controlplane.portal.test_portal_auth_matrix import AGENT, OPEN, PAGE, PERSON, ROUTES, RUN
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_topics
from tests.unit.events.spec_texts import ORDERS

ADMIN, VIEWER = Binding("", Role.ADMIN, "*"), Binding("", Role.VIEWER, "*")
CHANGING = [key for key in ROUTES if key[0] not in SAFE_METHODS]
OF_PEOPLE = [key for key in CHANGING if ROUTES[key] in (PERSON, PAGE)]
ANSWERS_NO = {("POST", "/proposals/{number}/approve")}
"""Nothing was done, and it is no error: who asked for that may not come in. Of calls: `test_audit_of_refusals`."""
CANARY = "canary-5ecret-of-somebody"


def entries(house: House, **wanted: Any) -> list[Kept]:
    return list(house.services.access.audit.page(AuditFilter(**wanted), 1000))


def sent(caller: TestClient, house: House, method: str, path: str, **more: Any) -> tuple[int, list[Kept]]:
    before = len(entries(house))
    status = caller.request(method, filled(path), **more).status_code
    return status, entries(house)[: len(entries(house)) - before]


def test_every_call_that_changes_something_is_noted_once_with_who_and_what() -> None:
    house = house_with_topics()
    for number, (method, path) in enumerate(OF_PEOPLE):
        is_page = ROUTES[method, path] == PAGE
        caller = house.browser(f"ada{number}", ADMIN) if is_page else house.client
        status, noted = sent(caller, house, method, path, data=FORMS.get((method, path)))
        if path in ASKS_ONLY:
            assert noted == [], path
            continue
        (one,) = noted
        who = (f"user:ada{number}", "session") if is_page else ("installation", "home token")
        assert (one.entry.call, one.entry.status) == (f"{method} {filled(path)}", status)
        is_done = status < 400 and (method, path) not in ANSWERS_NO
        assert one.entry.outcome is (Outcome.DONE if is_done else Outcome.FAILED), path
        assert ((one.entry.who, one.entry.via), one.entry.client, one.entry.verb != "") == (who, "testclient", True)


def test_every_call_of_nobody_that_would_change_something_is_noted_as_denied() -> None:
    house = house_with_topics()
    for method, path in CHANGING:
        house.pass_time(minutes=6)
        stranger = house.client_with({"Authorization": f"Bearer {CANARY}"})
        status, noted = sent(stranger, house, method, path)
        if ROUTES[method, path] == OPEN:
            assert status == 422, "it proves itself by its body, and there is none"
            continue
        (one,) = noted
        who = "machine" if ROUTES[method, path] == AGENT else "nobody"
        denied_with = 403 if ROUTES[method, path] == RUN else 401
        assert (one.entry.outcome, one.entry.who, status) == (Outcome.DENIED, who, denied_with), path
        assert CANARY not in str(asdict(one))


def test_every_page_one_may_not_use_is_noted_as_denied_with_the_verb_it_takes() -> None:
    house = house_with_topics()
    viewer = house.browser("ada", VIEWER)
    for (method, path), verb in PAGE_ROUTES.items():
        if verb in (KNOWN, Verb.READ):
            continue
        status, noted = sent(viewer, house, method, path, data=FORMS.get((method, path)))
        (one,) = noted
        told = (status, one.entry.outcome, one.entry.who, one.entry.verb)
        assert told == (403, Outcome.DENIED, "user:ada", verb), path


def test_a_cluster_one_may_not_know_of_is_told_as_missing_and_noted_as_denied() -> None:
    house = house_with_topics()
    stranger = house.browser("eve", Binding("", Role.OWNER, "team:search"))
    for method, path in PAGE_ROUTES:
        if not path.startswith("/clusters/"):
            continue
        form = FORMS.get((method, path))
        status, noted = sent(stranger, house, method, path, data=form)
        (one,) = noted
        assert (status, one.entry.outcome, one.entry.object) == (404, Outcome.DENIED, "orders"), path
        status, noted = sent(stranger, house, method, path.replace("{name}", "nothing"), data=form)
        assert (status, len(noted)) == (404, method != "GET"), path
        assert all(kept.entry.outcome is Outcome.FAILED for kept in noted)


def test_looking_is_not_noted() -> None:
    house = house_with_topics()
    for method, path in ROUTES:
        if method == "GET" and ROUTES[method, path] in (PERSON, PAGE, OPEN):
            assert sent(house.client, house, method, path)[1] == [], path


def test_a_command_is_noted_with_its_place_in_the_log() -> None:
    house = house_with_topics()
    house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
    newest = entries(house)[0].entry
    assert (newest.verb, newest.object, newest.event_position) == ("steer", "orders", house.store.head())
    house.apply(ORDERS)
    assert entries(house)[0].entry.verb == "declare"


def test_what_was_given_is_told_where_the_path_does_not_say() -> None:
    house = House()
    ada = house.browser("ada", ADMIN)
    ada.post("/people/bind", data={"name": "bob", "role": "viewer", "scope": "team:x"})
    assert entries(house)[0].entry.note == "give user:bob viewer on team:x"
    house.client.post("/v1/bindings/remove", json={"subject": "user:bob", "role": "viewer", "scope": "team:x"})
    assert entries(house)[0].entry.note == "took from user:bob viewer on team:x"


def test_signing_in_and_out_is_noted_with_the_name_of_known_people_alone() -> None:
    house = House()
    password = house.services.access.people.first_password(house.now)
    browser = house.client_with({"Accept": "text/html"})

    def sign_in(name: str, password: str) -> None:
        token = browser.get("/login").text.partition('name="token" value="')[2].partition('"')[0]
        browser.post("/login", data={"name": name, "password": password, "token": token}, follow_redirects=False)

    sign_in("admin", CANARY)
    sign_in(CANARY, "typed into the wrong field")
    sign_in("admin", password)
    told = [(e.entry.verb, e.entry.object, e.entry.outcome, e.entry.who) for e in reversed(entries(house))]
    assert told == [
        ("sign in", "admin", Outcome.DENIED, "nobody"),
        ("sign in", "an unknown name", Outcome.DENIED, "nobody"),
        ("sign in", "user:admin", Outcome.DONE, "user:admin"),
    ]
    assert CANARY not in str(entries(house))
    assert password not in str(entries(house))


def test_no_secret_is_in_the_audit_whatever_is_called() -> None:
    house = house_with_topics()
    browser = house.browser("ada", ADMIN)
    made = house.client.post("/v1/tokens", json={"label": "ci", "role": "admin"}).json()
    password = house.client.post("/v1/users", json={"name": "bob"}).json()["password"]
    for method, path in OF_PEOPLE:
        form = {**FORMS.get((method, path), {}), "old": CANARY, "new": CANARY, "again": CANARY, "password": CANARY}
        browser.request(method, filled(path), data=form, params={"token": CANARY, "code": CANARY})
        house.client.request(method, filled(path), json={"password": CANARY})
    everything = str(entries(house))
    secrets = [CANARY, made["text"], made["text"][-43:], password, TOKEN, *browser.cookies.values()]
    assert not [secret for secret in secrets if secret in everything]


def test_anonymous_calls_do_not_fill_the_disk() -> None:
    house = House()
    stranger = house.client_with({})
    for _ in range(40):
        stranger.post("/v1/backup", json={})
    assert len(entries(house)) == 30
    house.pass_time(minutes=1)
    stranger.post("/v1/backup", json={})
    assert entries(house)[0].entry.note == "10 more before it were not noted"
    assert len(entries(house)) == 31
    stranger.get("/")
    assert len(entries(house)) == 31, "on the way to the login page nobody has asked for anything"


def test_a_name_that_was_made_to_point_here_is_noted() -> None:
    house = House()
    house.client.get("/", headers={"Host": "evil.example"})
    assert entries(house)[0].entry.status == 421


class FullAudit(MemoryAuditStore):
    """One that cannot be written to now."""

    def append(self, entry: Any) -> Any:
        raise StoreUnavailable("disk full")


def test_nobody_is_told_that_something_was_done_which_could_not_be_noted() -> None:
    house = House(audit=FullAudit())
    answer = house.client.post("/v1/users", json={"name": "bob"})
    assert (answer.status_code, answer.json()["code"]) == (503, "store-unavailable")
    assert "password" not in answer.text
    assert house.client.get("/v1/users").status_code == 200, "looking goes on"


def test_reports_of_agents_and_states_of_terraform_are_no_peoples_doing() -> None:
    assert {p for _, p in CHANGING if p.startswith(WORK_OF_MACHINES)} == {
        "/agent/v1/report",
        "/agent/v1/unchanged",
        "/terraform/v1/states/{cluster_uid}/{place}",
        "/hooks/git/{name}",
    }


def test_auditors_read_the_trail_over_page_sheet_and_api_and_others_do_not() -> None:
    house = house_with_topics()
    house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
    auditor = house.browser("aud", Binding("", Role.AUDITOR, "*"))
    shown = auditor.get("/audit?who=install&outcome=done&q=pause&since=2026-01-01T11:00")
    assert "POST /v1/clusters/orders/pause" in shown.text
    assert "No entry matches" in auditor.get("/audit?until=2026-01-01T11:00").text
    assert auditor.get("/audit?since=yesterday").status_code == 422
    sheet = auditor.get("/audit.csv").text.splitlines()
    assert sheet[0].startswith("position,at,who,via,client,verb,object,call,outcome")
    assert len(sheet) == 1 + len(entries(house))
    assert auditor.post("/clusters/orders/resume").status_code == 403


def test_the_api_pages_through_the_trail() -> None:
    house = house_with_topics()
    for _ in range(5):
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
    count = len(entries(house))
    first = house.client.get("/v1/audit?limit=3").json()
    assert [e["position"] for e in first["entries"]] == [count, count - 1, count - 2]
    rest = house.client.get(f"/v1/audit?limit=1000&before={first['older']}").json()
    assert (len(rest["entries"]), rest["older"]) == (count - 3, 0)
    assert house.client.get("/v1/audit?outcome=denied").json()["entries"] == []
    assert house.client.get("/v1/audit?outcome=maybe").status_code == 422
    assert house.client.get("/v1/audit/check").json() == {"entries": count}
