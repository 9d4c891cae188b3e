"""Deleting and keeping topics on pages: said first, its name typed, recorded once, by whoever may, as the API does."""

import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.storage.streams import cluster_stream
from events.topic_facts import TopicsAdopted, TopicsDeclared
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import TOPIC, Shelved
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

OWNER, OPERATOR = Binding("", Role.OWNER, "*"), Binding("", Role.OPERATOR, "*")
DELETE, ADOPT = "/clusters/orders/topics/clicks/delete", "/clusters/orders/topics/clicks/adopt"
HOSTILE = "<img src=x onerror=alert(1)>\"'{{7*7}}"


def house_of(policy: str = "delete", **more: Any) -> House:
    """`clicks` is declared and kept, `payments` was made by others."""
    house = House(**more)
    house.apply(OURS + TOPIC.replace("partitions: 3", f"partitions: 3, deletionPolicy: {policy}"))
    house.record(TopicsAdopted(("clicks",), "test"))
    house.snapshots[house.view().uid] = a_snapshot(
        *(a_partition(f"clicks-{number}") for number in range(3)), a_partition("payments-0"), a_partition("a.b-0")
    )
    return house


@pytest.fixture
def house() -> House:
    return house_of()


@pytest.fixture
def browser(house: House) -> TestClient:
    return house.browser("ada", OWNER)


