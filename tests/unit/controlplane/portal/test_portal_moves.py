"""The wizard for drains and rebalances: a plan is looked at, agreed to as long as it holds, and followed."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from controlplane.api.read_models.moves import moves_in_hand
from events import facts
from planner.balance.goals import DEFAULT_GOALS
from planner.observed import TopicPartition
from planner.pulse import MovePulse
from tests.builders import a_partition, a_snapshot
from tests.fakes.asking import Asker
from tests.portal.living_portal import LivingPortal
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

MOVES = "/clusters/orders/moves"


@pytest.fixture
def portal() -> Iterator[LivingPortal]:
    """Six brokers with two topics, read by the server."""
    living = LivingPortal()
    living.converge(brokers=6)
    living.fill("orders", "payments")
    living.ticks(70)  # a cluster at rest is read once a minute
    yield living
    living.door.close()


@pytest.fixture
def browser(portal: LivingPortal) -> TestClient:
    shown = {"Authorization": "Bearer the-token", "Accept": "text/html"}
    return Asker(portal.app, base_url=portal.url, headers=shown, follow_redirects=False)


def placement(text: str) -> str:
    found = re.search(r'name="placement" value="([0-9a-f-]{38})"', text)
    assert found is not None, text
    return found[1]


def types(portal: LivingPortal) -> list[str]:
    return [e.type for e in portal.world.history()]


def test_a_drain_is_planned_with_its_certificate_and_recorded_on_a_yes(
    portal: LivingPortal, browser: TestClient
) -> None:
    assert 'name="brokers" value="1005"' in browser.get(MOVES).text
    wanted = {"kind": "drain", "brokers": "1000", "reason": "old disks"}
    plan = browser.post(f"{MOVES}/plan", data=wanted)
    for words in ("Plan certificate", "time until the last copy", "Before and after", "→ 0", "receives", "<rect "):
        assert words in plan.text
    assert "evacuation.requested" not in types(portal)
    yes = {**wanted, "placement": placement(plan.text)}
    answer = browser.post(f"{MOVES}/approve", data=yes)
    assert (answer.status_code, answer.headers["location"]) == (303, MOVES)
    assert "evacuation.requested" in types(portal)
    portal.ticks(4)
    page = browser.get(MOVES).text
    for words in ("Kept empty: 1000", "Moves that run", "left</strong>"):
        assert words in page


def test_a_yes_is_void_once_replicas_are_elsewhere(portal: LivingPortal, browser: TestClient) -> None:
    wanted = {"kind": "drain", "brokers": "1000"}
    seen = placement(browser.post(f"{MOVES}/plan", data=wanted).text)
    portal.fill("newcomer")
    portal.ticks(70)
    answer = browser.post(f"{MOVES}/approve", data={**wanted, "placement": seen})
    assert answer.status_code == 409
    assert "plan is not what it was" in answer.text
    assert browser.post(f"{MOVES}/approve", data=wanted).status_code == 409, "nobody looked at a plan"
    assert "evacuation.requested" not in types(portal)


def test_a_drain_goes_onto_the_brokers_that_were_chosen_at_the_pace_that_was_asked(
    portal: LivingPortal, browser: TestClient
) -> None:
    wanted = {"kind": "drain", "brokers": "1000", "targets": "1001", "throttle": "10"}
    plan = browser.post(f"{MOVES}/plan", data=wanted).text
    assert "emptied onto 1001, at most 10 MiB/s a broker" in plan
    assert "at most rollout.throttleMibPerS = 10 MiB/s" in plan
    takers = set(re.findall(r'<p><span class="mono">(\d+)</span> <svg class="ingress"', plan))
    assert takers == {"1001"}
    other = {**wanted, "targets": "1002", "placement": placement(plan)}
    assert browser.post(f"{MOVES}/approve", data=other).status_code == 409, "other targets than those looked at"
    assert browser.post(f"{MOVES}/approve", data={**wanted, "placement": placement(plan)}).status_code == 303
    portal.ticks(6)
    told = {e.type: dict(e.data) for e in portal.world.history()}
    assert told["drain.requested"]["targets"] == [1001]
    assert told["evacuation.requested"]["throttle_mib_per_s"] == 10
    throttles = portal.world.kafka.snapshot().throttles
    assert throttles.any
    assert max(throttles.follower_rate.values()) <= 10 * 1024 * 1024


def test_a_target_that_is_emptied_itself_is_refused(browser: TestClient) -> None:
    answer = browser.post(f"{MOVES}/plan", data={"kind": "drain", "brokers": "1000", "targets": "1000"})
    assert answer.status_code == 409
    assert "broker 1000 cannot take anything" in answer.text


def test_a_program_looks_at_a_plan_and_says_yes_to_that_one_alone(portal: LivingPortal, browser: TestClient) -> None:
    home = "/v1/clusters/orders"
    looked = browser.post(f"{home}/moves/plan", json={"kind": "drain", "brokers": [1000]}).json()
    assert (looked["changes"], looked["no_plan"]) == (True, "")
    assert looked["plan"]["total_moves"] == len(looked["plan"]["moves"]) > 0
    portal.fill("newcomer")
    portal.ticks(70)
    void = browser.post(f"{home}/evacuate", json={"brokers": [1000], "digest": looked["digest"]})
    assert (void.status_code, void.json()["code"]) == (409, "plan-moved")
    assert "it is another by now: where replicas are" in void.json()["detail"]
    other = browser.post(f"{home}/evacuate", json={"brokers": [1001], "digest": looked["digest"]})
    assert "by now: what is asked for or in force, where replicas are" in other.json()["detail"]
    assert "evacuation.requested" not in types(portal)
    again = browser.post(f"{home}/moves/plan", json={"kind": "drain", "brokers": [1000]}).json()
    done = browser.post(f"{home}/evacuate", json={"brokers": [1000], "digest": again["digest"]})
    assert done.json()["changed"] is True
    wrong = browser.post(f"{home}/moves/plan", json={"kind": "rebalance", "brokers": [1000]})
    assert wrong.status_code == 422


def test_a_rebalance_is_void_as_well_once_a_broker_has_come_or_gone(portal: LivingPortal, browser: TestClient) -> None:
    home = "/v1/clusters/orders"
    looked = browser.post(f"{home}/moves/plan", json={"kind": "rebalance", "throttle_mib_per_s": 5}).json()
    slower = {"digest": looked["digest"], "throttle_mib_per_s": 6}
    assert browser.post(f"{home}/rebalance", json=slower).status_code == 409
    agreed = {"digest": looked["digest"], "throttle_mib_per_s": 5}
    assert browser.post(f"{home}/rebalance", json=agreed).json()["changed"] is True
    requested = next(e for e in portal.world.history() if e.type == "rebalance.requested")
    assert requested.data["throttle_mib_per_s"] == 5


def test_a_yes_to_other_brokers_than_those_planned_is_refused(browser: TestClient) -> None:
    seen = placement(browser.post(f"{MOVES}/plan", data={"kind": "drain", "brokers": "1000"}).text)
    other = {"kind": "drain", "brokers": "1001", "placement": seen}
    assert browser.post(f"{MOVES}/approve", data=other).status_code == 409


def test_a_rebalance_goes_onto_the_brokers_that_were_chosen_and_its_yes_is_bound_to_them(
    portal: LivingPortal, browser: TestClient
) -> None:
    assert 'name="targets" value="1005"> 1005 receives' in browser.get(MOVES).text
    portal.fill("refunds")
    portal.world.kafka.reassign({TopicPartition("refunds", n): (1000, 1001, 1002) for n in range(6)})
    portal.ticks(140)
    wanted = {"kind": "rebalance", "targets": ["1003", "1004"]}
    plan = browser.post(f"{MOVES}/plan", data=wanted).text
    assert "<h1>Rebalance onto 1003, 1004</h1>" in plan
    assert "replicas of orders will move onto 1003, 1004 and no other broker" in plan
    takers = set(re.findall(r'<p><span class="mono">(\d+)</span> <svg class="ingress"', plan))
    assert takers
    assert takers <= {"1003", "1004"}
    told = browser.post("/v1/clusters/orders/moves/plan", json={"kind": "rebalance", "targets": [1003, 1004]}).json()
    assert {b for m in told["plan"]["moves"] for b in set(m["after"]) - set(m["before"])} <= {1003, 1004}
    other = {**wanted, "targets": ["1003"], "placement": placement(plan)}
    assert browser.post(f"{MOVES}/approve", data=other).status_code == 409, "others than those looked at"
    assert browser.post(f"{MOVES}/approve", data={**wanted, "placement": placement(plan)}).status_code == 303
    requested = next(e for e in portal.world.history() if e.type == "rebalance.requested")
    assert requested.data["new_brokers"] == [1003, 1004]
    assert "A rebalance onto 1003, 1004 (" in browser.get(MOVES).text


def test_goals_topics_and_brokers_are_chosen_on_the_page_and_the_order_has_them(
    portal: LivingPortal, browser: TestClient
) -> None:
    page = browser.get(MOVES).text
    assert 'name="goals" value="leaders"' in page
    assert 'name="exclude_brokers" value="1005"' in page
    portal.fill("refunds")
    portal.world.kafka.reassign({TopicPartition("refunds", n): (1000, 1001, 1002) for n in range(6)})
    portal.ticks(140)
    chosen = {"goals": ["racks", "replicas"], "exclude_topics": "payments, orders", "exclude_brokers": ["1005"]}
    wanted = {"kind": "rebalance", **chosen}
    plan = browser.post(f"{MOVES}/plan", data=wanted).text
    assert "1005" not in set(re.findall(r'<p><span class="mono">(\d+)</span> <svg class="ingress"', plan))
    answer = browser.post(f"{MOVES}/approve", data={**wanted, "placement": placement(plan)})
    assert answer.status_code == 303
    requested = next(e for e in portal.world.history() if e.type == "rebalance.requested")
    assert requested.data["goals"] == ["racks", "replicas"]
    assert requested.data["exclude_topics"] == ["payments", "orders"]
    assert requested.data["exclude_brokers"] == [1005]


def test_a_demoted_broker_cannot_be_chosen_on_the_page(portal: LivingPortal, browser: TestClient) -> None:
    portal.world.person(facts.DemoteRequested("brokers-b-1.g1", 1003, "a slow disk"))
    portal.ticks(1)
    text = browser.get(MOVES).text
    assert 'name="targets" value="1003" disabled> 1003 receives' in text
    assert 'name="targets" value="1004"> 1004 receives' in text
    refused = browser.post(f"{MOVES}/plan", data={"kind": "rebalance", "targets": "1003"})
    assert (refused.status_code, "is demoted (a slow disk)" in refused.text) == (409, True)


def test_a_rebalance_is_planned_recorded_once_and_cancelled(portal: LivingPortal, browser: TestClient) -> None:
    portal.crowd("orders", 1000, 1001, 1002)
    portal.ticks(70)
    plan = browser.post(f"{MOVES}/plan", data={"kind": "rebalance", "per_day_gib": "5"})
    key = re.search(r'name="key" value="([0-9a-f]{32})"', plan.text)
    assert key is not None
    yes = {"kind": "rebalance", "per_day_gib": "5", "placement": placement(plan.text), "key": key[1]}
    assert [browser.post(f"{MOVES}/approve", data=yes).status_code for _ in range(2)] == [303, 303]
    assert types(portal).count("rebalance.requested") == 1
    assert "Cancel the rebalance" in browser.get(MOVES).text
    assert browser.post(f"{MOVES}/cancel").status_code == 303
    assert "rebalance.cancel_requested" in types(portal)


def test_a_rebalance_that_no_move_would_come_of_asks_for_no_yes(portal: LivingPortal, browser: TestClient) -> None:
    portal.crowd("orders", 1000, 1001, 1002)
    portal.ticks(70)
    home, wanted = "/v1/clusters/orders", {"kind": "rebalance"}
    looked = browser.post(f"{home}/moves/plan", json=wanted).json()
    assert looked["changes"]
    assert looked["plan"]["total_moves"]
    browser.post(f"{home}/rebalance", json={"reason": "even", "digest": looked["digest"]})
    portal.ticks(600)
    assert "rebalance.completed" in types(portal)
    again = browser.post(f"{home}/moves/plan", json=wanted).json()
    said = "no move would spread the replicas of orders better"
    assert (again["changes"], again["plan"]["total_moves"], again["sentence"]) == (False, 0, said)
    text = browser.post(f"{MOVES}/plan", data=wanted).text
    assert "There is nothing to do." in text
    assert said in text
    assert ">Confirm" not in text


def test_a_rebalance_shows_every_goal_before_and_after_on_the_page_and_to_a_program(browser: TestClient) -> None:
    told = browser.post("/v1/clusters/orders/moves/plan", json={"kind": "rebalance"}).json()["plan"]["goals"]
    assert [len(row) for row in told] == [6] * len(DEFAULT_GOALS)
    assert [row[0].removesuffix(" (hard)") for row in told] == [aim.goal.value for aim in DEFAULT_GOALS]
    text = browser.post(f"{MOVES}/plan", data={"kind": "rebalance"}).text
    goals = text.split("<h2>Goals</h2>")[1].split("</section>")[0]
    assert all(f'<th scope="row">{row[0]}</th>' in goals for row in told)
    drain = browser.post(f"{MOVES}/plan", data={"kind": "drain", "brokers": "1000"}).text
    assert "<h2>Goals</h2>" not in drain, "a drain has its certificate instead"


def test_without_what_a_plan_needs_the_page_says_what_is_missing() -> None:
    house = house_with_orders()
    shown = house.client.post(f"{MOVES}/plan", data={"kind": "rebalance"}, headers={"Accept": "text/html"})
    assert shown.status_code == 200
    assert "No plan is available now." in shown.text
    assert ">Confirm rebalance</button>" not in shown.text


def test_a_form_without_a_broker_is_refused(browser: TestClient) -> None:
    assert browser.post(f"{MOVES}/plan", data={"kind": "drain"}).status_code == 422


def test_bytes_left_rate_and_time_are_those_of_the_moves_that_tell() -> None:
    kafka = a_snapshot(
        a_partition("orders-0", (1000, 1001), adding=(1002,), removing=(1000,), arrived_bytes=(40,), size_bytes=100),
        a_partition("orders-1", (1000, 1001), adding=(1002,), removing=(1000,), size_bytes=100),
        a_partition("orders-2"),
    )
    began = kafka.at - timedelta(seconds=10)
    pulse = MovePulse((1001, 1002), 40, 0, 60, began, kafka.at - timedelta(seconds=2), began)
    hand = moves_in_hand(kafka, {TopicPartition("orders", 0): pulse})
    first, second = hand.rows
    assert (first.partition, first.left_bytes, first.rate_bytes_per_s, first.still_s) == (0, 60, 4.0, 2.0)
    assert (second.left_bytes, second.rate_bytes_per_s) == (None, None)
    assert (hand.total, hand.left_bytes, hand.unknown, hand.left_s) == (2, 60, 1, None)


def test_the_history_lists_rolls_with_their_result_and_what_they_changed(browser: TestClient) -> None:
    text = browser.get("/clusters/orders/history").text
    rolls = text.split('id="rolls"')[1].split("</details>")[0]
    assert "1 roll, the last done" in rolls
    assert "9 of 9" in rolls, "six brokers and three controllers"
