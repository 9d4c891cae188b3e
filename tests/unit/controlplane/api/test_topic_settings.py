"""The settings of a topic on a page: what is declared beside what counts in Kafka and what is behind it; and topics of
Kafka itself apart."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from controlplane.kafka.errors import KafkaUnavailable
from controlplane.runtime.short_cache import FRESH
from planner.broker_answers import ValueOrigin, ValueSeen
from tests.builders import a_partition, a_snapshot
from tests.fakes.services import NoKafkaQueries
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import OURS, OWNER, TOPIC

SETTINGS = "/clusters/orders/topics/clicks/settings"
DECLARED = TOPIC.replace("partitions: 3", 'partitions: 3, config: {"retention.ms": "01000", "segment.ms": 5}')


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(OURS + DECLARED)
    return house


@pytest.fixture
def ada(house: House) -> TestClient:
    return house.browser("ada", OWNER)


def running(house: House, own: dict[str, str] | None) -> None:
    """The cluster's Kafka runs, and has the topic with these settings of its own; with None it has no such topic."""
    kafka = house.kafka
    kafka.add_controller(100)
    for broker in (1000, 1001, 1002):
        kafka.add_broker(broker, "a")
    if own is not None:
        kafka.create_topic("clicks", partitions=3, rf=3)
        kafka.topics.set_by_hand("clicks", own)


def rows(text: str) -> dict[str, str]:
    parts = [part.split("</tr>")[0] for part in text.split("<tr>")[2:]]
    return {part.split('class="mono">')[1].split("<")[0]: part for part in parts}


def test_each_setting_is_shown_as_declared_and_as_it_counts(house: House, ada: TestClient) -> None:
    running(house, {"retention.ms": "1000", "cleanup.policy": "compact"})
    found = rows(ada.get(SETTINGS).text)
    assert list(found) == ["cleanup.policy", "retention.ms", "segment.ms"], "what nobody set is left out"
    assert "compact" in found["cleanup.policy"]
    assert "differs" in found["cleanup.policy"]
    assert "same" in found["retention.ms"], "Kafka reads 01000 and 1000 alike"
    assert "differs" in found["segment.ms"]


def test_what_would_count_without_a_setting_is_told_with_where_it_comes_from(house: House, ada: TestClient) -> None:
    running(house, {"retention.ms": "1000", "cleanup.policy": "compact", "min.insync.replicas": "1"})
    found = rows(ada.get(SETTINGS).text)
    assert "delete</span>" in found["cleanup.policy"]
    assert "Kafka&#39;s default" in found["cleanup.policy"]
    assert "Kafka does not tell" in found["retention.ms"]
    assert "set live for all brokers" in found["min.insync.replicas"]
    every = rows(ada.get(f"{SETTINGS}?every=true").text)
    assert len(every) > 20
    assert "Kafka&#39;s default" in every["compression.type"]


def test_a_topic_that_was_not_made_yet_is_declared_and_otherwise_unknown(house: House, ada: TestClient) -> None:
    running(house, None)
    text = ada.get(SETTINGS).text
    assert "does not have the topic yet; it is declared" in text
    assert "differs" not in text


def test_a_topic_that_nobody_knows_is_not_there(house: House, ada: TestClient) -> None:
    running(house, None)
    assert ada.get("/clusters/orders/topics/nowhere/settings").status_code == 404
    assert house.client.get("/v1/clusters/orders/topics/nowhere/settings").status_code == 404


def test_where_no_broker_answers_the_page_says_so_and_shows_what_is_declared(house: House, ada: TestClient) -> None:
    """No broker of that house was ever started."""
    for ask in (NoKafkaQueries().topic_values, NoKafkaQueries().topic_logs):
        with pytest.raises(KafkaUnavailable):
            ask(house.view(), "clicks")
    text = ada.get(SETTINGS).text
    assert "Kafka did not answer:" in text
    assert "retention.ms" in text
    assert "unknown" in text
    assert house.client.get("/v1/clusters/orders/topics/clicks/settings").status_code == 503


def test_pages_that_reload_do_not_ask_the_brokers_each_time(house: House) -> None:
    running(house, {"retention.ms": "1000"})
    queries = house.services.brokers.kafka_queries
    assert (queries.topic_values(house.view(), "clicks") or {})["retention.ms"].value == "1000"
    house.kafka.topics.set_by_hand("clicks", {"retention.ms": "2000"})
    assert (queries.topic_values(house.view(), "clicks") or {})["retention.ms"].value == "1000"
    house.now += FRESH + timedelta(seconds=1)
    assert (queries.topic_values(house.view(), "clicks") or {})["retention.ms"].value == "2000"


def test_a_program_reads_where_each_value_comes_from_and_what_is_behind_it(house: House) -> None:
    running(house, {"retention.ms": "1000", "cleanup.policy": "compact"})
    answer = house.client.get("/v1/clusters/orders/topics/clicks/settings").json()
    told = {v["name"]: v for v in answer["values"]}
    assert told["retention.ms"] == {
        "name": "retention.ms",
        "value": "1000",
        "origin": "topic",
        "secret": False,
        "declared": "01000",
        "behind": None,
        "behind_origin": "",
        "behind_name": "",
    }
    assert (told["cleanup.policy"]["behind"], told["cleanup.policy"]["behind_origin"]) == ("delete", "kafka")
    assert told["compression.type"]["origin"] == "kafka"
    seen = house.services.brokers.kafka_queries.topic_values(house.view(), "clicks")
    assert seen is not None
    default = ("delete", ValueOrigin.KAFKA_DEFAULT, "cleanup.policy")
    assert seen["cleanup.policy"] == ValueSeen("compact", ValueOrigin.TOPIC, *default)


def test_topics_of_kafka_itself_are_apart(house: House, ada: TestClient) -> None:
    house.snapshots[house.view().uid] = a_snapshot(
        a_partition("clicks-0", (1000,)), a_partition("__consumer_offsets-0", (1000,))
    )
    topics = "/clusters/orders/topics"
    assert "__consumer_offsets" not in ada.get(topics).text
    assert "with 1 of Kafka and Kedge themselves" in ada.get(topics).text
    assert "__consumer_offsets" in ada.get(f"{topics}?internal=true").text
    assert "__consumer_offsets" in ada.get(f"{topics}?q=__con").text
