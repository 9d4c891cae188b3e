"""The settings of a topic on a page: what is declared beside what Kafka has; and topics of Kafka itself apart."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from controlplane.kafka.errors import KafkaUnavailable
from controlplane.topicsettings import FRESH, NoTopicSettings, TopicSettingsDesk
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.portal.portal_house import House
from tests.unit.controlplane.portal.test_proposals import OURS, OWNER, TOPIC

SETTINGS = "/clusters/orders/topics/clicks/settings"
DECLARED = TOPIC.replace("partitions: 3", 'partitions: 3, config: {"retention.ms": 1000, "segment.ms": 5}')


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(OURS + DECLARED)
    return house


@pytest.fixture
def ada(house: House) -> TestClient:
    return house.browser("ada", OWNER)


class Answers:
    """Brokers that count how often they are asked."""

    def __init__(self, found: Mapping[str, Mapping[str, str]]) -> None:
        self.found, self.asked = found, 0

    def topic_configs(self, topics: list[str]) -> Mapping[str, Mapping[str, str]]:
        self.asked += 1
        return self.found


def told(house: House, found: Mapping[str, Mapping[str, str]]) -> None:
    """The brokers of the cluster answer this."""
    house.kafka = Answers(found)  # type: ignore[assignment]


def rows(text: str) -> list[str]:
    return [part.split("</tr>")[0] for part in text.split("<tr>")[2:]]


def test_each_setting_is_shown_as_declared_and_as_it_is(house: House, ada: TestClient) -> None:
    told(house, {"clicks": {"retention.ms": "1000", "cleanup.policy": "compact"}})
    text = ada.get(SETTINGS).text
    cleanup, retention, segment = rows(text)
    assert "compact" in cleanup
    assert "differs" in cleanup
    assert "same" in retention
    assert "the brokers' default" in segment.replace("&#39;", "'")
    assert "differs" in segment


def test_a_topic_that_was_not_made_yet_is_declared_and_otherwise_unknown(house: House, ada: TestClient) -> None:
    told(house, {})
    text = ada.get(SETTINGS).text
    assert "it is declared, and not made yet" in text
    assert "differs" not in text


def test_a_topic_that_nobody_knows_is_not_there(house: House, ada: TestClient) -> None:
    told(house, {})
    assert ada.get("/clusters/orders/topics/nowhere/settings").status_code == 404


def test_where_no_broker_answers_the_page_says_so_and_shows_what_is_declared(house: House, ada: TestClient) -> None:
    """No broker of that house was ever started."""
    with pytest.raises(KafkaUnavailable):
        NoTopicSettings().look(house.view(), "clicks")
    text = ada.get(SETTINGS).text
    assert "Kafka did not answer:" in text
    assert "retention.ms" in text
    assert "unknown" in text


def test_pages_that_reload_do_not_ask_the_brokers_each_time(house: House) -> None:
    kafka = Answers({"clicks": {"a": "1"}})
    desk = TopicSettingsDesk(lambda view: kafka, lambda: house.now)  # type: ignore[arg-type, return-value]
    assert [desk.look(house.view(), "clicks") for _ in range(3)] == [{"a": "1"}] * 3
    assert kafka.asked == 1
    house.now += FRESH + timedelta(seconds=1)
    assert desk.look(house.view(), "clicks") == {"a": "1"}
    assert kafka.asked == 2
    assert desk.look(house.view(), "gone") is None


def test_topics_of_kafka_itself_are_apart(house: House, ada: TestClient) -> None:
    house.snapshots[house.view().uid] = a_snapshot(
        a_partition("clicks-0", (1000,)), a_partition("__consumer_offsets-0", (1000,))
    )
    topics = "/clusters/orders/topics"
    assert "__consumer_offsets" not in ada.get(topics).text
    assert "with 1 of Kafka itself" in ada.get(topics).text
    assert "__consumer_offsets" in ada.get(f"{topics}?internal=true").text
    assert "__consumer_offsets" in ada.get(f"{topics}?q=__con").text
