"""Times in the zone a person chose: printed and read in it on every page, the zone named; UTC for everybody else."""

from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from controlplane.api.moments import as_utc, moment_in
from controlplane.api.presenters.clusters import in_utc
from controlplane.portal.zones import moment_here, printed_in, zone_called, zone_names
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_broker_page import VIEWER

LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.fixture
def ada(house: House) -> TestClient:
    return house.browser("ada", VIEWER)


def choose(ada: TestClient, zone: str) -> int:
    return ada.post("/account/zone", data={"zone": zone}).status_code


def test_without_a_choice_times_are_of_utc_and_say_so(ada: TestClient) -> None:
    text = ada.get("/clusters/orders/history").text
    assert "2026-01-01 12:00:00Z" in text
    assert "Times are of UTC" in text


def test_a_chosen_zone_is_printed_on_every_page_and_named(ada: TestClient) -> None:
    assert choose(ada, "Europe/Berlin") == 303
    for path in ("/", "/events", "/clusters/orders", "/clusters/orders/history", "/account"):
        text = ada.get(path).text
        assert "2026-01-01 13:00:00 +01:00" in text, path
        assert "Times are of Europe/Berlin" in text
        assert "12:00:00Z" not in text
    assert choose(ada, "UTC") == 303
    assert "2026-01-01 12:00:00Z" in ada.get("/clusters/orders/history").text


def test_what_is_no_zone_is_refused_and_changes_nothing(ada: TestClient) -> None:
    assert choose(ada, "Europe/Berlin") == 303
    refused = ada.post("/account/zone", data={"zone": "../../etc/passwd"})
    assert refused.status_code == 422
    assert "is not a time zone" in refused.text
    assert "Times are of Europe/Berlin" in ada.get("/").text


def test_a_cookie_that_names_no_zone_counts_as_none(ada: TestClient) -> None:
    ada.cookies.set("kedge_zone", "Middle/Earth")
    assert "Times are of UTC" in ada.get("/").text


def test_the_choice_is_no_pass_and_needs_the_token_of_the_session(house: House) -> None:
    eve = house.browser("eve", VIEWER, csrf=False)
    assert eve.post("/account/zone", data={"zone": "Asia/Kolkata"}).status_code == 403


def test_a_time_that_is_written_into_a_field_is_read_in_the_chosen_zone(ada: TestClient) -> None:
    at_noon = "/clusters/orders/past?at=2026-01-01T12:00"
    assert ada.get(at_noon).status_code == 200
    choose(ada, "Asia/Kolkata")
    assert ada.get(at_noon).status_code == 422, "noon there is before anything was recorded"
    assert ada.get("/clusters/orders/past?at=2026-01-01T17:30").status_code == 200
    events = "/events?since=2026-01-01T{}"
    assert "cluster.declared" in ada.get(events.format("17:29")).text
    assert "cluster.declared" not in ada.get(events.format("17:31")).text.split("<tbody>")[1]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kathmandu"])
def test_offsets_are_those_of_the_day_and_the_end_of_time_stays_utc(zone: str) -> None:
    with printed_in(zone):
        assert moment_here(LAST).startswith("9999-12-31 ")
        assert moment_here(datetime.min.replace(tzinfo=UTC))[:4] in ("0001", "1-01")
    with printed_in("Europe/Berlin"):
        assert moment_here(datetime(2026, 7, 1, tzinfo=UTC)) == "2026-07-01 02:00:00 +02:00"
        assert moment_here(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01 01:00:00 +01:00"
    assert moment_here(datetime(2026, 7, 1, tzinfo=UTC)) == "2026-07-01 00:00:00Z"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("9999-12-31T23:59:59-10:00", datetime.max.replace(tzinfo=UTC)),
        ("0001-01-01T00:00:00+10:00", datetime.min.replace(tzinfo=UTC)),
        ("2026-01-01T13:00:00+01:00", datetime(2026, 1, 1, 12, tzinfo=UTC)),
    ],
)
def test_moments_at_the_ends_of_time_are_the_last_there_are(text: str, known: datetime) -> None:
    assert in_utc(datetime.fromisoformat(text)) == as_utc(datetime.fromisoformat(text)) == moment_in(text) == known


def test_a_filter_by_a_moment_at_the_end_of_time_is_answered(house: House, ada: TestClient) -> None:
    late = {"until": "9999-12-31T23:59:59-10:00", "since": "0001-01-01T00:00:00+10:00"}
    assert house.client.get("/v1/events", params=late).status_code == 200
    assert house.client.get("/v1/audit", params=late).status_code == 200
    assert ada.get("/events", params=late).status_code == 200


def test_every_zone_offered_is_one() -> None:
    assert len(zone_names()) > 400
    assert all(zone_called(name) for name in zone_names())
