"""A change that a policy reserves waits for a second person: by the API, by pages, and what makes it void."""

import re
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.commands.policies.files import parse
from controlplane.commands.policies.store import PolicySet
from controlplane.fleet.proposals.stream import LIFE
from providers.price_list import PriceList
from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS

OURS = ORDERS.replace("name: orders", "name: orders\n  owner: payments")
CHAOS = OURS + "  chaos: allowed\n"
POLICY = """\
apiVersion: kedge/v1alpha1
kind: Policy
metadata: {name: payments}
selector: {teams: [payments]}
limits: {maxBrokers: 4, maxTopicPartitions: 10}
reserved: {tombstone: true, chaos: true, ownerChange: true}
"""
TOPIC = """\
---
apiVersion: kedge/v1alpha1
kind: KafkaTopic
metadata: {name: clicks}
spec: {cluster: orders, partitions: 3}
"""
OWNER = Binding("", Role.OWNER, "team:payments")
APPROVER = Binding("", Role.APPROVER, "team:payments")


class Shelved:
    """Policies that tests change."""

    def __init__(self, text: str = POLICY) -> None:
        self.known = PolicySet(parse({"p.yaml": text}))

    def current(self) -> PolicySet:
        return self.known

    def prices(self) -> PriceList:
        return PriceList()


@pytest.fixture
def house() -> House:
    house = House(policies=Shelved())
    house.apply(OURS)
    return house


def token_of(house: House, name: str, *bindings: Binding) -> TestClient:
    """A program of a person, by a token of theirs."""
    house.browser(name, *bindings)
    rights = house.services.access.people._rights(f"user:{name}", via="session")
    assert rights is not None
    text, _ = house.services.access.people.make_token(
        rights, label=name, role=Role.ADMIN, scope="*", life=timedelta(days=30), now=house.now
    )
    return house.client_with({"Authorization": f"Bearer {text}"})


def proposed(client: TestClient, text: str = CHAOS) -> str:
    answer = client.post("/v1/apply", json={"text": text, "file": "orders.yaml", "message": "drill"})
    assert answer.status_code == 200, answer.text
    number: str = answer.json()["proposal"]
    assert number
    assert answer.json()["applied"] == []
    return number


def test_a_reserved_change_is_recorded_and_nothing_is_declared(house: House) -> None:
    ada = token_of(house, "ada", OWNER)
    number = proposed(ada)
    assert house.view().generation == 1
    found = ada.get(f"/v1/proposals/{number}").json()
    assert (found["state"], found["author"], found["still_that_plan"]) == ("open", "user:ada", True)
    assert found["reasons"] == ["orders: chaos is allowed (policy `payments`)"]
    assert found["may_approve"] is False


