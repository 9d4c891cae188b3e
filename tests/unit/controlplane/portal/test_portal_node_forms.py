"""Restart, replace, evacuate and readmit from the overview: told first, recorded on a yes, once, by whoever may."""

import re

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders, house_with_topics

OPERATOR = Binding("", Role.OPERATOR, "*")
VERBS = ("restart", "replace", "evacuate", "readmit")


@pytest.fixture
def house() -> House:
    house = house_with_orders()
    house.snapshots[house.view().uid] = a_snapshot(a_partition("payments-0", (1001, 1002)))
    return house


@pytest.fixture
def browser(house: House) -> TestClient:
    return house.browser("ada", OPERATOR)


def post(browser: TestClient, verb: str, **form: str) -> str:
    answer = browser.post(f"/clusters/orders/{verb}", data=form)
    assert answer.status_code == 200, answer.text
    text: str = answer.text
    return text


def hidden(text: str) -> dict[str, str]:
    """The fields a confirmation page sends back."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text.partition('id="sure"')[2]))


def test_what_would_be_done_is_said_before_anything_is_recorded(house: House, browser: TestClient) -> None:
    text = post(browser, "restart", reason="new <b>certificates</b>")
    assert "3 brokers of orders will be started anew, one at a time" in text
    assert "new &lt;b&gt;certificates&lt;/b&gt;" in text
    assert "Nothing is recorded yet." in text
    assert house.view().requests.rolling_restart is None


def test_a_yes_records_it_with_who_asked_and_shows_the_handlers_sentence(house: House, browser: TestClient) -> None:
    text = post(browser, "restart", **hidden(post(browser, "restart", brokers="1001", reason="slow")))
    assert "<strong>Recorded.</strong> 1 broker of orders will be started anew" in text
    running = house.view().requests.rolling_restart
    assert running is not None
    assert (running.reason, set(running.keys)) == ("asked by ada: slow", {"brokers-b-0.g1"})
    assert house.view().uid in house.woken


def test_a_form_that_is_sent_twice_is_recorded_once(house: House, browser: TestClient) -> None:
    form = hidden(post(browser, "replace", node="brokers-b-0"))
    for _ in range(2):
        post(browser, "replace", **form)
    types = [e["type"] for e in house.client.get("/v1/clusters/orders/events?limit=1000").json()["events"]]
    assert types.count("node.replace_requested") == 1


def test_a_broker_is_evacuated_and_readmitted(house: House, browser: TestClient) -> None:
    assert 'id="act-readmit"' not in browser.get("/clusters/orders").text
    post(browser, "evacuate", **hidden(post(browser, "evacuate", brokers="1000")))
    assert list(house.view().requests.evacuations) == ["brokers-a-0.g1"]
    overview = browser.get("/clusters/orders").text
    assert 'id="act-readmit"' in overview
    assert 'value="1000"' in overview
    text = post(browser, "readmit", **hidden(post(browser, "readmit", brokers="1000")))
    assert "brokers-a-0.g1 may receive replicas again; nothing is moved back by itself." in text
    assert house.view().requests.evacuations == {}


def test_a_broker_is_demoted_and_undemoted(house: House, browser: TestClient) -> None:
    assert 'id="act-undemote"' not in browser.get("/clusters/orders").text
    assert "will lead nothing until it is taken back" in post(browser, "demote", brokers="1000")
    assert house.view().requests.demotions == {}, "nothing is recorded before the yes"
    post(browser, "demote", **hidden(post(browser, "demote", brokers="1000", reason="a slow disk")))
    demotion = house.view().requests.demotions["brokers-a-0.g1"]
    assert (demotion.broker, demotion.by_person, demotion.reason) == (1000, True, "asked by ada: a slow disk")
    overview = browser.get("/clusters/orders").text
    assert 'id="act-undemote"' in overview
    assert 'value="1000"' in overview
    assert "asked by ada: a slow disk" in browser.get("/clusters/orders/brokers/1000").text
    text = post(browser, "undemote", **hidden(post(browser, "undemote", brokers="1000")))
    assert "brokers-a-0.g1 may lead again and get their share of leaders back." in text
    assert house.view().requests.demotions["brokers-a-0.g1"].ended


def test_what_is_done_already_offers_no_button(browser: TestClient) -> None:
    text = post(browser, "readmit", brokers="1000")
    assert "There is nothing to do." in text
    assert ">Confirm" not in text


def test_a_refusal_says_why_and_what_next_before_the_question(house: House, browser: TestClient) -> None:
    house.snapshots[house.view().uid] = a_snapshot(a_partition(isr=(1000, 1001)))
    answer = browser.post("/clusters/orders/replace", data={"node": "brokers-b-0"})
    assert answer.status_code == 409
    assert "is not replaced while orders is not whole" in answer.text
    assert "Fix that first" in answer.text


@pytest.mark.parametrize(("verb", "form"), [("restart", {"brokers": "1000, x"}), ("evacuate", {}), ("readmit", {})])
def test_a_form_that_names_no_broker_or_a_wrong_one_is_refused(
    browser: TestClient, verb: str, form: dict[str, str]
) -> None:
    assert browser.post(f"/clusters/orders/{verb}", data={**form, "sure": "true"}).status_code == 422


@pytest.mark.parametrize("verb", VERBS)
def test_without_the_token_of_the_session_nothing_is_told_or_done(verb: str) -> None:
    stranger = house_with_topics().browser("eve", OPERATOR, csrf=False)
    answer = stranger.post(f"/clusters/orders/{verb}", data={"brokers": "1000", "node": "brokers-a-0", "sure": "true"})
    assert answer.status_code == 403


def test_who_may_only_read_is_offered_no_form_and_told_nothing(house: House) -> None:
    viewer = house.browser("view", Binding("", Role.VIEWER, "*"))
    assert "act-restart" not in viewer.get("/clusters/orders").text
    for verb in VERBS:
        answer = viewer.post(f"/clusters/orders/{verb}", data={"brokers": "1000", "node": "brokers-a-0"})
        assert answer.status_code == 403
        assert "will be" not in answer.text
