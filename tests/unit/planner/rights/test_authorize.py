"""What an authorizer says: the rules one by one. `tests/kafka/test_live_authorizer.py` asks Kafka's own classes."""

import pytest

from planner.rights.acls import CLUSTER, OPERATIONS, Acl, AclRequest
from planner.rights.authorize import AclRule, authorize

ALICE = "User:alice"


def _asks(operation: str, name: str = "pay-in", *, host: str = "10.0.0.7") -> AclRequest:
    return AclRequest(ALICE, "topic", name, operation, host)


def _allows(operation: str, name: str = "pay-in", pattern: str = "literal", *, host: str = "*") -> Acl:
    return Acl(ALICE, "topic", name, pattern, operation, host=host)


@pytest.mark.parametrize("operation", ["Read", "Write", "Delete", "Alter"])
def test_who_may_do_something_with_a_topic_may_describe_it(operation: str) -> None:
    assert authorize(_asks("Describe"), [_allows(operation)]).allowed
    assert not authorize(_asks("DescribeConfigs"), [_allows(operation)]).allowed


def test_who_may_alter_configs_may_describe_them_and_no_more() -> None:
    assert authorize(_asks("DescribeConfigs"), [_allows("AlterConfigs")]).allowed
    assert not authorize(_asks("Describe"), [_allows("AlterConfigs")]).allowed


def test_what_denies_wins_and_implies_nothing() -> None:
    denies = _allows("Read", "pay-", "prefix")._replace(permission="deny")
    answer = authorize(_asks("Read"), [_allows("Read"), denies])
    assert (answer.rule, answer.acls) == (AclRule.DENIED, (denies,))
    assert authorize(_asks("Describe"), [_allows("Read"), denies]).allowed


@pytest.mark.parametrize(
    ("acl", "name", "allowed"),
    [
        (_allows("Read", "pay-", "prefix"), "pay-in", True),
        (_allows("Read", "pay-", "prefix"), "pay", False),
        (_allows("Read", "pay-"), "pay-in", False),
        (_allows("Read", "*"), "anything", True),
        (_allows("Read", "*", "prefix"), "anything", False),
        (_allows("Read", "*", "prefix"), "*x", True),
        (_allows("All", "pay-in"), "pay-in", True),
        (_allows("Read", host="10.0.0.7"), "pay-in", True),
        (_allows("Read", host="10.0.0.8"), "pay-in", False),
        (_allows("Read")._replace(principal="User:*"), "pay-in", True),
        (_allows("Read")._replace(principal="User:alic"), "pay-in", False),
        (_allows("Read")._replace(resource="group"), "pay-in", False),
    ],
)
def test_names_hosts_and_principals_match_as_kafka_has_it(acl: Acl, name: str, allowed: bool) -> None:
    assert authorize(_asks("Read", name), [acl]).allowed is allowed


def test_super_users_may_everything_and_without_an_acl_nobody_else_may_anything() -> None:
    denies = _allows("Read")._replace(permission="deny")
    assert authorize(_asks("Read"), [denies], {ALICE}).rule is AclRule.SUPER_USER
    assert authorize(_asks("Read"), []).rule is AclRule.NO_ACL
    assert not authorize(_asks("Read"), [_allows("Write")], {"User:*", "User:bob"}).allowed


def test_each_acl_reads_as_a_sentence() -> None:
    assert str(_allows("Read", "pay-", "prefix")) == "allow User:alice Read on topics that begin with pay-"
    assert str(_allows("Read", "*", host="10.0.0.7")) == "allow User:alice Read on every topic, from 10.0.0.7"
    assert str(Acl(ALICE, "cluster", CLUSTER, "literal", "Alter", "deny")) == "deny User:alice Alter on the cluster"
    assert str(_allows("Write")) == "allow User:alice Write on topic pay-in"
    assert all("All" in operations for operations in OPERATIONS.values())