def test_somebody_else_says_yes_and_it_is_done_by_the_ordinary_handler(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    bob = token_of(house, "bob", APPROVER)
    answer = bob.post(f"/v1/proposals/{number}/approve", json={"note": "fine"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["state"], answer.json()["decided_by"]) == ("executed", "user:bob")
    view = house.view()
    assert view.generation == 2
    assert view.document is not None
    assert view.document.spec.chaos == "allowed"
    assert view.uid in house.woken
    events = house.client.get("/v1/clusters/orders/events?limit=1000").json()["events"]
    declared = [e for e in events if e["type"] == "cluster.declared"][-1]
    assert declared["actor"] == "person:ada"
    assert f"proposal {number}, agreed to by bob" in declared["data"]["source"]


def test_every_step_is_in_the_audit(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    token_of(house, "bob", APPROVER).post(f"/v1/proposals/{number}/approve", json={})
    told = [(e["who"], e["verb"], e["object"]) for e in house.client.get("/v1/audit").json()["entries"]]
    assert ("user:ada", "propose", f"proposal {number} on orders") in told
    assert ("user:bob", "approve", f"proposal {number} on orders") in told


def test_an_author_cannot_agree_to_their_own_change_whatever_their_roles(house: House) -> None:
    ada = token_of(house, "ada", Binding("", Role.ADMIN, "*"))
    number = proposed(ada)
    answer = ada.post(f"/v1/proposals/{number}/approve", json={})
    assert answer.status_code == 403
    assert "you are an author" in answer.text
    assert house.view().generation == 1


def test_the_installations_token_is_nobody_and_agrees_to_nothing(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    assert house.client.post(f"/v1/proposals/{number}/approve", json={}).status_code == 403
    assert house.view().generation == 1


@pytest.mark.parametrize("binding", [OWNER, Binding("", Role.VIEWER, "*"), Binding("", Role.APPROVER, "team:search")])
def test_who_is_no_approver_of_it_cannot_agree(house: House, binding: Binding) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    answer = token_of(house, "eve", binding).post(f"/v1/proposals/{number}/approve", json={})
    assert answer.status_code in (403, 404)
    assert house.view().generation == 1


def test_a_change_of_the_owner_takes_an_approver_of_both_teams(house: House) -> None:
    moved = OURS.replace("owner: payments", "owner: search")
    number = proposed(token_of(house, "ada", OWNER, Binding("", Role.OWNER, "team:search")), moved)
    one = token_of(house, "bob", APPROVER)
    assert one.post(f"/v1/proposals/{number}/approve", json={}).status_code == 404
    both = token_of(house, "cid", APPROVER, Binding("", Role.APPROVER, "team:search"))
    assert both.post(f"/v1/proposals/{number}/approve", json={}).json()["state"] == "executed"


def test_a_change_in_between_makes_it_void(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    house.apply(OURS.replace("log.retention.hours: 72", "log.retention.hours: 48"))
    found = token_of(house, "bob", APPROVER).post(f"/v1/proposals/{number}/approve", json={}).json()
    assert found["state"] == "void"
    assert "not what it was when it was proposed" in found["told"]
    assert house.view().generation == 2


def test_it_ends_by_itself(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    bob = token_of(house, "bob", APPROVER)
    house.now += LIFE
    assert bob.get("/v1/proposals").json() == []
    assert bob.post(f"/v1/proposals/{number}/approve", json={}).json()["told"] == "its time was up"
    assert house.view().generation == 1


def test_the_rights_of_its_author_are_judged_again_when_it_is_done(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    house.services.access.people.users.unbind(Binding("user:ada", Role.OWNER, "team:payments"))
    found = token_of(house, "bob", APPROVER).post(f"/v1/proposals/{number}/approve", json={}).json()
    assert found["state"] == "void"
    assert "its author may not do it any more" in found["told"]
    assert house.view().generation == 1


def test_a_policy_that_refuses_by_now_refuses_what_was_agreed_to(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    assert isinstance(house.policies, Shelved)
    house.policies.known = Shelved(POLICY.replace("maxBrokers: 4", "maxBrokers: 2")).known
    found = token_of(house, "bob", APPROVER).post(f"/v1/proposals/{number}/approve", json={}).json()
    assert (found["state"], house.view().generation) == ("void", 1)
    assert "3 brokers, at most 2 may be" in found["told"]


def test_it_is_decided_once(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    bob, cid = token_of(house, "bob", APPROVER), token_of(house, "cid", APPROVER)
    assert bob.post(f"/v1/proposals/{number}/reject", json={"note": "no"}).json()["state"] == "rejected"
    answer = cid.post(f"/v1/proposals/{number}/approve", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "proposal-decided")
    assert house.view().generation == 1


def test_the_same_change_is_not_asked_for_twice(house: House) -> None:
    ada = token_of(house, "ada", OWNER)
    assert proposed(ada) == proposed(ada)
    assert len(ada.get("/v1/proposals").json()) == 1


def test_an_author_takes_their_own_back(house: House) -> None:
    ada = token_of(house, "ada", OWNER)
    number = proposed(ada)
    assert ada.post(f"/v1/proposals/{number}/reject", json={}).json()["state"] == "rejected"


def test_who_may_not_declare_it_may_not_propose_it(house: House) -> None:
    viewer = token_of(house, "eve", Binding("", Role.VIEWER, "*"))
    answer = viewer.post("/v1/apply", json={"text": CHAOS, "file": "orders.yaml"})
    assert answer.status_code == 403
    assert house.client.get("/v1/proposals").json() == []


def test_proposals_of_other_teams_are_not_there(house: House) -> None:
    number = proposed(token_of(house, "ada", OWNER))
    eve = token_of(house, "eve", Binding("", Role.APPROVER, "team:search"))
    assert eve.get("/v1/proposals").json() == []
    assert eve.get(f"/v1/proposals/{number}").status_code == 404


def test_a_deletion_waits_too_and_is_done_after_a_yes(house: House) -> None:
    ada = token_of(house, "ada", OWNER)
    answer = ada.post("/v1/clusters/orders/delete", json={"confirm": "orders", "reason": "moved"}).json()
    assert answer["changed"] is False
    assert not house.view().requests.tombstone
    bob = token_of(house, "bob", APPROVER)
    assert bob.post(f"/v1/proposals/{answer['proposal']}/approve", json={}).json()["state"] == "executed"
    assert house.view().requests.tombstone


def test_a_refusal_of_a_policy_is_a_problem_at_its_line(house: House) -> None:
    ada = token_of(house, "ada", OWNER)
    big = OURS.replace("size: 3\n      machine: medium", "size: 9\n      machine: medium")
    answer = ada.post("/v1/apply", json={"text": big, "file": "orders.yaml"}).json()
    assert answer["ok"] is False
    problem = answer["problems"][0]
    assert (problem["code"], problem["line"]) == ("KEDGE-POLICY-001", 20)
    assert problem["message"] == "9 brokers, at most 4 may be (policy `payments`)"


def test_topics_are_judged_with_their_cluster(house: House) -> None:
    ada = token_of(house, "ada", OWNER)
    wide = TOPIC.replace("partitions: 3", "partitions: 30")
    answer = ada.post("/v1/apply", json={"text": wide, "file": "t.yaml"}).json()
    assert [p["message"] for p in answer["problems"]] == ["30 partitions, at most 10 may be (policy `payments`)"]
    assert ada.post("/v1/apply", json={"text": TOPIC, "file": "t.yaml"}).json()["ok"] is True
    assert "clicks" in house.view().topics.by_name


def test_a_file_with_one_reserved_document_waits_as_a_whole(house: House) -> None:
    ada = token_of(house, "ada", OWNER)
    number = proposed(ada, CHAOS + TOPIC)
    assert "clicks" not in house.view().topics.by_name
    bob = token_of(house, "bob", APPROVER)
    assert bob.post(f"/v1/proposals/{number}/approve", json={}).json()["state"] == "executed"
    assert "clicks" in house.view().topics.by_name
    assert house.view().generation == 2


def test_policies_that_were_never_readable_let_nothing_through(house: House) -> None:
    assert isinstance(house.policies, Shelved)
    house.policies.known = PolicySet(fault="p.yaml:3: nonsense", is_good=False)
    answer = house.client.post("/v1/apply", json={"text": CHAOS, "file": "orders.yaml"}).json()
    assert answer["ok"] is False
    assert "the policies cannot be read" in answer["problems"][0]["message"]
    assert house.client.post("/v1/clusters/orders/delete", json={"confirm": "orders"}).status_code == 422
    assert house.client.post("/v1/clusters/orders/pause", json={"reason": "x"}).status_code == 200
    assert house.client.get("/v1/policies").json()["fault"] == "p.yaml:3: nonsense"
    eve = token_of(house, "eve", Binding("", Role.VIEWER, "*"))
    assert "nonsense" not in eve.get("/v1/policies").text


# --- pages ----------------------------------------------------------------------------------------------------------

CLUSTER_FORM = {
    "kind": "cluster",
    "tier": "standard",
    "name": "ledger",
    "owner": "payments",
    "version": "4.1.1",
    "cloud": "local",
    "region": "local-1",
    "zones": "a, b, c",
    "machine": "medium",
    "controllers": "3",
    "brokers": "3",
    "disk": "100",
}


def shown(browser: TestClient, **fields: str) -> str:
    answer = browser.post("/new", data={**CLUSTER_FORM, **fields})
    text: str = answer.text
    return text


def hidden(text: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', text)
    assert found is not None
    return found[1]


def sent(browser: TestClient, **fields: str) -> tuple[int, str]:
    """The second button of what the first one showed."""
    text = shown(browser, **fields)
    more = {"do": "apply", "digest": hidden(text, "digest"), "key": hidden(text, "key")}
    answer = browser.post("/new", data={**CLUSTER_FORM, **fields, **more})
    return answer.status_code, answer.headers.get("location", answer.text)


def test_the_form_starts_from_a_tier_and_offers_the_teams_of_the_person(house: House) -> None:
    text = house.browser("ada", OWNER).get("/new?kind=cluster&tier=critical").text
    assert 'name="brokers" value="6"' in text
    assert "<option selected>payments</option>" in text


def test_what_the_form_says_is_shown_as_a_spec_and_declared_after_that(house: House) -> None:
    ada = house.browser("ada", OWNER)
    text = shown(ada)
    assert "name: ledger" in text
    assert "is a new cluster" in text
    assert all(v.name != "ledger" for v in house.converger.views())
    assert sent(ada) == (303, "/clusters/ledger")
    assert house.view("ledger").generation == 1


def test_a_problem_stands_at_its_field(house: House) -> None:
    answer = house.browser("ada", OWNER).post("/new", data={**CLUSTER_FORM, "brokers": "many", "name": "No Name"})
    assert answer.status_code == 422
    for field in ("name", "brokers"):
        assert f'aria-describedby="e-{field}"' in answer.text


def test_a_policys_limit_stands_at_its_field(house: House) -> None:
    answer = house.browser("ada", OWNER).post("/new", data={**CLUSTER_FORM, "brokers": "9"})
    assert answer.status_code == 422
    assert 'aria-describedby="e-brokers"' in answer.text
    assert "9 brokers, at most 4 may be" in answer.text


def test_the_spec_is_taken_along(house: House) -> None:
    answer = house.browser("ada", OWNER).post("/new", data={**CLUSTER_FORM, "do": "download"})
    assert answer.headers["content-disposition"] == 'attachment; filename="ledger.yaml"'
    assert "name: ledger" in answer.text


def test_a_topic_is_declared_by_the_form(house: House) -> None:
    ada = house.browser("ada", OWNER)
    topic = {"kind": "topic", "name": "clicks", "cluster": "orders", "partitions": "6", "retention": "24"}
    assert sent(ada, **topic) == (303, "/clusters/orders/topics")
    assert house.view().topics.by_name["clicks"].declared.config == {"retention.ms": "86400000"}


def test_what_was_not_shown_is_not_declared(house: House) -> None:
    ada = house.browser("ada", OWNER)
    digest = hidden(shown(ada), "digest")
    answer = ada.post("/new", data={**CLUSTER_FORM, "brokers": "4", "do": "apply", "digest": digest})
    assert answer.status_code == 422
    assert "has changed since it was shown" in answer.text


def test_a_form_for_another_team_is_refused(house: House) -> None:
    status, _ = sent(house.browser("ada", OWNER), owner="search")
    assert status == 403


def test_a_proposal_has_its_buttons_for_who_may_decide_and_no_other(house: House) -> None:
    ada, bob = house.browser("ada", OWNER), house.browser("bob", APPROVER)
    house.policies.known = Shelved(POLICY.replace("chaos: true", "chaos: true, rolling: 0")).known  # type: ignore[attr-defined]
    number = proposed(token_of(house, "eva", OWNER), CHAOS + "# <b>bold</b>\n")
    assert "/approve" not in ada.get(f"/proposals/{number}").text
    text = bob.get(f"/proposals/{number}").text
    assert f'action="/proposals/{number}/approve"' in text
    assert "&lt;b&gt;bold" in text
    assert f'href="/proposals/{number}"' in bob.get("/proposals").text
    assert bob.post(f"/proposals/{number}/approve", data={"note": "go"}).status_code == 303
    assert "executed" in bob.get(f"/proposals/{number}").text
    assert "/approve" not in bob.get(f"/proposals/{number}").text
