"""Who depends on a broker, over the API and as a page."""

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

VIEWER = Binding("", Role.VIEWER, "*")
PATH = "/v1/clusters/orders/brokers/1000/dependents"


@pytest.fixture
def house() -> House:
    """Broker 1000 leads both partitions of `clicks`, of one it is the only one in sync; 1001 leads `users`."""
    house = house_with_orders()
    kafka = house.kafka
    kafka.add_controller(100)
    kafka.add_broker(1000, "a")
    for topic, partitions in (("clicks", 2), ("users", 1)):
        kafka.create_topic(topic, partitions=partitions, rf=1)
    kafka.consumers.join("billing", "clicks")
    kafka.consumers.commit("elsewhere", "users", 0, 0)
    house.snapshots[house.view().uid] = a_snapshot(
        a_partition("clicks-0", (1000, 1001)),
        a_partition("clicks-1", (1000, 1002), isr=(1000,)),
        a_partition("users-0", (1001, 1000)),
    )
    return house


def test_groups_clients_topics_and_followers_are_told(house: House) -> None:
    told = house.client.get(PATH).json()
    assert [(t["topic"], t["led"], t["of"], t["written_per_s"]) for t in told["topics"]] == [("clicks", 2, 2, None)]
    assert told["followers"] == {"1001": 1, "1002": 1}
    assert told["sole"] == ["clicks-1"]
    billing, elsewhere = told["readers"]
    assert billing == {
        "group": "billing",
        "word": "Reading",
        "coordinated": True,
        "led": 2,
        "of": 2,
        "clients": ["client-1 at 127.0.0.1"],
    }
    assert (elsewhere["group"], elsewhere["led"], elsewhere["clients"]) == ("elsewhere", 0, [])
    assert told["readers_unknown"] == ""


def test_a_broker_nobody_reads_from_has_no_reader_that_does(house: House) -> None:
    told = house.client.get("/v1/clusters/orders/brokers/1002/dependents").json()
    assert (told["topics"], told["readers"], told["followers"], told["sole"]) == ([], [], {}, [])


def test_what_is_known_without_asking_is_told_while_brokers_are_silent(house: House) -> None:
    house.kafka.outage = True
    told = house.client.get(PATH).json()
    assert told["topics"]
    assert "outage" in told["readers_unknown"]
    assert "Groups could not be read" in house.browser("ada", VIEWER).get(PATH.removeprefix("/v1")).text


def test_the_page_names_clients_and_partitions_without_another_leader(house: House) -> None:
    browser = house.browser("ada", VIEWER)
    assert 'href="/clusters/orders/brokers/1000/dependents"' in browser.get("/clusters/orders/brokers/1000").text
    text = browser.get(PATH.removeprefix("/v1")).text
    for words in ("client-1 at 127.0.0.1", "1 partition would have no leader without it", "2 of 2 partitions"):
        assert words in text


def test_a_broker_that_is_not_there_and_a_cluster_nobody_read_are_said_to_be_so(house: House) -> None:
    assert house.client.get("/v1/clusters/orders/brokers/9/dependents").status_code == 404
    house.snapshots.clear()
    answer = house.client.get(PATH)
    assert (answer.status_code, answer.json()["code"]) == (503, "kafka-unknown")
