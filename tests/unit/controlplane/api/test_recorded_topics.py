"""Topics of a cluster whose Kafka the server that is asked has not read: as they were recorded, with their age."""

from dataclasses import replace

from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.background.topic_placement.reconciler import PlacementReconciler
from controlplane.background.topic_placement.snapshot import RecordedPlacements
from controlplane.portal.app import create_app
from events.ids import Epoch
from tests.builders import a_partition, a_snapshot
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.placements import MemoryPlacementStore
from tests.unit.controlplane.api.portal_house import TOKEN, House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

ADMIN = Binding("", Role.ADMIN, "*")


def restarted_house(size_bytes: int = 1000) -> House:
    """A server that read Kafka, recorded what it read, and has started anew three minutes later."""
    house = house_with_orders()
    uid = house.view().uid
    out = a_partition("payments-1", (1001, 1002), isr=(1001,), min_isr=1)
    every = (replace(p, size_bytes=size_bytes) for p in (a_partition("payments-0"), out, a_partition("refunds-0")))
    seen = a_snapshot(*every, at=house.now)
    house.snapshots[uid] = seen if size_bytes else replace(seen, log_dirs={})
    store, latest = MemoryPlacementStore(), MemoryLatestStore()
    PlacementReconciler(house.services.fleet.clusters, store, latest, lambda: Epoch(1)).poll()
    del house.snapshots[uid]
    recorded = RecordedPlacements(store, latest, lambda: house.now)
    house.app = create_app(replace(house.services, brokers=replace(house.services.brokers, placements=recorded)))
    house.pass_time(minutes=3)
    return house


def person(house: House) -> TestClient:
    return house.client_with({"Authorization": f"Bearer {TOKEN}"})


def test_the_table_of_topics_is_there_with_its_age_and_says_whose_it_is() -> None:
    house = restarted_house()
    text = house.browser("ada", ADMIN).get("/clusters/orders/topics").text
    assert 'href="/clusters/orders/topics/payments"' in text
    assert "by another server, or before this one started: sizes are of " in text
    assert text.count("3 min ago") == 2, "of the look and of the sizes"
    assert "sizes are not known" not in text


def test_sizes_that_were_not_recorded_are_unknown_and_never_nought() -> None:
    house = restarted_house(size_bytes=0)
    browser = house.browser("ada", ADMIN)
    assert "sizes are not known here" in browser.get("/clusters/orders/topics").text
    assert "size unknown" in browser.get("/clusters/orders/topics/payments").text
    one = browser.get("/clusters/orders/brokers/1002").text
    assert "sizes are not known here" in one
    assert "0 B" not in one
    found = person(house).get("/v1/clusters/orders/topics").json()
    assert (found["sizes_age_s"], found["topics"][0]["observed"]["size_bytes"]) == (None, None)


def test_the_partitions_of_a_topic_are_there_with_what_is_wrong_with_them() -> None:
    house = restarted_house()
    browser = house.browser("ada", ADMIN)
    text = browser.get("/clusters/orders/topics/payments").text
    assert "out of sync" in text
    assert "size unknown" not in text
    assert browser.get("/clusters/orders/topics/nothing").status_code == 404


def test_the_api_tells_what_was_recorded_as_such_and_figures_that_nobody_read_as_unknown() -> None:
    house = restarted_house()
    found = person(house).get("/v1/clusters/orders/topics").json()
    assert (found["recorded"], found["metadata_age_s"], found["total"]) == (True, 180.0, 2)
    assert found["sizes_age_s"] == 180.0
    observed = found["topics"][0]["observed"]
    assert (observed["partitions"], observed["under_replicated"], observed["size_bytes"]) == (2, 1, 2000)
    one = person(house).get("/v1/clusters/orders/topics/refunds").json()
    assert one["observed"]["min_isr"] == 2
    sheet = house.browser("ada", ADMIN).get("/clusters/orders/topics.csv")
    assert sheet.text.count("\n") == 3


def test_the_matrix_is_drawn_from_what_was_recorded_with_zones_as_planned() -> None:
    house = restarted_house()
    text = house.browser("ada", ADMIN).get("/clusters/orders/matrix").text
    assert "by another server, or before this one started: who is registered is not known here" in text
    assert '<a class="to" href="/clusters/orders/brokers/1000">1000</a></th><td>a</td><td class="num">2</td>' in text
    assert "not registered" not in text


def test_brokers_are_told_with_what_they_hold_and_not_whether_they_live() -> None:
    house = restarted_house()
    browser = house.browser("ada", ADMIN)
    text = browser.get("/clusters/orders/brokers").text
    assert "who is live, disks and the quorum are not known here" in text
    assert '<td class="num">0</td><td class="num">3</td><td class="num">2</td>' in text, "1002 leads none"
    assert "not registered" not in text
    sheet = browser.get("/clusters/orders/brokers.csv").text.splitlines()
    assert "unknown" in sheet[1]
    one = browser.get("/clusters/orders/brokers/1002").text
    assert "that is needed to say whether a restart is safe" in one
    assert one.count("follower") >= 3
    assert "3 of 3" in one
    assert "sizes are of " in one
    assert one.count("1000 B") == 3, "as they were recorded"


def test_a_broker_of_a_cluster_nobody_read_is_not_said_to_be_empty() -> None:
    house = house_with_orders()
    text = house.browser("ada", ADMIN).get("/clusters/orders/brokers/1000").text
    assert "so its partitions are not known" in text
    assert "No replica is on it" not in text


def test_what_this_server_reads_itself_goes_before_what_was_recorded() -> None:
    house = restarted_house()
    house.snapshots[house.view().uid] = a_snapshot(a_partition("fresh-0"), at=house.now)
    found = person(house).get("/v1/clusters/orders/topics").json()
    assert (found["recorded"], [t["name"] for t in found["topics"]]) == (False, ["fresh"])
    assert "by another server" not in house.browser("ada", ADMIN).get("/clusters/orders/topics").text


def test_a_cluster_nobody_ever_read_has_no_age() -> None:
    house = house_with_orders()
    found = house.client.get("/v1/clusters/orders/topics").json()
    assert (found["recorded"], found["metadata_age_s"], found["topics"]) == (False, None, [])


def test_topics_of_a_cluster_one_may_not_read_stay_unknown() -> None:
    stranger = restarted_house().browser("eve", Binding("", Role.VIEWER, "team:search"))
    assert stranger.get("/clusters/orders/topics").status_code == 404
