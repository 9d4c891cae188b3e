"""Events and anomalies as sheets, the way from the audit to what changed, and the CA agents trust."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.audit.store import AuditFilter
from controlplane.portal.app import create_app
from controlplane.portal.csv_rows import csv_of
from controlplane.storage.certificates.authority import load_or_make
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_broker_page import VIEWER
from tests.unit.events.spec_texts import ORDERS

ADMIN = Binding("", Role.ADMIN, "*")


@pytest.fixture
def ada(house: House) -> TestClient:
    return house.browser("ada", ADMIN)


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_events_are_a_sheet_by_the_same_filter_as_the_page(house: House, ada: TestClient) -> None:
    house.apply(ORDERS.replace("name: orders", "name: search"))
    every = lines(ada.get("/events.csv").text)
    assert [line["cluster"] for line in every if line["type"] == "cluster.declared"] == ["search", "orders"]
    assert every[0]["at"] == "2026-01-01T12:00:00+00:00"
    assert '"generation": 1' in every[0]["data"]
    few = lines(ada.get("/events.csv", params={"cluster": "orders", "type": "cluster."}).text)
    assert {line["cluster"] for line in few} == {"orders"}
    assert ada.get("/events.csv", params={"cluster": "nowhere"}).status_code == 404


def test_a_sheet_has_no_event_of_clusters_one_may_not_read(house: House) -> None:
    sue = house.browser("sue", Binding("", Role.VIEWER, "cluster:search"))
    assert lines(sue.get("/events.csv").text) == []


def test_a_sheet_of_events_that_is_cut_says_so_and_where_the_next_one_begins(house: House, ada: TestClient) -> None:
    house.apply(ORDERS.replace("name: orders", "name: search"))
    asked = {"actor": "person:", "type": "cluster."}
    every = lines(ada.get("/events.csv", params=asked).text)
    assert len(every) > 1
    first = ada.get("/events.csv", params={**asked, "limit": 1})
    (line,) = lines(first.text)
    assert first.headers["content-disposition"] == f'attachment; filename="events-cut-at-{line["position"]}.csv"'
    assert f"cut at position {line['position']}" in first.headers["x-kedge-truncated"]
    walked, answer = [line], first
    while "next" in answer.links:
        answer = ada.get(answer.links["next"]["url"])
        walked += lines(answer.text)
    assert walked == every
    assert "x-kedge-truncated" not in answer.headers
    assert answer.headers["content-disposition"] == 'attachment; filename="events.csv"'


def test_the_page_of_events_says_how_far_a_sheet_reaches_and_offers_the_next_one(house: House, ada: TestClient) -> None:
    text = ada.get("/events", params={"before": 3, "type": "cluster."}).text
    assert 'href="/events.csv?type=cluster.&amp;before=3"' in text
    assert "10,000 events at most" in text
    assert "events-cut-at-" in text
    assert 'name="before" value="3"' in text
    assert 'name="before" value=""' in ada.get("/events").text


def test_a_filter_without_a_position_is_one_as_browsers_send_it(ada: TestClient) -> None:
    for path in ("/events", "/events.csv", "/audit", "/audit.csv"):
        assert ada.get(path, params={"before": ""}).status_code == 200, path
        assert ada.get(path, params={"before": "-1"}).status_code == 422, path


@pytest.mark.parametrize("field", ["since", "until"])
@pytest.mark.parametrize(
    "text", ["yesterday", "2026-13-01T00:00", "2026-01-01T25:00", "1735689600", "2026-01-01T12:00 "]
)
@pytest.mark.parametrize("path", ["/events", "/audit"])
def test_a_moment_that_is_none_is_an_error_for_page_sheet_and_call(
    house: House, ada: TestClient, path: str, text: str, field: str
) -> None:
    """A sheet that left it out would have rows nobody asked for, and look like the answer."""
    asked = {field: text}
    page = ada.get(path, params=asked)
    assert (page.status_code, "is not a time: write it as in 2026-01-31T14:00" in page.text) == (422, True)
    sheet = ada.get(f"{path}.csv", params=asked)
    assert (sheet.status_code, sheet.headers["content-type"].partition(";")[0]) == (422, "text/html")
    assert "is not a time: write it as in 2026-01-31T14:00" in sheet.text
    told = house.client.get(f"{path}.csv", params=asked).json()
    assert (told["code"], told["title"].partition(" is ")[0]) == ("no-such-moment", repr(text))
    assert house.client.get(f"/v1{path}", params=asked).status_code == 422
    assert ada.get(f"{path}.csv", params={field: ""}).status_code == 200, "forms send a field that was left empty"


def test_an_outcome_that_is_none_is_an_error_too(house: House, ada: TestClient) -> None:
    page = ada.get("/audit", params={"outcome": "maybe"})
    assert (page.status_code, "is not an outcome: there are done, denied, failed" in page.text) == (422, True)
    assert house.client.get("/audit.csv", params={"outcome": "maybe"}).json()["code"] == "no-such-outcome"
    assert house.client.get("/v1/audit", params={"outcome": "maybe"}).status_code == 422


def test_a_sheet_of_the_audit_that_is_cut_says_so_and_where_the_next_one_begins(house: House, ada: TestClient) -> None:
    for why in ("one", "two", "three"):
        house.client.post("/v1/clusters/orders/pause", json={"reason": why})
    every = lines(ada.get("/audit.csv").text)
    answer = ada.get("/audit.csv", params={"limit": 2})
    walked = lines(answer.text)
    assert [line["position"] for line in walked] == [line["position"] for line in every[:2]]
    assert f"audit-cut-at-{walked[-1]['position']}.csv" in answer.headers["content-disposition"]
    assert "x-kedge-truncated" in answer.headers
    while "next" in answer.links:
        answer = ada.get(answer.links["next"]["url"])
        walked += lines(answer.text)
    assert [line["position"] for line in walked] == [line["position"] for line in every]
    text = ada.get("/audit", params={"q": "pause", "before": 3}).text
    assert 'href="/audit.csv?q=pause&amp;before=3"' in text
    assert "10,000 entries at most" in text


def test_anomalies_are_a_sheet(house: House) -> None:
    answer = house.browser("vic", VIEWER).get("/clusters/orders/anomalies.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="orders-anomalies.csv"'
    assert answer.text.startswith("id,cluster,kind,subject,state,")


def test_the_audit_leads_to_what_a_declaration_changed(house: House, ada: TestClient) -> None:
    house.apply(ORDERS.replace("log.retention.hours: 72", "log.retention.hours: 96"))
    text = ada.get("/audit").text
    way = text.split('href="/audit/')[1].split('"')[0]
    assert "before and after" in text
    answer = ada.get(f"/audit/{way}")
    assert answer.headers["location"] == "/clusters/orders/compare?new=2"
    assert "96" in ada.get(answer.headers["location"]).text


def test_the_audit_leads_to_the_log_where_something_else_was_done(house: House, ada: TestClient) -> None:
    house.client.post("/v1/clusters/orders/pause", json={"reason": "wait"})
    position = house.store.head()
    entry = house.audit.page(AuditFilter(), 1)[0].position
    assert ada.get(f"/audit/{entry}/change").headers["location"] == f"/events?before={position + 1}"
    assert "cluster.paused" in ada.get(f"/events?before={position + 1}").text


@pytest.mark.parametrize("entry", [0, 4711, 2**70])
def test_an_entry_that_is_not_there_leads_nowhere(ada: TestClient, entry: int) -> None:
    assert ada.get(f"/audit/{entry}/change").status_code == 404


def test_the_page_of_agents_tells_the_ca_they_trust_and_until_when(
    house: House, ada: TestClient, tmp_path: Path
) -> None:
    assert "serves agents without TLS and certificates" in ada.get("/agents").text
    authority = load_or_make(tmp_path, "inst", now=house.now)
    house.app = create_app(replace(house.services, access=replace(house.services.access, ca_pem=authority.pem)))
    text = house.client_with({**house.client.headers, "Accept": "text/html"}).get("/agents").text
    assert authority.sha256 in text
    assert f"{authority.not_after:%Y-%m-%d %H:%M:%SZ}" in text


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\u00a0=", "\x00=", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
)
def test_a_cell_that_a_spreadsheet_takes_for_a_formula_is_text(sign: str) -> None:
    row = SimpleNamespace(name=f"{sign}1+1", lag=-5)
    (cells,) = list(csv.reader(io.StringIO(csv_of(("name", "lag"), [row]), newline="")))[1:]
    assert cells == [f"'{sign}1+1", "-5"]
