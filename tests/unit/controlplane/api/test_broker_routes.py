"""/v1/clusters/NAME/brokers and /matrix: the tables of the portal as an API."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.levels import disk_level, skew_level
from controlplane.api.read_models.brokers import role_on
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.api.test_search_routes import ours
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

MOVING = a_partition("clicks-0", (1000, 1001), adding=(1002,), removing=(1000,))
BEHIND = a_partition("payments-0", (1000, 1001, 1002), isr=(1000, 1002))
ALONE = a_partition("logs-0", (1000,))
ORPHAN = a_partition("views-0", (1001, 1002), leader=-1, isr=())


@pytest.fixture
def house() -> House:
    house = house_with_orders()
    house.snapshots[house.view().uid] = replace(a_snapshot(MOVING, BEHIND, ALONE, ORPHAN), at=START)
    return house


def told(house: House, tail: str, **asked: str) -> dict[str, Any]:
    answer = house.client.get(f"/v1/clusters/orders/{tail}", params=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_brokers_are_told_as_in_the_table(house: House) -> None:
    found = told(house, "brokers")
    assert ([b["id"] for b in found["brokers"]], found["total"], found["recorded"]) == ([1000, 1001, 1002], 3, False)
    assert found["metadata_age_s"] == 0.0
    first = found["brokers"][0]
    assert (first["leaders"], first["replicas"], first["in_sync"], first["state"]) == (3, 3, 3, "live")
    assert (first["leader_skew"], first["leader_skew_level"]) == (2.0, "bad")
    assert (first["key"], first["zone"], first["kafka_version"]) == ("brokers-a-0.g1", "a", "4.1.1")
    assert first["disk_level"] == "good"


def test_brokers_are_filtered_and_paged(house: House) -> None:
    assert [b["id"] for b in told(house, "brokers", q="brokers-b")["brokers"]] == [1001]
    assert [b["id"] for b in told(house, "brokers", limit="2")["brokers"]] == [1000, 1001]
    last = told(house, "brokers", limit="2", after="1001")
    assert ([b["id"] for b in last["brokers"]], last["total"]) == ([1002], 3)


def test_before_kafka_was_read_what_they_hold_is_null() -> None:
    found = told(house_with_orders(), "brokers")
    assert found["metadata_age_s"] is None
    assert [(b["leaders"], b["state"], b["leader_skew_level"]) for b in found["brokers"]] == [(None, "unknown", "")] * 3


def test_a_broker_tells_what_it_is_to_each_of_its_partitions(house: House) -> None:
    found = told(house, "brokers/1001/partitions")
    roles = {(p["topic"], p["partition"]): p["role"] for p in found["partitions"]}
    assert roles == {
        ("clicks", 0): "follower",
        ("payments", 0): "follower, out of sync",
        ("views", 0): "follower, out of sync",
    }
    assert found["total"] == 3
    assert [p["topic"] for p in told(house, "brokers/1001/partitions", q="pay")["partitions"]] == ["payments"]
    second = told(house, "brokers/1001/partitions", limit="1", after="clicks-0")
    assert [p["topic"] for p in second["partitions"]] == ["payments"]


@pytest.mark.parametrize(("broker", "role"), [(1000, "leader"), (1001, "follower"), (1002, "arriving")])
def test_the_role_of_a_broker_while_a_partition_moves(broker: int, role: str) -> None:
    assert role_on(broker, MOVING) == role


def test_one_that_leaves_and_leads_no_more_is_leaving() -> None:
    assert role_on(1000, replace(MOVING, leader=1001)) == "leaving"


def test_a_broker_that_is_not_there_is_not_found(house: House) -> None:
    answer = house.client.get("/v1/clusters/orders/brokers/7/partitions")
    assert (answer.status_code, answer.json()["code"]) == (404, "broker-not-found")


def test_the_matrix_says_who_follows_whom(house: House) -> None:
    found = told(house, "matrix")
    assert (found["total"], found["leaderless"]) == (3, 1)
    first = found["rows"][0]
    assert first["followed_by"] == {"1001": 2, "1002": 1}
    assert (first["broker"], first["leads"], first["alone"], first["follows"]) == (1000, 3, 1, 0)
    assert [row["broker"] for row in told(house, "matrix", after="1000", limit="1")["rows"]] == [1001]
    assert told(house_with_orders(), "matrix")["rows"] == []


@pytest.mark.parametrize("tail", ["brokers", "brokers/1000/partitions", "matrix", "diff", "compare", "generations/1"])
def test_a_cluster_that_is_not_ones_own_is_not_there(house: House, tail: str) -> None:
    assert ours(house, scope="team:search").get(f"/v1/clusters/orders/{tail}").status_code == 404
    assert ours(house).get(f"/v1/clusters/orders/{tail}").status_code == 200


@pytest.mark.parametrize(
    ("skew", "mean", "level"),
    [
        (None, 100.0, ""),
        (0.09, 100.0, "good"),
        (0.10, 100.0, "warn"),
        (-0.15, 100.0, "warn"),
        (0.20, 100.0, "bad"),
        (-1.0, 100.0, "bad"),
        (0.2, 10 / 3, "good"),  # 4 of 10 on three brokers: nearer to even it cannot be
    ],
)
def test_levels_of_skew(skew: float | None, mean: float, level: str) -> None:
    assert skew_level(skew, mean=mean) == level


def test_levels_of_disks() -> None:
    assert [disk_level(share) for share in (None, 0.69, 0.7, 0.85)] == ["", "good", "warn", "bad"]


def test_the_page_shows_the_levels(house: House) -> None:
    text = house.browser("bob", Binding("", Role.VIEWER, "*")).get("/clusters/orders/brokers").text
    assert '<span class="word bad">+200 %</span>' in text
    assert "amber from 10 %, red from 20 %" in text
