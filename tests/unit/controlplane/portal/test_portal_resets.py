"""Offsets of a group put elsewhere: planned, agreed to, recorded, done; over the API and as pages."""

import re
from html import unescape
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.storage.streams import cluster_stream
from planner.observed import TopicPartition
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

OWNER = Binding("", Role.OWNER, "*")
OPERATOR = Binding("", Role.OPERATOR, "*")
PLAN, RESET = "/v1/clusters/orders/offset-resets/plan", "/v1/clusters/orders/offset-resets"
CLICKS = TopicPartition("clicks", 0)


@pytest.fixture
def house() -> House:
    """`nightly` has read 7 of 10 records and has no member; `billing` has one."""
    house = house_with_orders()
    kafka = house.kafka
    kafka.add_controller(100)
    kafka.add_broker(1000, "a")
    kafka.create_topic("clicks", partitions=2, rf=1)
    kafka.consumers.produce("clicks", 0, 10)
    kafka.consumers.commit("nightly", "clicks", 0, 7)
    kafka.consumers.join("billing", "clicks")
    kafka.consumers.commit("billing", "clicks", 0, 7)
    return house


def planned(house: House, **wish: object) -> dict[str, Any]:
    answer = house.client.post(PLAN, json={"group": "nightly", "to": "earliest", **wish})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def order(after: int = 0, before: int | None = 7, group: str = "nightly") -> dict[str, object]:
    return {"group": group, "offsets": [{"topic": "clicks", "partition": 0, "before": before, "after": after}]}


def types(house: House) -> list[str]:
    return [e.type for e in house.store.read_stream(cluster_stream(house.view().uid)) if e.type.startswith("group.")]


def test_a_plan_says_what_is_read_again_and_records_nothing(house: House) -> None:
    told = planned(house)
    assert told["changes"] == [
        {
            "topic": "clicks",
            "partition": 0,
            "before": 7,
            "after": 0,
            "first": 0,
            "end": 10,
            "again": 7,
            "skipped": 0,
            "beyond": False,
        }
    ]
    assert (told["refused"], told["same"], told["again"], told["skipped"]) == ("", 0, 7, 0)
    assert planned(house, to="latest")["skipped"] == 3
    assert planned(house, to="shift", number=-100)["again"] == 7
    assert planned(house, to="offset", number=7)["same"] == 1
    assert types(house) == []


def test_a_plan_for_a_group_with_members_says_who_they_are(house: House) -> None:
    told = planned(house, group="billing")
    assert (
        told["refused"]
        == "billing has members (client-1 at 127.0.0.1), which go on from where they are and commit that"
    )


def test_a_partition_nobody_committed_to_is_reset_where_its_topic_is_named_and_cannot_be_shifted(house: House) -> None:
    assert planned(house, topics=["clicks"])["changes"][1]["before"] is None
    told = planned(house, to="shift", number=1, topics=["clicks"])
    assert [(u["partition"], "nothing is committed" in u["why"]) for u in told["unknown"]] == [(1, True)]
    gone = planned(house, partitions=[{"topic": "gone", "partition": 0}])
    assert [u["topic"] for u in gone["unknown"]] == ["gone"]


@pytest.mark.parametrize(
    "wish",
    [{"to": "time"}, {"to": "earliest", "at": "2026-01-01T00:00:00Z"}, {"to": "shift"}, {"to": "offset", "number": -1}],
)
def test_a_wish_whose_parts_do_not_go_together_is_refused(house: House, wish: dict[str, object]) -> None:
    answer = house.client.post(PLAN, json={"group": "nightly", **wish})
    assert (answer.status_code, answer.json()["code"]) == (422, "wish-unfit")


def test_a_time_finds_the_first_record_after_it_and_else_the_end(house: House) -> None:
    house.kafka.consumers.written[CLICKS] = [(2, house.now), (9, house.now.replace(year=2030))]
    at = house.now.replace(year=2028).isoformat()
    assert [c["after"] for c in planned(house, to="time", at=at)["changes"]] == [9]
    late = house.now.replace(year=2031).isoformat()
    assert [c["after"] for c in planned(house, to="time", at=late)["changes"]] == [10]


def test_a_reset_is_recorded_done_and_its_answer_recorded_and_a_retry_does_nothing(house: House) -> None:
    body = {**order(), "reason": "bad release"}
    answers = [house.client.post(RESET, json=body, headers={"Idempotency-Key": "k"}).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0]["sentence"] == "1 offset was put elsewhere"
    assert house.kafka.consumers.by_name["nightly"].committed[CLICKS] == 0
    assert types(house) == ["group.reset_requested", "group.reset"]
    told = house.client.get("/v1/clusters/orders/groups/nightly").json()["last_reset"]
    assert told["words"].startswith("1 offset was put elsewhere (asked by ")
    assert told["words"].endswith(": bad release)")


