"""A cluster as it was: what was declared and decided by a position or a moment, and nothing that is of now."""

from datetime import timedelta

import pytest

from controlplane.portal.access.bindings import Binding
from controlplane.portal.access.roles import Role
from events import facts
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.portal.portal_house import START, House, three_brokers
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture
def house() -> House:
    """`orders`: declared at 12:00, its brokers joined at 13:00, Kafka 4.1.1 -> 4.2.0 declared at 14:00."""
    house = House()
    house.apply(OURS)
    house.pass_time(hours=1)
    house.join(*three_brokers())
    house.record(facts.ConditionChanged("Blocked", True, "NoRoom", "no room for another VM"))
    house.pass_time(hours=1)
    house.apply(OURS.replace("4.1.1", "4.2.0"))
    return house


def at(house: House, when: object, name: str = "orders") -> dict[str, object]:
    answer = house.client.get(f"/v1/clusters/{name}", params={"at": str(when)})
    assert answer.status_code == 200, answer.text
    told: dict[str, object] = answer.json()
    return told


def test_a_cluster_is_told_as_it_was_at_a_moment(house: House) -> None:
    then = at(house, (START + timedelta(minutes=90)).isoformat())
    assert (then["generation"], then["kafka_version"], then["status"]) == (1, "4.1.1", "Blocked")
    assert len(then["instances"]) == 3  # type: ignore[arg-type]
    assert then["past"]["at"] == "2026-01-01T13:00:00Z"  # type: ignore[index]
    before = at(house, "2026-01-01T12:30")
    assert before["instances"] == []
    assert before["conditions"] == []
    assert at(house, house.store.head())["kafka_version"] == "4.2.0"


def test_each_position_shows_the_fold_up_to_it(house: House) -> None:
    events = house.client.get("/v1/clusters/orders/events").json()["events"]
    first, last = events[0]["position"], events[-1]["position"]
    seen = [at(house, position) for position in range(first, last + 1)]
    assert [s["past"]["position"] for s in seen] == list(range(first, last + 1))  # type: ignore[index]
    assert [s["stream_version"] for s in seen] == list(range(1, len(seen) + 1))


def test_what_is_observed_now_is_no_part_of_the_past(house: House) -> None:
    uid = house.view().uid
    house.snapshots[uid] = a_snapshot(a_partition("payments-0"), at=house.now)
    house.progress = "creating a VM"
    then = at(house, "2026-01-01T13:30")
    assert (then["partitions"], then["sentence"], then["features"]) == (None, "", {})
    assert then["past"]["placement"].startswith("not kept")  # type: ignore[index]


def test_the_rolls_are_told_as_they_were(house: House) -> None:
    then = house.client.get("/v1/clusters/orders/rolls", params={"at": "2026-01-01T12:30"}).json()
    now = house.client.get("/v1/clusters/orders/rolls").json()
    assert then["past"]["at"] == "2026-01-01T12:00:00Z"
    assert now["past"] is None
    assert {s["change"] for s in then["rolls"][0]["steps"]} == {"create"}


@pytest.mark.parametrize("when", ["0", "9999", "yesterday", "2020-01-01T00:00Z", "1" * 30])
def test_a_moment_the_log_does_not_have_is_refused(house: House, when: str) -> None:
    answer = house.client.get("/v1/clusters/orders", params={"at": when})
    assert (answer.status_code, answer.json()["code"]) == (422, "no-such-moment")


def test_before_it_was_declared_there_was_no_cluster(house: House) -> None:
    house.apply(ORDERS.replace("name: orders", "name: ledger"))
    answer = house.client.get("/v1/clusters/ledger", params={"at": "3"})
    assert (answer.status_code, answer.json()["code"]) == (404, "no-cluster-then")


def test_the_page_says_that_it_is_the_past_and_leads_back(house: House) -> None:
    page = house.client.get("/clusters/orders/past?at=2026-01-01T13:30", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "This is the past." in page.text
    assert "no room for another VM" in page.text
    assert "not kept" in page.text
    assert 'href="/clusters/orders"' in page.text
    assert "4.2.0" not in page.text


def test_who_may_not_read_a_cluster_may_not_read_its_past(house: House) -> None:
    stranger = house.browser("eve", Binding("", Role.VIEWER, "team:search"))
    assert stranger.get("/clusters/orders/past?at=2").status_code == 404
