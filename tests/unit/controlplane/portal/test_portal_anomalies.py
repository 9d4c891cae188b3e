"""Anomalies over the API and as a page: filtered, kept from who may not read the cluster, switched by who may steer."""

from datetime import datetime, timedelta

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.background.anomalies.fold import read_anomalies
from controlplane.background.anomalies.record import keep_noted
from controlplane.storage.streams import anomalies_stream
from events import facts
from events.codec import encode
from events.envelope import Origin
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_api_tokens import ADMIN, program, token_of
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

VIEWER = Binding("", Role.VIEWER, "*")
OTHERS = Binding("", Role.VIEWER, "team:search")


@pytest.fixture
def house() -> House:
    house = house_with_orders()
    (view,) = [v for v in house.converger.views() if v.name == "orders"]
    happened = [
        facts.AnomalyFound("orders-1", "orders", "slow-broker", "brokers-a-0", "200 ms", "healing", "led off"),
        facts.AnomalyFound("orders-2", "orders", "disk-failure", "brokers-b-0", "<b>data</b> failed", "waiting", "why"),
        facts.AnomalyChanged("orders-1", "over", "it is healed"),
    ]
    stream = anomalies_stream(view.uid)
    events = [encode(fact, f"e{n}") for n, fact in enumerate(happened)]
    house.store.append(stream, events, expected_version=0, origin=Origin("anomalies"))
    keep_noted(house.latest, view.uid, read_anomalies(house.store, view.uid), house.now)
    return house


def test_open_ones_come_first_and_filters_narrow_them_down(house: House) -> None:
    told = house.client.get("/v1/clusters/orders/anomalies").json()
    assert [(a["id"], a["state"]) for a in told["anomalies"]] == [("orders-2", "waiting"), ("orders-1", "over")]
    assert (told["total"], told["open"], told["found"]) == (2, 1, 2)
    assert [h["kind"] for h in told["healing"] if not h["heals"]] == []
    for query, ids in (("state=open", ["orders-2"]), ("kind=slow-broker", ["orders-1"]), ("q=200 MS", ["orders-1"])):
        found = house.client.get(f"/v1/clusters/orders/anomalies?{query}").json()["anomalies"]
        assert [a["id"] for a in found] == ids
    assert [a["id"] for a in house.client.get("/v1/anomalies").json()] == ["orders-2"]


def test_the_page_shows_states_in_words_and_escapes_what_others_wrote(house: House) -> None:
    browser = house.browser("ada", VIEWER)
    text = browser.get("/clusters/orders/anomalies").text
    assert "&lt;b&gt;data&lt;/b&gt; failed" in text
    assert "<b>data</b>" not in text
    assert 'href="/clusters/orders/anomalies" aria-current="page"' in text
    assert ">waits</span>" in text
    assert "it is healed" in text
    assert "it is healed" not in browser.get("/clusters/orders/anomalies?state=open").text


def test_who_may_not_read_the_cluster_sees_none_of_it(house: House) -> None:
    assert house.browser("eve", OTHERS).get("/clusters/orders/anomalies").status_code == 404
    stranger = program(house, token_of(house, ADMIN, role="viewer", scope="team:search"))
    assert stranger.get("/v1/clusters/orders/anomalies").status_code == 404
    assert stranger.get("/v1/anomalies").json() == []


def test_healing_is_switched_by_who_may_steer_and_by_nobody_else(house: House) -> None:
    order = {"on": False, "kind": "slow-broker", "until": "2031-01-01T00:00:00Z", "reason": "load test"}
    viewer = program(house, token_of(house, ADMIN, role="viewer", scope="*"))
    assert viewer.post("/v1/clusters/orders/healing", json=order).status_code == 403
    done = house.client.post("/v1/clusters/orders/healing", json=order)
    assert done.status_code == 200, done.text
    assert done.json()["sentence"].startswith("healing of slow-broker of orders is off until 2031-01-01")
    told = house.client.get("/v1/clusters/orders/anomalies").json()["healing"]
    (off,) = [h for h in told if not h["heals"]]
    assert (off["kind"], off["until"]) == ("slow-broker", "2031-01-01T00:00:00Z")
    assert "load test" in off["why_not"]
    wrong = house.client.post("/v1/clusters/orders/healing", json={"on": True, "kind": "dreams"})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "unknown-kind")


def test_notifiers_are_an_administrators(house: House) -> None:
    assert house.client.get("/v1/notifiers").json() == []
    unknown = house.client.post("/v1/notifiers/oncall/test", json={})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "notifier-not-found")
    eve = program(house, token_of(house, ADMIN, role="operator", scope="*"))
    assert eve.get("/v1/notifiers").status_code == 403
    assert eve.post("/v1/notifiers/oncall/test", json={}).status_code == 403


def test_on_the_page_it_is_switched_by_a_form_for_some_hours(house: House) -> None:
    assert "/clusters/orders/healing" not in house.browser("eli", VIEWER).get("/clusters/orders/anomalies").text
    browser = house.browser("olga", Binding("", Role.OPERATOR, "*"))
    shown = browser.get("/clusters/orders/anomalies").text
    key = shown.partition('name="key" value="')[2].partition('"')[0]
    form = {"kind": "slow-broker", "to": "off", "hours": "2", "reason": "load test", "key": key}
    for _ in range(2):
        done = browser.post("/clusters/orders/healing", data=form)
        assert (done.status_code, done.headers["location"]) == (303, "/clusters/orders/anomalies")
    switched = [e for e in house.store.read_all() if e.type == "healing.switched"]
    assert len(switched) == 1, "a form that is sent twice is recorded once"
    (off,) = [h for h in house.client.get("/v1/clusters/orders/anomalies").json()["healing"] if not h["heals"]]
    assert off["kind"] == "slow-broker"
    assert datetime.fromisoformat(off["until"]) == house.now + timedelta(hours=2)
    assert "load test" in browser.get("/clusters/orders/anomalies").text
    assert browser.post("/clusters/orders/healing", data={"to": "on"}).status_code == 303
    assert [h for h in house.client.get("/v1/clusters/orders/anomalies").json()["healing"] if not h["heals"]] == []


@pytest.mark.parametrize("wrong", [{"hours": "-1"}, {"hours": "soon"}, {"to": "maybe"}, {"kind": "dreams"}])
def test_a_switch_that_makes_no_sense_changes_nothing(house: House, wrong: dict[str, str]) -> None:
    browser, before = house.browser("olga", Binding("", Role.OPERATOR, "*")), house.store.head()
    assert browser.post("/clusters/orders/healing", data={"to": "off", **wrong}).status_code in (409, 422)
    assert house.store.head() == before


def test_the_grace_of_each_kind_is_said_as_people_say_it(house: House) -> None:
    """A disk that failed had a grace of 0.0 min."""
    text = house.browser("vic", VIEWER).get("/clusters/orders/anomalies").text
    assert "<td>15 min</td>" in text
    assert "<td>none</td>" in text
    assert "0 min" not in text.replace("10 min", "")
