"""Measurements about an anomaly, over the API and as a page: latencies beside those of peers, learned rates."""

from datetime import timedelta

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.storage.latest_values import LatestValue, Subject
from controlplane.storage.streams import anomalies_stream
from events import facts
from events.codec import encode
from events.envelope import Origin
from planner.anomalies.slow import BrokerWindow
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

VIEWER = Binding("", Role.VIEWER, "*")
PATH = "/v1/clusters/orders/anomalies"


@pytest.fixture
def house() -> House:
    """Broker 1000 of brokers-a-0 was found slow; the rate of `clicks` was found odd; a disk failed."""
    house = house_with_orders()
    found = [
        facts.AnomalyFound("orders-1", "orders", "slow-broker", "brokers-a-0", "90 ms", "waiting", "off"),
        facts.AnomalyFound("orders-2", "orders", "topic-anomaly", "clicks (rate)", "9/s", "waiting", "why"),
        facts.AnomalyFound("orders-3", "orders", "disk-failure", "brokers-b-0", "failed", "waiting", "why"),
        facts.AnomalyFound("orders-4", "orders", "hot-broker", "brokers-a-0", "82%", "waiting", "off"),
    ]
    house.store.append(
        anomalies_stream(house.view().uid),
        [encode(fact, f"e{n}") for n, fact in enumerate(found)],
        expected_version=0,
        origin=Origin("anomalies"),
    )
    return house


def measure(house: House, *, hours: float, own: float, peers: tuple[float, ...]) -> None:
    """One window that ended so many hours ago."""
    end = house.now - timedelta(hours=hours)
    for broker, value in enumerate((own, *peers), start=1000):
        figures = {"produce_local_p99_ms": value}
        house.windows.kept.append(BrokerWindow(broker, end - timedelta(minutes=5), end, None, 1.0, figures))


def test_latencies_of_a_slow_broker_are_told_beside_the_median_of_its_peers(house: House) -> None:
    measure(house, hours=1, own=90.0, peers=(8.0, 12.0))
    measure(house, hours=2, own=7.0, peers=(8.0, 9.0))
    measure(house, hours=9, own=1.0, peers=(1.0, 1.0))
    told = house.client.get(f"{PATH}/orders-1").json()
    assert (told["anomaly"]["id"], told["why_none"]) == ("orders-1", "")
    (series,) = told["series"]
    assert (series["name"], series["unit"], len(series["times"])) == ("produce_local_p99_ms", "ms", 2)
    assert series["lines"] == [
        {"name": "broker 1000", "values": [7.0, 90.0]},
        {"name": "median of its peers", "values": [8.5, 10.0]},
    ]


def test_cpu_and_bytes_of_a_hot_broker_are_told_with_their_units(house: House) -> None:
    end = house.now - timedelta(hours=1)
    for broker, cpu in ((1000, 0.82), (1001, 0.3), (1002, 0.2)):
        figures = {"cpu": cpu, "nic_out_bytes_per_s": 2e6, "produce_local_p99_ms": 9.0}
        house.windows.kept.append(BrokerWindow(broker, end - timedelta(minutes=5), end, None, 1.0, figures))
    told = house.client.get(f"{PATH}/orders-4").json()["series"]
    assert [(s["name"], s["unit"]) for s in told] == [("cpu", "of the machine"), ("nic_out_bytes_per_s", "bytes/s")]
    assert [line["values"] for line in told[0]["lines"]] == [[0.82], [0.25]]


def test_the_page_breaks_the_line_where_nothing_was_measured_and_says_how_often(house: House) -> None:
    measure(house, hours=1, own=90.0, peers=(8.0,))
    measure(house, hours=3, own=7.0, peers=(8.0,))
    text = house.browser("ada", VIEWER).get("/clusters/orders/anomalies/orders-1").text
    assert "broker 1000 7 to 90, median of its peers 8 to 8; 1 times nothing was measured" in text
    assert "null" in text.split('data-chart="')[1].split('"')[0]


def test_what_was_learned_of_a_rate_is_told_by_the_hour(house: House) -> None:
    days = [{"day": "2025-12-30", "per_s": [4.0, 6.0]}, {"day": "2025-12-31", "per_s": [7.0]}]
    subject = Subject("topic-rates-12", house.view().uid, "clicks")
    house.latest.put(LatestValue(subject, {"days": days}, "kafka", house.now))
    (series,) = house.client.get(f"{PATH}/orders-2").json()["series"]
    assert (series["times"], series["lines"][0]["values"]) == (
        ["2025-12-30T12:30:00Z", "2025-12-31T12:30:00Z"],
        [5.0, 7.0],
    )


@pytest.mark.parametrize(
    ("anomaly", "words"),
    [
        ("orders-1", "the metric lake has no windows"),
        ("orders-2", "of topics whose usual rate is learned"),
        ("orders-3", "nothing of this kind is measured"),
    ],
)
def test_where_there_is_no_chart_it_is_said_why(house: House, anomaly: str, words: str) -> None:
    told = house.client.get(f"{PATH}/{anomaly}").json()
    assert (told["series"], words in told["why_none"]) == ([], True)
    page = house.browser("ada", VIEWER).get(f"/clusters/orders/anomalies/{anomaly}").text
    assert words in page
    assert "uplot" not in page


def test_an_anomaly_that_is_not_there_is_said_not_to_be(house: House) -> None:
    answer = house.client.get(f"{PATH}/orders-9")
    assert (answer.status_code, answer.json()["code"]) == (404, "anomaly-not-found")
