"""What every request passes before any route, and the one shape of every error."""

from collections.abc import Iterator

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.audit.store import AuditFilter
from controlplane.api.schemas.messages import ErrorOut
from events.errors import StoreUnavailable
from tests.unit.controlplane.api.portal_house import PORT, House


@pytest.fixture
def house() -> House:
    return House()


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_loopback_names_are_answered(house: House, host: str) -> None:
    assert house.client.get("/v1/version", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"127.0.0.1.evil.example:{PORT}", ""]
)
def test_a_name_that_was_rebound_to_loopback_is_not_answered(house: House, host: str) -> None:
    response = house.client.get("/v1/version", headers={"Host": host})
    assert response.status_code == 421
    assert _problem(response.json(), response.headers["content-type"]).code == "wrong-host"


@pytest.mark.parametrize("origin", [f"http://127.0.0.1:{PORT}", f"http://localhost:{PORT}"])
def test_our_own_pages_may_ask(house: House, origin: str) -> None:
    assert house.client.get("/v1/version", headers={"Origin": origin}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"])
@pytest.mark.parametrize("path", ["/v1/version", "/healthz", "/agent/v1/document"])
def test_a_page_of_another_site_is_refused_even_with_the_token(house: House, origin: str, path: str) -> None:
    response = house.client.get(path, headers={"Origin": origin})
    assert response.status_code == 403
    assert response.json()["code"] == "foreign-origin"


def test_a_body_beyond_a_mebibyte_is_refused_by_its_length(house: House) -> None:
    response = house.client.post("/v1/validate", content=b"x" * (1024 * 1024 + 1))
    assert response.status_code == 413
    assert response.json()["code"] == "too-large"


def test_a_body_that_says_no_length_is_cut_off_where_it_grows_too_large(house: House) -> None:
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 1
            yield b"x" * 65536

    response = house.client.post("/v1/validate", content=chunks(), headers={"Content-Type": "application/json"})
    assert response.status_code == 413
    assert response.json()["code"] == "too-large"


def test_a_spec_larger_than_specs_may_be_is_a_problem_of_the_spec(house: House) -> None:
    response = house.client.post("/v1/validate", json={"text": "#" * (300 * 1024)})
    assert response.status_code == 200
    assert [p["code"] for p in response.json()["problems"]] == ["KEDGE-SPEC-001"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/v1/nothing", None, 404, "not-found"),
        ("DELETE", "/v1/clusters", None, 405, "method-not-allowed"),
        ("GET", "/v1/clusters/nobody", None, 404, "cluster-not-found"),
        ("GET", "/v1/clusters/nobody/events", None, 404, "cluster-not-found"),
        ("GET", "/v1/clusters/nobody/endpoints", None, 404, "cluster-not-found"),
        ("POST", "/v1/clusters/nobody/pause", {"reason": "x"}, 404, "cluster-not-found"),
        ("POST", "/v1/clusters/nobody/delete", {"confirm": "nobody"}, 404, "cluster-not-found"),
        ("POST", "/v1/apply", {"text": "", "unknown": 1}, 422, "request-invalid"),
        ("POST", "/v1/apply", None, 422, "request-invalid"),
        ("GET", "/v1/clusters/nobody/events?after=x", None, 422, "request-invalid"),
        ("GET", "/v1/clusters/nobody/events?limit=100000", None, 422, "request-invalid"),
        ("POST", "/v1/backup", {"path": "relative"}, 422, "path-not-absolute"),
        ("POST", "/v1/backup", {"path": "/"}, 409, "file-exists"),
        ("POST", "/agent/v1/enrol", {}, 422, "request-invalid"),
    ],
)
def test_every_error_has_the_one_shape(
    house: House, method: str, path: str, body: object, status: int, code: str
) -> None:
    response = house.client.request(method, path, json=body)
    problem = _problem(response.json(), response.headers["content-type"])
    assert (response.status_code, problem.status, problem.code) == (status, status, code)
    assert problem.title


def test_an_invalid_request_is_told_where_and_not_what_it_said(house: House) -> None:
    response = house.client.post("/v1/apply", json={"text": {"password": "hunter2"}})
    assert "body.text" in response.json()["detail"]
    assert "hunter2" not in response.text


