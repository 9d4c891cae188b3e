"""ACLs by API: which there are, who declared them, and what a user may do by them."""

import pytest

from controlplane.storage.certificates.principals import principals_of
from events import user_facts as facts
from planner.rights.acls import CLUSTER, Acl
from planner.rights.kedge import kedge_acls
from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS

ACLS, EXPLAIN = "/v1/clusters/orders/acls", "/v1/clusters/orders/acls/explain"
READS = Acl("User:alice", "topic", "pay-", "prefix", "Read")
DENIES = Acl("User:alice", "topic", "pay-out", "literal", "Read", "deny", "10.0.0.7")
WRITES = Acl("User:alice", "topic", "pay-", "prefix", "Write")
BOBS = Acl("User:bob", "cluster", CLUSTER, "literal", "Alter")


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(ORDERS)
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    house.kafka.users.acls = {READS, DENIES, WRITES, BOBS}
    binding = facts.AclBinding("topic", "pay-", "prefix", "Read")
    alice = facts.UserDeclaration("alice", "scram-sha-512", (binding,), {}, "payments", {})
    house.record(facts.UsersDeclared((alice,), "api", "users.yaml", ""))
    return house


def test_each_acl_says_whether_a_document_declares_it(house: House) -> None:
    answer = house.client.get(ACLS).json()
    assert answer["authorizer"] is True
    told = {(a["principal"], a["operation"], a["permission"]): a["declared"] for a in answer["acls"]}
    assert told == {
        ("User:alice", "Read", "allow"): "declared",
        ("User:alice", "Read", "deny"): "differs",
        ("User:alice", "Write", "allow"): "differs",
        ("User:bob", "Alter", "allow"): "nobody",
    }
    assert [a["principal"] for a in house.client.get(ACLS, params={"q": "bob"}).json()["acls"]] == ["User:bob"]


def test_pages_of_acls_follow_one_another(house: House) -> None:
    every = [a["id"] for a in house.client.get(ACLS).json()["acls"]]
    first = house.client.get(ACLS, params={"limit": 3})
    assert 'rel="next"' in first.headers["Link"]
    after = first.json()["acls"][-1]["id"]
    rest = house.client.get(ACLS, params={"after": after}).json()["acls"]
    assert [a["id"] for a in first.json()["acls"]] + [a["id"] for a in rest] == every


@pytest.mark.parametrize(
    ("asked", "allowed", "rule", "deciding"),
    [
        ({"on": "pay-in", "operation": "Read"}, True, "allowed by an ACL", ["Read"]),
        ({"on": "pay-in", "operation": "Describe"}, True, "allowed by an ACL", ["Read", "Write"]),
        ({"on": "pay-out", "operation": "Read", "host": "10.0.0.7"}, False, "denied by an ACL", ["Read"]),
        ({"on": "orders", "operation": "Read"}, False, "no ACL matches", []),
    ],
)
def test_what_a_user_may_do_is_explained(
    house: House, asked: dict[str, str], allowed: bool, rule: str, deciding: list[str]
) -> None:
    answer = house.client.get(EXPLAIN, params={"user": "alice", "resource": "topic", **asked}).json()
    assert (answer["allowed"], answer["rule"]) == (allowed, rule)
    assert [a["operation"] for a in answer["acls"]] == deciding
    may = "may" if allowed else "may not"
    assert answer["sentence"].startswith(f"User:alice {may} {asked['operation']} on topic {asked['on']}")
    assert answer["declared_at"] is not None


def test_what_nobody_asks_of_a_resource_is_refused_with_what_there_is(house: House) -> None:
    asked = {"user": "alice", "resource": "group", "on": "g", "operation": "Write"}
    answer = house.client.get(EXPLAIN, params=asked)
    assert answer.status_code == 422
    assert "Read, Delete, Describe" in answer.text
    assert house.client.get(EXPLAIN, params={**asked, "resource": "queue"}).status_code == 422


def test_brokers_without_an_authorizer_let_everybody_do_everything(house: House) -> None:
    house.kafka.users.acls = None
    asked = {"user": "eve", "resource": "topic", "on": "pay-in", "operation": "Read"}
    answer = house.client.get(EXPLAIN, params=asked).json()
    assert (answer["allowed"], answer["rule"]) == (True, "no authorizer")
    assert house.client.get(ACLS).json() == {"cluster": "orders", "authorizer": False, "acls": []}


def test_brokers_that_do_not_answer_are_unknown(house: House) -> None:
    house.kafka.outage = True
    assert house.client.get(ACLS).status_code == 503


def test_kedges_own_are_told_as_such_and_explained_as_any_other(house: House) -> None:
    house.apply(ORDERS.replace("spec:\n", "spec:\n  security: {internal: tls}\n", 1).replace("orders", "sealed"))
    server = principals_of(house.view("sealed").uid).principal("server")
    more = Acl(server, "topic", "*", "literal", "Read")
    theirs = Acl("User:CN=kedge-server-0123456789abcdef", "topic", "*", "literal", "Read")
    house.kafka.users.acls = {*kedge_acls(principals_of(house.view("sealed").uid).kedge), more, theirs}
    rows = house.client.get("/v1/clusters/sealed/acls").json()["acls"]
    told = {(a["principal"], a["name"], a["operation"]): a["declared"] for a in rows}
    assert told.pop((server, "*", "Read")) == "differs"
    assert told.pop((theirs.principal, "*", "Read")) == "nobody"
    assert set(told.values()) == {"kedge"}
    asked = {"user": server.removeprefix("User:"), "resource": "topic", "operation": "Delete", "on": "pay"}
    answer = house.client.get("/v1/clusters/sealed/acls/explain", params=asked).json()
    assert (answer["allowed"], answer["rule"]) == (True, "allowed by an ACL")
