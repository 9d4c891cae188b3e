"""A cluster as it was: what was declared and decided by a position or a moment, and nothing that is of now."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.portal.app import create_app
from events import facts
from events.ids import ClusterUid
from spark.metrics.placement import Held, WindowPlacement
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import START, TOKEN, House, three_brokers
from tests.unit.controlplane.api.test_api_tokens import program, token_of
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


class Lake:
    """A lake that knows two partitions of one topic from 13:00 on."""

    hint = "in the lake"

    def __init__(self) -> None:
        self.asked: list[datetime] = []

    def then(self, uid: ClusterUid, moment: datetime) -> WindowPlacement:
        self.asked.append(moment)
        if moment < START + timedelta(hours=1):
            return WindowPlacement(reason="not kept: too long ago")
        held = {
            ("payments", 0): Held((1000, 1001), (1001,), 2048),
            ("payments", 1): Held((1001, 1002), (), None),
        }
        return WindowPlacement(by_partition=held, brokers=(1000, 1001, 1002), reason="2 partitions, told by 3 brokers")


def with_lake(house: House) -> Lake:
    lake = Lake()
    house.app = create_app(replace(house.services, brokers=replace(house.services.brokers, past_placements=lake)))
    return lake


def asked(house: House, path: str, **params: object) -> Any:
    person = house.client_with({"Authorization": f"Bearer {TOKEN}"})
    return person.get(f"/v1/clusters/orders{path}", params={key: str(value) for key, value in params.items()})


def test_topics_of_then_are_those_the_lake_saw_at_the_moment_asked_for(house: House) -> None:
    lake, moment = with_lake(house), START + timedelta(minutes=90)
    told = asked(house, "/topics", at=moment.isoformat()).json()
    assert (told["total"], [t["name"] for t in told["topics"]]) == (1, ["payments"])
    assert told["past"]["placement"] == "2 partitions, told by 3 brokers"
    assert told["metadata_age_s"] is None
    assert lake.asked == [moment], "not the moment of the last event before it"
    one = asked(house, "/topics/payments", at=moment.isoformat()).json()
    assert one["placed"] == [
        {"partition": 0, "brokers": [1000, 1001], "led_by": [1001], "log_bytes": 2048},
        {"partition": 1, "brokers": [1001, 1002], "led_by": [], "log_bytes": None},
    ]
    assert one["observed"] is None
    assert asked(house, "/topics/nothing", at=moment.isoformat()).status_code == 404


def test_where_the_lake_does_not_go_back_so_far_that_is_told(house: House) -> None:
    with_lake(house)
    told = asked(house, "/topics", at="2026-01-01T12:30").json()
    assert (told["total"], told["past"]["placement"]) == (0, "not kept: too long ago")


def test_without_a_lake_past_placement_is_not_kept(house: House) -> None:
    told = asked(house, "/topics", at=house.store.head()).json()
    assert told["past"]["placement"].startswith("not kept: ")
    assert asked(house, "", at="2026-01-01T12:30").json()["past"]["placement"].startswith("not kept: ")


def test_the_page_of_the_past_shows_brokers_and_the_partitions_of_a_topic(house: House) -> None:
    with_lake(house)
    browser = house.browser("ada", Binding("", Role.ADMIN, "*"))
    text = browser.get("/clusters/orders/past?at=2026-01-01T13:30&topic=payments").text
    assert "2 partitions, told by 3 brokers" in text
    assert '<th scope="row">1001</th><td class="num">2</td><td class="num">1</td>' in text
    assert "<td>1000, 1001</td><td>1001</td>" in text
    assert "<td>1001, 1002</td><td>not told</td>" in text
    before = browser.get("/clusters/orders/past?at=2026-01-01T12:30").text
    assert "not kept: too long ago" in before
    assert "Brokers then" not in before


def test_generations_are_those_there_were_then(house: House) -> None:
    now = asked(house, "/generations").json()
    then = asked(house, "/generations", at="2026-01-01T13:30").json()
    assert [g["generation"] for g in now["generations"]] == [2, 1]
    assert [(g["generation"], g["in_force"]) for g in then["generations"]] == [(1, True)]
    assert (then["past"]["at"], then["total"]) == ("2026-01-01T13:00:00Z", 1)
    assert now["past"] is None


@pytest.mark.parametrize("path", ["/topics", "/topics/payments", "/generations"])
def test_a_moment_that_makes_no_sense_and_a_cluster_that_was_not_are_refused(house: House, path: str) -> None:
    assert asked(house, path, at="yesterday").status_code == 422
    missing = house.client.get("/v1/clusters/nothing" + path, params={"at": "1"})
    assert missing.status_code == 404


WAITS = facts.ConditionChanged("WaitsForStage", True, "EarlierStage", "it waits for ledger, which rolls")


def test_names_of_clusters_of_others_are_in_no_past_condition_and_no_event_that_tells_of_it() -> None:
    house = House()
    house.apply(OURS)
    house.apply(ORDERS.replace("name: orders", "name: ledger\n  owner: search"))
    house.record(WAITS)
    ours = program(house, token_of(house, Binding("", Role.OWNER, "team:payments")))
    browser = house.browser("bob", Binding("", Role.OWNER, "team:payments"))
    paths = ("/v1/clusters/orders", f"/v1/clusters/orders?at={house.store.head()}", "/v1/clusters/orders/events")
    for path in (*paths, "/v1/events?after=0", "/v1/events?cluster=orders"):
        told = ours.get(path).text
        assert "it waits for another cluster, which rolls" in told, path
        assert "ledger" not in told, path
    assert "ledger" not in browser.get("/clusters/orders/history").text
    assert "it waits for ledger, which rolls" in house.client.get("/v1/clusters/orders/events").text
