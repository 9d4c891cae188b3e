"""The id of a request: one in the answer, in errors, in the log and in the audit; and whose word it is."""

import itertools
import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.audit.store import AuditFilter
from controlplane.api.request_ids import HEADER, new_request_id
from controlplane.server.logging_setup import json_lines
from controlplane.storage.log_context import WithContext
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import token_of
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

ADMIN = Binding("", Role.ADMIN, "*")
THEIRS = "trace-0af7651916cd43dd"


@pytest.fixture
def house() -> House:
    numbers = itertools.count(1)
    return house_with_orders(request_id=lambda: f"request-{next(numbers):08}")


@pytest.fixture
def written() -> Iterator[StringIO]:
    """The server's log as JSON."""
    text = StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(json_lines())
    handler.addFilter(WithContext())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield text
    root.removeHandler(handler)
    root.setLevel(level)


def newest(house: House) -> str:
    return house.audit.page(AuditFilter(), 1)[0].entry.request


def lines(written: StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_one_id_is_in_the_answer_in_the_audit_and_in_problem_json(house: House) -> None:
    done = house.client.post("/v1/clusters/orders/pause", json={"reason": "wait"})
    assert done.status_code == 200
    assert newest(house) == done.headers[HEADER]
    refused = house.client.post("/v1/clusters/nothing/pause", json={"reason": "wait"})
    assert refused.json()["request"] == refused.headers[HEADER] == newest(house)
    assert refused.headers[HEADER] != done.headers[HEADER]
    stranger = house.client_with({"Authorization": "Bearer wrong"}).get("/v1/clusters")
    assert stranger.status_code == 401
    assert stranger.json()["request"] == stranger.headers[HEADER] == newest(house)
    page = house.browser("ada", ADMIN).get("/")
    assert page.headers[HEADER]


def test_every_line_that_is_written_for_a_request_has_its_id(house: House, written: StringIO) -> None:
    @house.app.get("/v1/speaks")
    def speaks() -> str:
        logging.getLogger("kedge.test").warning("in a thread of the routes")
        return "said"

    @house.app.get("/v1/fails")
    async def fails() -> str:
        raise RuntimeError("nobody foresaw it")

    said = house.client.get("/v1/speaks")
    assert [one["request"] for one in lines(written) if one["logger"] == "kedge.test"] == [said.headers[HEADER]]
    failed = house.client.get("/v1/fails")
    assert failed.status_code == 500
    assert failed.json()["detail"] == f"request {failed.headers[HEADER]} in the server's log"
    (told,) = [one for one in lines(written) if one["level"] == "ERROR"]
    assert told["request"] == failed.headers[HEADER]
    logging.getLogger("kedge.test").warning("of no request")
    assert "request" not in lines(written)[-1]


def test_the_id_a_known_program_brings_along_counts(house: House) -> None:
    for program in (house.client, token_of(house, "eve", ADMIN)):
        done = program.post("/v1/clusters/orders/pause", json={"reason": "wait"}, headers={HEADER: THEIRS})
        assert (done.headers[HEADER], newest(house)) == (THEIRS, THEIRS)


@pytest.mark.parametrize("brought", ["short", "x" * 65, "two words", "line\u00a0feed", "../../etc", "<script>", "=cmd"])
def test_an_id_that_is_not_well_formed_does_not_count(house: House, brought: str) -> None:
    done = house.client.get("/v1/clusters", headers={HEADER: brought.encode("latin-1")})
    assert done.headers[HEADER].startswith("request-")


def test_nobody_else_puts_an_id_into_the_audit(house: House) -> None:
    """A stranger, a page of another site, an agent: theirs could be the id of somebody else's call."""
    browser = house.browser("ada", ADMIN)
    for client in (house.client_with({"Authorization": "Bearer wrong"}), browser):
        answer = client.post("/clusters/orders/pause", data={"reason": "wait"}, headers={HEADER: THEIRS})
        assert answer.headers[HEADER] == newest(house) != THEIRS


def test_ids_that_are_made_do_not_come_twice() -> None:
    made = {new_request_id() for _ in range(1000)}
    assert len(made) == 1000
    assert {len(one) for one in made} == {16}


def test_the_audit_is_asked_for_one_request(house: House) -> None:
    wanted = house.client.post("/v1/clusters/orders/pause", json={"reason": "wait"}).headers[HEADER]
    house.client.post("/v1/clusters/orders/resume", json={"reason": "go on"})
    (found,) = house.client.get("/v1/audit", params={"request": wanted}).json()["entries"]
    assert (found["request"], found["call"]) == (wanted, "POST /v1/clusters/orders/pause")
    browser: TestClient = house.browser("ada", ADMIN)
    page = browser.get("/audit", params={"request": wanted}).text
    assert f'href="/audit?request={wanted}"' in page
    assert page.count("/v1/clusters/orders/") == 1
    sheet = browser.get("/audit.csv", params={"request": wanted}).text.splitlines()
    assert len(sheet) == 2
    assert wanted in sheet[1]