def test_a_reset_whose_brokers_fell_silent_is_finished_by_a_retry(house: House) -> None:
    real, calls = house.kafka.commit_offsets, []

    def fails_once(*given: object) -> object:
        calls.append(given)
        house.kafka.outage = len(calls) == 1
        try:
            return real(*given)  # type: ignore[arg-type]
        finally:
            house.kafka.outage = False

    house.kafka.commit_offsets = fails_once  # type: ignore[method-assign, assignment]
    first = house.client.post(RESET, json=order(), headers={"Idempotency-Key": "k"})
    assert (first.status_code, first.json()["code"]) == (503, "kafka-unavailable")
    assert types(house) == ["group.reset_requested"]
    assert "the brokers' answer is not known" in house.client.get("/v1/clusters/orders/groups/nightly").text
    again = house.client.post(RESET, json=order(), headers={"Idempotency-Key": "k"})
    assert again.status_code == 200
    assert house.kafka.consumers.by_name["nightly"].committed[CLICKS] == 0
    assert types(house) == ["group.reset_requested", "group.reset"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (order(before=6), "offsets-moved"),
        (order(after=11), "outside-log"),
        (order(group="billing"), "group-has-members"),
    ],
)
def test_what_is_not_as_it_was_planned_is_refused_and_not_recorded(
    house: House, body: dict[str, object], code: str
) -> None:
    answer = house.client.post(RESET, json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert types(house) == []


def test_who_joins_between_look_and_commit_is_not_overtaken(house: House) -> None:
    real = house.kafka.commit_offsets

    def joined(*given: object) -> object:
        house.kafka.consumers.join("nightly", "clicks")
        return real(*given)  # type: ignore[arg-type]

    house.kafka.commit_offsets = joined  # type: ignore[method-assign, assignment]
    told = house.client.post(RESET, json=order()).json()
    assert "UnknownMemberIdError" in told["refused"]["clicks-0"]
    assert told["sentence"].startswith("1 of 1 offset stayed as it was: clicks-0: ")
    assert house.kafka.consumers.by_name["nightly"].committed[CLICKS] == 7


def test_a_group_nobody_knows_and_silent_brokers_are_said_to_be_so(house: House) -> None:
    unknown = house.client.post(PLAN, json={"group": "nobody", "to": "latest"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "group-not-found")
    house.kafka.outage = True
    for path, body in ((PLAN, {"group": "nightly", "to": "latest"}), (RESET, order())):
        assert house.client.post(path, json=body).status_code == 503


def test_the_form_leads_to_a_plan_and_the_yes_does_exactly_that(house: House) -> None:
    browser = house.browser("ada", OWNER)
    page = browser.get("/clusters/orders/groups/nightly").text
    assert "Reset offsets" in page
    plan = browser.post(
        "/clusters/orders/offset-resets/plan", data={"group": "nightly", "to": "earliest", "reason": "x"}
    )
    assert "7 records a second time" in plan.text
    fields = dict(re.findall(r'name="(offsets|key|group|reason)" value="([^"]*)"', plan.text))
    done = browser.post("/clusters/orders/offset-resets", data={k: unescape(v) for k, v in fields.items()})
    assert done.status_code in (200, 303)
    assert house.kafka.consumers.by_name["nightly"].committed[CLICKS] == 0
    assert "1 offset was put elsewhere (asked by ada: x)" in browser.get("/clusters/orders/groups/nightly").text


def test_an_operator_finds_no_form_and_may_not_reset(house: House) -> None:
    browser = house.browser("bob", OPERATOR)
    assert "Reset offsets" not in browser.get("/clusters/orders/groups/nightly").text
    answer = browser.post("/clusters/orders/offset-resets", data={"group": "nightly", "offsets": '[["clicks",0,7,0]]'})
    assert answer.status_code == 403
    assert types(house) == []


def test_a_form_without_a_plan_is_refused(house: House) -> None:
    browser = house.browser("ada", OWNER)
    for offsets in ("7", "[[1]]", '[["clicks",0,7]]', "{"):
        answer = browser.post("/clusters/orders/offset-resets", data={"group": "nightly", "offsets": offsets})
        assert answer.status_code == 422
