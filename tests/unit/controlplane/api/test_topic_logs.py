"""Where the logs of a topic begin and end, and how fast they grow: asked when somebody looks, honest about the rest."""

from datetime import datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from controlplane.api.presenters.queries import topic_logs_out
from controlplane.background.broker_queries import KafkaQueryService, LogsSeen
from controlplane.cluster.observed.traffic import Traffic
from controlplane.runtime.short_cache import FRESH, ShortCache
from planner.broker_answers import LogBounds, TopicLogs
from planner.observed import TopicPartition
from spark.metrics.rates import Rate, Rates
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.api.test_proposals import OURS, OWNER

LOGS = "/clusters/orders/topics/clicks/logs"


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(OURS)
    kafka = house.kafka
    kafka.add_controller(100)
    kafka.add_broker(1000, "a")
    kafka.create_topic("clicks", partitions=2, rf=1)
    return house


@pytest.fixture
def ada(house: House) -> TestClient:
    return house.browser("ada", OWNER)


def logs(seconds: float, *ends: int | None) -> TopicLogs:
    at = START + timedelta(seconds=seconds)
    return TopicLogs(at, {number: LogBounds(0, end) for number, end in enumerate(ends)})


def test_first_and_end_of_each_log_are_told_with_the_records_between(house: House, ada: TestClient) -> None:
    house.kafka.consumers.produce("clicks", 0, 1200)
    house.kafka.consumers.firsts[TopicPartition("clicks", 0)] = 200
    told = house.client.get("/v1" + LOGS).json()
    assert told["records"] == 1000
    assert told["records_per_s"] is None, "one look tells no rate"
    first, second = told["partitions"]
    assert (first["first"], first["end"], first["records"]) == (200, 1200, 1000)
    assert (second["first"], second["end"], second["records"]) == (0, 0, 0)
    page = house.client.get("/v1" + LOGS, params={"limit": 1})
    assert (page.json()["partitions"], page.json()["records"]) == ([first], 1000), "sums are of the whole topic"
    assert house.client.get(page.links["next"]["url"]).json()["partitions"] == [second]
    text = ada.get(LOGS).text
    assert "1200" in text
    assert "unknown until a second reading" in text


def test_a_second_look_tells_how_fast_records_come(house: House, ada: TestClient) -> None:
    house.client.get("/v1" + LOGS)
    house.kafka.consumers.produce("clicks", 1, 500)
    house.pass_time(seconds=FRESH.total_seconds())
    told = house.client.get("/v1" + LOGS).json()
    assert told["apart_s"] == 10
    assert [p["records_per_s"] for p in told["partitions"]] == [0, 50]
    assert told["records_per_s"] == 50
    assert "the growth in 10 s between two readings" in ada.get(LOGS).text


@pytest.mark.parametrize("apart_s", [4.0, 601.0])
def test_readings_too_close_or_too_far_apart_tell_no_rate(apart_s: float) -> None:
    seen = LogsSeen(logs(apart_s, 100), logs(0, 0))
    assert seen.apart_s is None
    assert seen.records_per_s(0) is None


def test_a_log_that_ends_before_it_did_is_another_one_and_tells_no_rate() -> None:
    assert LogsSeen(logs(10, 5), logs(0, 100)).records_per_s(0) is None


def test_a_partition_whose_leader_did_not_tell_leaves_the_sum_unknown() -> None:
    out = topic_logs_out("orders", "clicks", LogsSeen(logs(0, 5, None)), Traffic(), None, now=START)
    assert [p.records for p in out.partitions] == [5, None]
    assert out.records is None


def test_bytes_are_the_lakes_where_it_has_them_and_else_the_growth_of_the_logs() -> None:
    seen = LogsSeen(logs(0, 5))
    grown = Traffic(write_bytes_per_s={TopicPartition("clicks", 0): 3.0}, at=START, over_s=30)
    by_logs = topic_logs_out("orders", "clicks", seen, grown, None, now=START)
    assert (by_logs.write_bytes_per_s, by_logs.read_bytes_per_s) == (3.0, None)
    assert by_logs.rates_from == "growth of the leaders' logs over 30 s, 0 s old"
    lake = Rates(by_partition={("clicks", 0): Rate(7.0, 9.0)}, age_s=60, reason="rates from 3 windows")
    measured = topic_logs_out("orders", "clicks", seen, grown, lake, now=START)
    assert (measured.write_bytes_per_s, measured.read_bytes_per_s) == (7.0, 9.0)
    assert measured.rates_from == "rates from 3 windows"


def test_a_lake_that_stands_still_is_no_word_about_now(house: House) -> None:
    ages = iter((60.0, 3600.0))

    def read(lake: str, uid: str, now: datetime) -> Rates:
        return Rates(by_partition={("clicks", 0): Rate(1.0, 1.0)}, age_s=next(ages), reason="")

    service = KafkaQueryService(lambda view: house.kafka, lambda: house.now, lake="/lake", read=read)
    assert service.lake_rates(house.view()) is not None
    house.pass_time(minutes=2)
    assert service.lake_rates(house.view()) is None


def test_a_topic_that_is_gone_is_not_there_and_a_cluster_that_is_silent_is_unavailable(
    house: House, ada: TestClient
) -> None:
    assert house.client.get("/v1/clusters/orders/topics/gone/logs").status_code == 404
    assert ada.get("/clusters/orders/topics/gone/logs").status_code == 404
    house.kafka.outage = True
    assert house.client.get("/v1" + LOGS).status_code == 503
    assert "Kafka did not answer:" in ada.get(LOGS).text


def test_whoever_asks_after_a_failure_gets_the_failure_and_waits_for_none_of_their_own(house: House) -> None:
    house.kafka.outage = True
    assert house.client.get("/v1" + LOGS).status_code == 503
    house.kafka.outage = False
    assert house.client.get("/v1" + LOGS).status_code == 503
    house.pass_time(seconds=FRESH.total_seconds())
    assert house.client.get("/v1" + LOGS).status_code == 200


def test_only_the_answers_asked_for_last_are_kept() -> None:
    asked: list[str] = []
    cache: ShortCache[str, str] = ShortCache(lambda: START, most=2)

    def ask(key: str) -> str:
        asked.append(key)
        return key

    for key in ("a", "b", "a", "c", "b"):
        assert cache.look(key, lambda _, key=key: ask(key)) == key
    assert asked == ["a", "b", "c", "b"]
