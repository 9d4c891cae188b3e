"""A rebalance that a policy leaves to a second person: proposed, agreed to while its plan holds, void after that."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.move_proposals import order_of
from controlplane.fleet.proposals.fold import ProposalView
from events.proposal_facts import ProposalMade
from tests.builders import NOW, a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House, brokers_as_declared
from tests.unit.controlplane.api.test_proposals import APPROVER, OURS, POLICY, Shelved, token_of

HOME = "/v1/clusters/orders"
OPERATOR = Binding("", Role.OPERATOR, "team:payments")


@pytest.fixture
def house() -> House:
    house = House(policies=Shelved(POLICY.replace("chaos: true", "chaos: true, rebalance: true")))
    house.apply(OURS)
    house.join(*brokers_as_declared(house.view()))
    house.snapshots[house.view().uid] = a_snapshot(
        a_partition("payments-0", (1000, 1001)), a_partition("payments-1", (1000, 1002))
    )
    return house


def asked(client: TestClient, **order: object) -> str:
    answer = client.post(f"{HOME}/rebalance", json={"reason": "skewed", **order})
    assert answer.status_code == 200, answer.text
    assert answer.json()["changed"] is False
    number: str = answer.json()["proposal"]
    return number


def test_it_waits_and_is_done_in_the_name_of_who_asked_once_somebody_agreed(house: House) -> None:
    number = asked(token_of(house, "olga", OPERATOR), per_day_gib=5, throttle_mib_per_s=7)
    assert house.view().moves.rebalance is None
    bob = token_of(house, "bob", APPROVER)
    found = bob.get(f"/v1/proposals/{number}").json()
    assert (found["change"], found["still_that_plan"], found["may_approve"]) == ("rebalance", True, True)
    assert found["reasons"] == ["replicas are spread anew (policy `payments`)"]
    assert bob.post(f"/v1/proposals/{number}/approve", json={}).json()["state"] == "executed"
    rebalance = house.view().moves.rebalance
    assert rebalance is not None
    assert (rebalance.terms.per_day_bytes, rebalance.terms.throttle_mib_per_s) == (5 * 1024**3, 7)
    assert "olga" in rebalance.reason


def test_the_brokers_that_alone_receive_are_part_of_what_is_agreed_to(house: House) -> None:
    number = asked(token_of(house, "olga", OPERATOR), targets=[1002])
    text = house.browser("bob", APPROVER).get(f"/proposals/{number}").text
    assert "onto 1002 alone" in text
    bob = token_of(house, "bob", APPROVER)
    assert bob.get(f"/v1/proposals/{number}").json()["still_that_plan"] is True
    assert bob.post(f"/v1/proposals/{number}/approve", json={}).json()["state"] == "executed"
    assert house.view().moves.rebalance.chosen == (1002,)  # type: ignore[union-attr]


def test_a_chosen_broker_that_is_to_be_empty_by_then_makes_it_void(house: House) -> None:
    number = asked(token_of(house, "olga", OPERATOR), targets=[1002])
    kept = house.client.post(f"{HOME}/evacuate", json={"brokers": [1002]})
    assert kept.status_code == 200, kept.text
    told = token_of(house, "bob", APPROVER).post(f"/v1/proposals/{number}/approve", json={}).json()
    assert (told["state"], house.view().moves.rebalance) == ("void", None)
    assert "broker 1002 cannot receive: brokers-c-0.g1 is kept empty" in told["told"]


def test_one_that_was_proposed_before_brokers_could_be_chosen_is_read_as_onto_all() -> None:
    made = ProposalMade(
        id="p-1",
        change="rebalance",
        clusters=("orders",),
        topic="",
        text='{"per_day_bytes": 7, "throttle_mib_per_s": 0}',
        file="",
        message="skewed",
        digest="d1gest",
        reasons=(),
        author="user:olga",
        claimed="",
        source="api",
        via="token",
        commit="",
        expires_at=NOW,
    )
    order = order_of(ProposalView(made, NOW))
    assert (order.targets, order.per_day_bytes, order.only_while) == ((), 7, "d1gest")


def test_a_yes_after_replicas_moved_makes_it_void(house: House) -> None:
    number = asked(token_of(house, "olga", OPERATOR))
    uid = house.view().uid
    house.snapshots[uid] = replace(house.snapshots[uid], partitions=(a_partition("payments-0", (1001, 1002)),))
    bob = token_of(house, "bob", APPROVER)
    assert bob.get(f"/v1/proposals/{number}").json()["still_that_plan"] is False
    told = bob.post(f"/v1/proposals/{number}/approve", json={}).json()
    assert (told["state"], house.view().moves.rebalance) == ("void", None)
    assert "it is another by now: where replicas are" in told["told"]


def test_who_may_not_steer_may_not_propose_it_and_its_author_does_not_agree(house: House) -> None:
    viewer = token_of(house, "eve", Binding("", Role.VIEWER, "team:payments"))
    for targets in ([], [1002], [1009]):
        assert viewer.post(f"{HOME}/rebalance", json={"targets": targets}).status_code == 403
        looked = viewer.post(f"{HOME}/moves/plan", json={"kind": "rebalance", "targets": targets})
        assert looked.status_code == 403
    olga = token_of(house, "olga", OPERATOR, APPROVER)
    number = asked(olga)
    assert olga.post(f"/v1/proposals/{number}/approve", json={}).status_code == 403


def test_a_cancel_needs_nobody(house: House) -> None:
    answer = token_of(house, "olga", OPERATOR).post(f"{HOME}/rebalance/cancel", json={})
    assert answer.json()["code"] == "no-rebalance"


def test_without_metadata_nobody_knows_what_to_agree_to(house: House) -> None:
    house.snapshots.clear()
    answer = token_of(house, "olga", OPERATOR).post(f"{HOME}/rebalance", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "kafka-unknown")


def test_its_page_says_what_is_asked_for_and_what_would_move(house: House) -> None:
    number = asked(token_of(house, "olga", OPERATOR))
    text = house.browser("bob", APPROVER).get(f"/proposals/{number}").text
    assert "rebalance <a" in text
    assert "nothing to copy; 1 replica list to be led by another of its replicas, done in about" in text
    assert "broker 1000: replicas 2 -&gt; 2, leaders 2 -&gt; 1" in text
    assert ">Approve</button>" in text


def test_the_list_of_proposals_names_it(house: House) -> None:
    number = asked(token_of(house, "olga", OPERATOR))
    shown = house.browser("bob", APPROVER).get("/proposals")
    assert (shown.status_code, number in shown.text) == (200, True)
    assert "<td>rebalance orders</td>" in shown.text