def fields(text: str, **typed: str) -> dict[str, str]:
    """What the form of a page sends back, with what was typed into it."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text.partition('id="what"')[2])
    return {name: unescape(value) for name, value in found} | typed


def types(house: House) -> list[str]:
    return [e.type for e in house.store.read_stream(cluster_stream(house.view().uid))]


def test_a_deletion_says_what_is_destroyed_and_records_nothing(house: House, browser: TestClient) -> None:
    head = house.store.head()
    shown = browser.get(DELETE)
    assert shown.status_code == 200
    assert "Kafka destroys it with all its records, and nothing brings them back" in shown.text
    assert "Kafka has it with 3 partitions" in shown.text
    assert "Type <code>clicks</code> to go on" in shown.text
    assert house.store.head() == head


def test_what_its_policy_keeps_is_said_to_stay() -> None:
    text = house_of("retain").browser("ada", OWNER).get(DELETE).text
    assert "It stays in Kafka with all its records, unmanaged" in text
    assert "destroys" not in text
    assert 'name="retain"' not in text, "there is nothing to choose"


def test_the_name_typed_out_records_the_tombstone_with_who_and_why(house: House, browser: TestClient) -> None:
    form = fields(browser.get(DELETE).text, confirm="clicks", reason="moved")
    answer = browser.post(DELETE, data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/clusters/orders/topics/clicks")
    (asked,) = house.store.read_all(house.store.head() - 1)
    assert (asked.type, asked.actor) == ("topic.deletion_requested", "person:ada")
    assert asked.data == {"name": "clicks", "policy": "delete", "reason": "asked by ada: moved"}
    assert house.view().uid in house.woken
    page = browser.get("/clusters/orders/topics/clicks").text
    assert "asked by ada: moved" in page
    assert DELETE not in page


def test_a_form_that_is_sent_twice_is_recorded_once(house: House, browser: TestClient) -> None:
    form = fields(browser.get(DELETE).text, confirm="clicks")
    browser.post(DELETE, data=form)
    again = browser.post(DELETE, data=form)
    assert (again.status_code, "is being deleted already" in again.text) == (409, True)
    assert types(house).count("topic.deletion_requested") == 1


@pytest.mark.parametrize("typed", ["", "click", "CLICKS", "orders", HOSTILE])
def test_another_name_is_told_at_its_field_and_records_nothing(house: House, browser: TestClient, typed: str) -> None:
    head = house.store.head()
    answer = browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm=typed, reason="kept <b>"))
    assert answer.status_code == 422
    assert 'aria-invalid="true" aria-describedby="e-confirm"' in answer.text
    assert "Nothing was recorded." in answer.text
    assert 'value="kept &lt;b&gt;"' in answer.text, "what was typed elsewhere stays"
    assert "<img" not in answer.text
    assert house.store.head() == head


def test_a_reason_too_long_to_keep_is_told_at_its_field(house: House, browser: TestClient) -> None:
    head = house.store.head()
    answer = browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm="clicks", reason="x" * 201))
    assert (answer.status_code, "It has 201 characters; 200 are kept" in answer.text) == (422, True)
    assert house.store.head() == head


def test_it_can_be_kept_in_kafka_whatever_its_policy(house: House, browser: TestClient) -> None:
    browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm="clicks", retain="true"))
    (asked,) = house.store.read_all(house.store.head() - 1)
    assert asked.data["policy"] == "retain"


def test_a_yes_to_what_is_otherwise_by_now_is_void(house: House) -> None:
    house = house_of("retain")
    browser = house.browser("ada", OWNER)
    form = fields(browser.get(DELETE).text, confirm="clicks")
    house.apply(TOPIC.replace("partitions: 3", "partitions: 3, deletionPolicy: delete"))
    head = house.store.head()
    answer = browser.post(DELETE, data=form)
    assert answer.status_code == 409
    assert "Review it again; nothing was recorded" in answer.text
    assert "Kafka destroys it" in answer.text
    assert house.store.head() == head
    assert browser.post(DELETE, data={"confirm": "clicks"}).status_code == 409, "nothing was looked at"
    assert house.store.head() == head


def test_what_a_policy_reserves_becomes_a_proposal() -> None:
    house = house_of(policies=Shelved())
    browser = house.browser("ada", OWNER)
    text = browser.get(DELETE).text
    assert "A second person must approve" in text
    assert ">Propose</button>" in text
    answer = browser.post(DELETE, data=fields(text, confirm="clicks"))
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/proposals/")
    assert "topic.deletion_requested" not in types(house)
    browser.post(DELETE, data=fields(text, confirm="clicks", retain="true"))
    assert types(house)[-1] == "topic.deletion_requested", "what is only let go needs nobody else"


def test_a_topic_nobody_declared_has_no_deletion(browser: TestClient) -> None:
    answer = browser.get("/clusters/orders/topics/payments/delete")
    assert answer.status_code == 409
    assert "no topic &#39;payments&#39; that Kedge keeps" in answer.text


def test_a_topic_a_file_declares_is_not_deleted_while_the_file_is_there(house: House, browser: TestClient) -> None:
    form = fields(browser.get(DELETE).text, confirm="clicks")
    declared = house.view().topics.by_name["clicks"].declared
    head = house.record(TopicsDeclared((declared,), "git:teams", "clicks.yaml", "c0ffee")).version
    for answer in (browser.get(DELETE), browser.post(DELETE, data=form)):
        assert answer.status_code == 409
        assert "still declared by <code>git:teams</code>: clicks.yaml" in answer.text
    assert house.view().version == head


def test_a_topic_made_outside_is_kept_as_found_and_the_page_shows_the_file(house: House, browser: TestClient) -> None:
    path = "/clusters/orders/topics/payments"
    assert f"{path}/adopt" in browser.get(path).text
    head = house.store.head()
    text = browser.get(f"{path}/adopt").text
    assert "payments is kept by Kedge from here on, with 1 partition and 3 replicas" in text
    assert "kind: KafkaTopic" in text
    assert "name: payments" in text
    assert house.store.head() == head
    answer = browser.post(f"{path}/adopt", data=fields(text))
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    kept = house.view().topics.by_name["payments"]
    assert (kept.owned, kept.declared.partitions, kept.declared.config) == (True, 1, None)
    assert f"{path}/adopt" not in browser.get(path).text
    assert "is kept by Kedge already" in browser.get(f"{path}/adopt").text


def test_a_declared_topic_that_was_there_becomes_as_its_declaration_says() -> None:
    house = House()
    house.apply(OURS + TOPIC)
    house.snapshots[house.view().uid] = a_snapshot(a_partition("clicks-0"))
    browser = house.browser("ada", OWNER)
    text = browser.get(ADOPT).text
    assert "differences from its declaration are corrected" in text
    assert "partitions: 3" in text
    browser.post(ADOPT, data=fields(text, reason="ours"))
    (adopted,) = house.store.read_all(house.store.head() - 1)
    assert (adopted.type, adopted.data) == (
        "topics.adopted",
        {"names": ["clicks"], "reason": "asked by ada: ours"},
    )


def test_a_topic_that_changed_since_it_was_looked_at_is_not_kept_unseen(house: House, browser: TestClient) -> None:
    path = "/clusters/orders/topics/payments/adopt"
    form = fields(browser.get(path).text)
    house.snapshots[house.view().uid] = a_snapshot(a_partition("payments-0"), a_partition("payments-1"))
    head = house.store.head()
    answer = browser.post(path, data=form)
    assert (answer.status_code, "with 2 partitions" in answer.text) == (409, True)
    assert house.store.head() == head


@pytest.mark.parametrize("topic", ["nowhere", "%3Cimg%20src=x%3E", "__consumer_offsets"])
def test_what_is_not_in_kafka_cannot_be_kept(browser: TestClient, topic: str) -> None:
    answer = browser.get(f"/clusters/orders/topics/{topic}/adopt")
    assert answer.status_code == 409
    assert "<img src=x>" not in answer.text


def test_who_may_not_finds_no_link_and_is_refused(house: House) -> None:
    bob = house.browser("bob", OPERATOR)
    for topic, verb in (("clicks", "delete"), ("payments", "adopt")):
        path = f"/clusters/orders/topics/{topic}"
        assert f"{path}/{verb}" not in bob.get(path).text
        assert bob.get(f"{path}/{verb}").status_code == 403
        assert bob.post(f"{path}/{verb}", data={"confirm": topic}).status_code == 403
    assert types(house)[-1] == "topics.adopted"