def test_an_error_nobody_foresaw_shows_a_number_and_no_trace(house: House) -> None:
    def broken() -> str:
        raise RuntimeError("secret innards")

    object.__setattr__(house.services.operations, "planner_state", broken)
    response = house.client.get("/v1/version")
    problem = _problem(response.json(), response.headers["content-type"])
    assert (problem.status, problem.code) == (500, "internal")
    assert "innards" not in response.text
    assert "Traceback" not in response.text


def test_a_length_of_more_digits_than_a_number_may_have_is_too_large_and_no_error(house: House) -> None:
    refused = house.client.post("/v1/plan", content=b"{}", headers={"Content-Length": "9" * 5000})
    assert (refused.status_code, refused.json()["code"]) == (413, "too-large")


class DeafBell(list[str]):
    """A converger that cannot be woken: what a route did not foresee, after its command was recorded."""

    def append(self, uid: str) -> None:
        raise RuntimeError("no bell")


@pytest.mark.parametrize("path", ["/v1/clusters/orders/pause", "/clusters/orders/pause"])
def test_an_error_nobody_foresaw_after_a_command_is_noted_in_the_audit_and_has_the_headers(path: str) -> None:
    house = House()
    house.apply()
    deaf = House(woken=DeafBell(), store=house.store)
    deaf.converger.catch_up()
    is_page = not path.startswith("/v1/")
    client = deaf.browser("ada", Binding("", Role.ADMIN, "*")) if is_page else deaf.client
    response = client.post(path, **({"data": {"reason": "x"}} if is_page else {"json": {"reason": "x"}}))
    assert deaf.store.read_all()[-1].type == "cluster.paused"
    assert response.status_code == 500
    assert "no bell" not in response.text
    for name in ("Cache-Control", "Content-Security-Policy", "X-Content-Type-Options", "Cross-Origin-Opener-Policy"):
        assert response.headers[name], name
    (entry,) = [kept.entry for kept in deaf.audit.page(AuditFilter(), 10)]
    assert (entry.call, entry.outcome.value, entry.status) == (f"POST {path}", "failed", 500)
    assert entry.event_position == deaf.store.head()


def test_a_database_that_does_not_answer_is_to_be_asked_again(house: House) -> None:
    def away() -> str:
        raise StoreUnavailable("database sqlite did not answer: locked")

    object.__setattr__(house.services.operations, "planner_state", away)
    response = house.client.get("/v1/version")
    assert (response.status_code, response.json()["code"]) == (503, "store-unavailable")
    assert response.headers["retry-after"] == "1"


@pytest.mark.parametrize("path", ["/v1/version", "/v1/nothing", "/healthz"])
def test_no_answer_is_cached_or_run_as_a_page(house: House, path: str) -> None:
    headers = house.client.get(path).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]


def test_the_version_says_who_leads(house: House) -> None:
    answer = house.client.get("/v1/version").json()
    assert answer == {
        "version": "1.2.3",
        "api": "v1",
        "installation_id": "inst",
        "epoch": 3,
        "leader": True,
        "planner": "starting",
        "part": "",
    }


def _problem(body: dict[str, object], content_type: str) -> ErrorOut:
    assert content_type == "application/problem+json"
    return ErrorOut.model_validate(body)


@pytest.mark.parametrize("path", ["/v1/version", "/v1/clusters", "/healthz", "/openapi.json", "/agent", "/v1/nothing"])
def test_over_tls_only_agents_are_served_and_the_token_of_people_opens_nothing(house: House, path: str) -> None:
    response = house.client.get(f"https://kedge.example:8443{path}")
    assert (response.status_code, response.json()["code"]) == (403, "agents-only")


def test_over_tls_agents_call_the_server_by_the_name_they_were_told(house: House) -> None:
    assert house.client.get("https://kedge.example:8443/agent/v1/ca").status_code == 404
    response = house.client.get("https://kedge.example:8443/agent/v1/document")
    assert (response.status_code, response.json()["code"]) == (401, "agent-unknown")


def test_a_body_is_too_large_over_tls_too(house: House) -> None:
    response = house.client.post("https://kedge.example:8443/agent/v1/enrol", content=b"x" * (1024 * 1024 + 1))
    assert response.status_code == 413
