"""/v1/clusters/NAME/restart, replace and restart-check: recorded once, refused with a reason, answered by metadata."""

from datetime import timedelta

import pytest

from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House, three_brokers

THIN = a_partition("thin-0", (1000, 1001), min_isr=2)


@pytest.fixture
def house() -> House:
    house = House()
    house.apply()
    house.join(*three_brokers())
    return house


def _types(house: House) -> list[str]:
    events = house.client.get("/v1/clusters/orders/events", params={"limit": 1000}).json()["events"]
    return [e["type"] for e in events]


def test_a_restart_is_recorded_with_who_asked_and_the_converger_is_woken(house: House) -> None:
    person = house.client_with({**house.client.headers, "X-Kedge-Actor": "anna"})
    answer = person.post("/v1/clusters/orders/restart", json={"reason": "new certificates"})
    assert (answer.status_code, answer.json()["changed"]) == (200, True)
    assert house.view().requests.rolling_restart is not None
    assert house.view().requests.rolling_restart.reason == "asked by anna: new certificates"  # type: ignore[union-attr]
    assert house.view().uid in house.woken


def test_the_same_request_again_is_answered_and_recorded_once(house: House) -> None:
    for _ in range(2):
        answer = house.client.post(
            "/v1/clusters/orders/restart", json={"brokers": [1001]}, headers={"Idempotency-Key": "k1"}
        )
        assert answer.status_code == 200
    assert _types(house).count("rolling_restart.requested") == 1


def test_a_second_restart_is_refused_while_one_runs(house: House) -> None:
    house.client.post("/v1/clusters/orders/restart", json={})
    answer = house.client.post("/v1/clusters/orders/restart", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "restart-running")


def test_an_abort_ends_one_that_has_not_begun(house: House) -> None:
    house.client.post("/v1/clusters/orders/restart", json={})
    assert house.client.post("/v1/clusters/orders/abort", json={"reason": "no"}).json()["changed"]
    assert house.view().requests.rolling_restart is None


def test_a_replacement_is_recorded_and_shown_as_pending(house: House) -> None:
    answer = house.client.post("/v1/clusters/orders/replace", json={"broker": 1001, "reason": "slow disk"})
    assert answer.status_code == 200, answer.text
    pending = house.client.get("/v1/clusters/orders").json()["pending"]
    assert ("brokers-b-0", "replace") in {(s["node"], s["change"]) for s in pending}


def test_a_replacement_is_refused_while_another_broker_is_out_of_sync(house: House) -> None:
    house.snapshots[house.view().uid] = a_snapshot(a_partition(isr=(1000, 1001)))
    answer = house.client.post("/v1/clusters/orders/replace", json={"broker": 1001})
    assert (answer.status_code, answer.json()["code"]) == (409, "not-whole")


def test_the_check_answers_service_by_service_with_the_partitions_in_the_way(house: House) -> None:
    house.snapshots[house.view().uid] = a_snapshot(THIN, at=START - timedelta(seconds=5))
    answer = house.client.get("/v1/clusters/orders/restart-check").json()
    assert answer["metadata_age_s"] == 5.0
    found = {s["service_id"]: (s["safe"], [b["topic"] for b in s["blocking"]]) for s in answer["services"]}
    assert found == {1000: (False, ["thin"]), 1001: (False, ["thin"]), 1002: (True, [])}
    assert "rollout.allowUnavailable" in answer["services"][0]["next"]


def test_the_check_says_when_nothing_is_known(house: House) -> None:
    answer = house.client.get("/v1/clusters/orders/restart-check")
    assert (answer.status_code, answer.json()["code"]) == (409, "kafka-unknown")


def test_an_evacuation_is_recorded_once_and_taken_back(house: House) -> None:
    house.snapshots[house.view().uid] = a_snapshot(a_partition("x-0", (1001, 1002)))
    for _ in range(2):
        assert house.client.post("/v1/clusters/orders/evacuate", json={"brokers": [1000]}).status_code == 200
    assert list(house.view().requests.evacuations) == ["brokers-a-0.g1"]
    assert _types(house).count("evacuation.requested") == 1
    assert house.client.post("/v1/clusters/orders/readmit", json={"brokers": [1000]}).json()["changed"]
    assert house.view().requests.evacuations == {}


