"""What was changed by hand in the cloud, over the API, on the page and at the prompt."""

import pytest
from rich.console import Console

from controlplane.api.schemas.drift import DriftOut
from controlplane.cli.drift_view import drift_lines
from controlplane.cluster.observed.cloud_drift import AuditNoted, asked_audits, keep_audit
from controlplane.cluster.places import places_of
from providers.audits import Drift
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_api_tokens import ADMIN, program, token_of
from tests.unit.events.spec_texts import ORDERS

SIZE = Drift("hcloud_volume.volume", "volume/b-0.data.v1", "size", "10", "50")


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(ORDERS)
    return house


def told(house: House) -> DriftOut:
    return DriftOut.model_validate(house.client.get("/v1/clusters/orders/drift").json())


def shown(house: House) -> str:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115 - nobody reads it
    console.print(*drift_lines(told(house), now=house.now))
    return console.export_text()


def note(house: House, noted: AuditNoted) -> None:
    view = house.view()
    keep_audit(house.latest, view.uid, str(places_of(view)[0]), noted)


def test_before_the_first_audit_nothing_is_claimed(house: House) -> None:
    (audit,) = told(house).audits
    assert (audit.at, audit.drifts) == (None, [])
    assert "not audited yet" in shown(house)


def test_what_was_found_is_told_with_what_to_do(house: House) -> None:
    note(house, AuditNoted(house.now, house.now, 7, (SIZE,)))
    (audit,) = told(house).audits
    assert [(d.target, d.attribute, d.recorded, d.found) for d in audit.drifts] == [
        ("volume/b-0.data.v1", "size", "10", "50")
    ]
    words = shown(house)
    assert "1 value changed by hand" in words
    assert "kedge drift orders --now" in words


def test_an_audit_that_told_nothing_says_why(house: House) -> None:
    note(house, AuditNoted(house.now, error="the token is refused"))
    assert "told nothing: the token is refused" in shown(house)


def test_an_audit_is_asked_for(house: House) -> None:
    answer = house.client.post("/v1/clusters/orders/drift/audit")
    assert answer.status_code == 200, answer.text
    assert "once nothing of it is in hand" in answer.json()["sentence"]
    assert asked_audits(house.latest) == {house.view().uid: house.now}
    assert told(house).asked_at == house.now


def test_metrics_tell_how_much_was_changed(house: House) -> None:
    assert "kedge_cloud_drift{" not in house.client.get("/v1/metrics").text
    note(house, AuditNoted(house.now, house.now, 7, (SIZE,)))
    place = places_of(house.view())[0]
    assert f'kedge_cloud_drift{{cluster="orders",place="{place}"}} 1.0' in house.client.get("/v1/metrics").text


def test_the_diff_page_tells_it_apart_from_the_change_in_hand(house: House) -> None:
    browser = house.browser("ada", ADMIN)
    assert "not audited yet" in browser.get("/clusters/orders/diff").text
    note(house, AuditNoted(house.now, house.now, 7, (SIZE,)))
    text = browser.get("/clusters/orders/diff").text
    assert "Changed by hand in the cloud" in text
    assert "volume/b-0.data.v1" in text


def test_a_viewer_reads_it_and_asks_for_none(house: House) -> None:
    viewer = program(house, token_of(house, ADMIN, role="viewer", scope="*"))
    assert viewer.get("/v1/clusters/orders/drift").status_code == 200
    assert viewer.post("/v1/clusters/orders/drift/audit").status_code == 403
    assert asked_audits(house.latest) == {}
