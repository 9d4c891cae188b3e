"""What brokers say they run with beside what was declared and told, on the page of differences."""

import pytest
from fastapi.testclient import TestClient

from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.controlplane.portal.test_portal_broker_page import VIEWER
from tests.unit.events.spec_texts import ORDERS

DECLARED = ORDERS.replace("log.retention.hours: 72", "num.io.threads: 8")


@pytest.fixture
def house() -> House:
    return house_with_reports()


def house_with_reports() -> House:
    """Two brokers that were told 8 I/O threads, and say so."""
    house = House()
    house.apply(DECLARED)
    told = {"num.io.threads": "8"}
    house.join(*(broker(f"brokers-{z}-0", 1000 + n, config=told) for n, z in enumerate("ab")))
    house.kafka.add_controller(100)
    for number, rack in ((1000, "a"), (1001, "b")):
        house.kafka.add_broker(number, rack)
        house.kafka.settings.files[number] = told
    return house


@pytest.fixture
def ada(house: House) -> TestClient:
    return house.browser("ada", VIEWER)


def reported(text: str) -> str:
    return text.split('id="reported"')[1].split("</section>")[0]


def test_nobody_is_asked_before_somebody_wants_to_know(house: House, ada: TestClient) -> None:
    house.kafka.outage = True
    text = ada.get("/clusters/orders/diff").text
    assert "Read from the brokers" in reported(text)
    assert "did not answer" not in text


def test_what_brokers_run_with_is_held_against_what_they_were_told_as_kafka_reads_it(
    house: House, ada: TestClient
) -> None:
    house.kafka.settings.files[1000] = {"num.io.threads": " 8"}
    text = reported(ada.get("/clusters/orders/diff?ask=true").text)
    assert "same" in text
    assert "differs" not in text


def test_a_value_set_by_hand_differs_and_names_its_broker(house: House, ada: TestClient) -> None:
    house.kafka.settings.by_hand(1001, "num.io.threads", "12")
    text = reported(ada.get("/clusters/orders/diff?ask=true").text)
    assert "differs" in text
    assert "12</span>" in text
    assert "on 1001" in text


def test_a_broker_that_does_not_answer_is_named_and_leaves_the_word_open(house: House, ada: TestClient) -> None:
    assert house.kafka.stop_broker(1001)
    house.kafka.advance(10)
    text = reported(ada.get("/clusters/orders/diff?ask=true").text)
    assert "no answer of 1001" in text
    assert "unknown" in text


def test_a_cluster_that_does_not_answer_says_so(house: House, ada: TestClient) -> None:
    house.kafka.outage = True
    assert "Kafka did not answer:" in reported(ada.get("/clusters/orders/diff?ask=true").text)