def test_a_demotion_is_recorded_once_and_taken_back(house: House) -> None:
    house.snapshots[house.view().uid] = a_snapshot(a_partition("x-0", (1000, 1002)), a_partition("x-1", (1000,)))
    for _ in range(2):
        answer = house.client.post("/v1/clusters/orders/demote", json={"brokers": [1000], "reason": "disk"})
        assert answer.status_code == 200
    assert house.view().requests.demotions["brokers-a-0.g1"].by_person
    assert _types(house).count("brokers.demote_requested") == 1
    assert house.client.post("/v1/clusters/orders/undemote", json={"brokers": [1000]}).json()["changed"]
    assert not house.client.post("/v1/clusters/orders/undemote", json={"brokers": [1000]}).json()["changed"]
    assert house.client.post("/v1/clusters/orders/demote", json={"brokers": []}).status_code == 422


def test_what_a_fix_of_offline_replicas_would_do_is_told_and_recorded_on_a_yes(house: House) -> None:
    lost = a_partition("x-0", (1000, 1001), isr=(1001,), leader=1001)
    house.snapshots[house.view().uid] = a_snapshot(lost, brokers=(1001, 1002), fenced=(1000,))
    ask = {"brokers": [1000], "reason": "it burned", "dry_run": True}
    told = house.client.post("/v1/clusters/orders/fix-offline", json=ask).json()
    assert told["changed"]
    assert "replicas of broker 1000 are made anew on others" in told["sentence"]
    assert house.view().requests.offline == {}
    done = house.client.post("/v1/clusters/orders/fix-offline", json={**ask, "dry_run": False})
    assert done.json()["changed"]
    assert list(house.view().requests.offline) == [1000]
    serving = house.client.post("/v1/clusters/orders/fix-offline", json={"brokers": [1001]})
    assert (serving.status_code, serving.json()["code"]) == (409, "broker-serves")


def test_another_replication_factor_is_told_first_and_recorded_and_ended_on_a_yes(house: House) -> None:
    house.snapshots[house.view().uid] = a_snapshot(a_partition("x-0", (1000, 1001, 1002)))
    ask = {"topics": ["x"], "factor": 2, "reason": "enough", "dry_run": True}
    told = house.client.post("/v1/clusters/orders/replication-factor", json=ask).json()
    assert (told["changed"], dict(house.view().topics.factors)) == (True, {})
    assert "1 partition to change, 0 B to copy" in told["sentence"]
    assert house.client.post("/v1/clusters/orders/replication-factor", json={**ask, "dry_run": False}).json()["changed"]
    assert house.view().topics.factors["x"].factor == 2
    low = house.client.post("/v1/clusters/orders/replication-factor", json={"topics": ["x"], "factor": 1})
    assert (low.status_code, low.json()["code"]) == (409, "below-min-isr")
    assert house.client.post("/v1/clusters/orders/replication-factor/cancel", json={}).json()["changed"]
    assert house.view().topics.factors == {}


def test_an_evacuation_of_nobody_is_refused(house: House) -> None:
    assert house.client.post("/v1/clusters/orders/evacuate", json={"brokers": []}).status_code == 422


def test_the_rolls_of_a_cluster_are_told_with_what_waits(house: House) -> None:
    house.client.post("/v1/clusters/orders/replace", json={"broker": 1001, "reason": "slow disk"})
    answer = house.client.get("/v1/clusters/orders/rolls").json()
    assert (answer["cluster"], answer["total"]) == ("orders", 0)
    assert answer["rolls"][0]["state"] == "waiting"
    assert ("brokers-b-0", "replace") in {(s["node"], s["change"]) for s in answer["rolls"][0]["steps"]}
