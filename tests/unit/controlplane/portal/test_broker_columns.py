"""What the list of brokers and the page of one tell beside what Kafka counts: since when it runs, from which image, who
is the active controller, and whose word each setting is."""

from dataclasses import replace
from datetime import timedelta

from controlplane.api.read_models.topic_rates import rated, rates_by_topic
from controlplane.api.read_models.topics import topic_rows
from controlplane.cluster.observed.traffic import Traffic
from controlplane.portal.broker_settings import wanted_by
from controlplane.runtime.short_cache import FRESH
from events import facts
from planner.broker_answers import ValueOrigin
from planner.observed import TopicPartition
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House, broker
from tests.unit.controlplane.portal.test_portal_broker_page import VIEWER, house_with, report

IMAGED = replace(broker(), image=facts.PlannedImage("4.1.1-r7", {}))


def test_a_broker_runs_since_its_agent_says_so_and_an_old_word_says_nothing_of_now() -> None:
    house = house_with(a_partition())
    ada = house.browser("ada", VIEWER)
    report(house, 1000)
    text = ada.get("/clusters/orders/brokers").text
    assert text.count("data-ago") == 2, "the age of the metadata, and the start of the one broker that reports"
    house.pass_time(minutes=4)
    assert ada.get("/clusters/orders/brokers").text.count("data-ago") == 1


def test_a_broker_that_its_agent_calls_stopped_runs_since_no_time() -> None:
    house = house_with(a_partition())
    report(house, 1000, "stopped")
    text = house.browser("ada", VIEWER).get("/clusters/orders/brokers/1000").text
    assert "<dt>Runs since</dt><dd>" + '<span class="soft">unknown</span>' in text


def test_reports_are_read_once_for_pages_that_come_together() -> None:
    house = house_with(a_partition())
    ada = house.browser("ada", VIEWER)
    assert ada.get("/clusters/orders/brokers").text.count("data-ago") == 1
    report(house, 1000)
    assert ada.get("/clusters/orders/brokers").text.count("data-ago") == 1, "what was read a moment ago"
    house.pass_time(seconds=FRESH.total_seconds())
    assert ada.get("/clusters/orders/brokers").text.count("data-ago") == 2


def test_the_revision_a_vm_is_made_from_is_shown_and_found() -> None:
    house = House()
    house.apply()
    house.join(IMAGED)
    ada = house.browser("ada", VIEWER)
    assert "4.1.1-r7" in ada.get("/clusters/orders/brokers").text
    assert "1 of 1" in ada.get("/clusters/orders/brokers?q=r7").text
    assert "0 of 1" in ada.get("/clusters/orders/brokers?q=r8").text
    assert "4.1.1-r7" in ada.get("/clusters/orders/brokers/1000").text


def test_the_active_controller_is_marked_among_those_that_vote() -> None:
    text = house_with(a_partition()).browser("ada", VIEWER).get("/clusters/orders/brokers").text
    quorum = text.split("<h2>Controllers</h2>")[1]
    assert quorum.count("leads the quorum") == 1
    assert quorum.count("votes") == 2
    assert "leads the quorum" in quorum.split('<th scope="row">101')[0]


def test_in_zookeeper_mode_a_broker_is_the_controller() -> None:
    house = house_with(a_partition())
    house.snapshots[house.view().uid] = a_snapshot(a_partition(), mode="zookeeper", controller=1001, at=START)
    text = house.browser("ada", VIEWER).get("/clusters/orders/brokers").text
    assert "★ controller" in text.split("/brokers/1001")[1].split("</tr>")[0]
    assert "★ controller" not in text.split("/brokers/1000")[1].split("</tr>")[0]


def test_each_setting_says_whose_word_it_is() -> None:
    house = House()
    house.apply()
    view = house.join(broker(settings={"num.io.threads": "8", "log.dirs": "/d"}))
    (instance,) = view.brokers()
    told = replace(instance, start=replace(instance.start, config={"num.io.threads": "8"}))
    assert wanted_by(view, told, "num.io.threads", ValueOrigin.FILE) == "the spec"
    assert wanted_by(view, told, "log.dirs", ValueOrigin.FILE) == "Kedge"
    assert wanted_by(view, told, "zookeeper.connect", ValueOrigin.FILE) == "its file"
    assert wanted_by(view, told, "log.cleaner.threads", ValueOrigin.KAFKA_DEFAULT) == "Kafka"
    assert wanted_by(view, told, "log.cleaner.threads", ValueOrigin.BROKER_LIVE) == "set by hand"
    assert wanted_by(view, told, "min.insync.replicas", ValueOrigin.CLUSTER_LIVE) == "Kedge"
    assert wanted_by(view, told, "leader.replication.throttled.rate", ValueOrigin.BROKER_LIVE) == "a throttle"
    live = replace(view, settings=replace(view.settings, live={"num.io.threads": "16"}))
    assert wanted_by(live, told, "num.io.threads", ValueOrigin.CLUSTER_LIVE) == "the spec"


def test_a_broker_tells_by_its_own_word_what_it_runs_with() -> None:
    house = house_with(a_partition())
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    house.kafka.settings.by_hand(1000, "num.io.threads", "12")
    ada = house.browser("ada", VIEWER)
    text = ada.get("/clusters/orders/brokers/1000/settings").text
    row = text.split("num.io.threads")[1].split("</tr>")[0]
    assert "12" in row
    assert "set by hand" in row
    assert "num.recovery.threads" not in text, "defaults are shown on request"
    assert "num.recovery.threads" in ada.get("/clusters/orders/brokers/1000/settings?every=true").text
    told = house.client.get("/v1/clusters/orders/brokers/1000/settings").json()["values"]
    assert next(v for v in told if v["name"] == "num.io.threads")["origin"] == "broker"
    assert house.client.get("/v1/clusters/orders/brokers/4711/settings").status_code == 404
    silent = ada.get("/clusters/orders/brokers/1001/settings").text
    assert "The broker did not answer:" in silent
    assert house.client.get("/v1/clusters/orders/brokers/1001/settings").status_code == 503


def test_a_topic_is_written_to_as_fast_as_its_partitions_together_where_all_are_known() -> None:
    names = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
    traffic = Traffic(write_bytes_per_s=dict(zip(names, (1.0, 2.0, 4.0), strict=True)), at=START, over_s=30)
    rows = topic_rows(a_snapshot(a_partition("a-0"), a_partition("a-1"), a_partition("b-0"), a_partition("b-1")))
    assert [r.write_bytes_per_s for r in rated(rows, rates_by_topic(traffic))] == [3.0, None]
    assert [r.write_bytes_per_s for r in rated(rows, {})] == [None, None]


def test_a_topic_tells_when_this_server_first_saw_a_replica_behind() -> None:
    behind = a_partition("orders-0", isr=(1000, 1001))
    house = house_with(behind)
    snapshot = house.snapshots[house.view().uid]
    house.converger._observer._brokers.replica_lag.see(
        house.view().uid, replace(snapshot, at=START - timedelta(minutes=9))
    )
    text = house.browser("ada", VIEWER).get("/clusters/orders/topics/orders").text
    assert "seen <time" in text
    assert ">9 min ago</time>" in text
