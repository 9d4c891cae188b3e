"""Users: each document alone, and beside its cluster."""

from typing import Any

import pytest
from pydantic import ValidationError

from events.spec import user_rules
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.user_model import KafkaUserDocument
from tests.builders import a_document, a_tls_document, a_zookeeper_document, with_tls
from tests.unit.events.spec_texts import ORDERS
from tests.user_texts import READ_PAY, user_text


def _user(name: str = "alice", **spec: Any) -> KafkaUserDocument:
    body = {"cluster": "orders", "authentication": {"type": "scram-sha-512"}, **spec}
    data = {"apiVersion": "kedge/v1alpha1", "kind": "KafkaUser", "metadata": {"name": name}, "spec": body}
    return KafkaUserDocument.model_validate(data)


def _acl(kind: str, name: str, *operations: str, **more: Any) -> dict[str, Any]:
    pattern = more.pop("pattern", "literal")
    return {
        "resource": {"type": kind, "name": name, "patternType": pattern},
        "operations": list(operations) or ["Describe"],
        **more,
    }


def _with(*acls: dict[str, Any], **more: Any) -> KafkaUserDocument:
    return _user(authorization={"acls": list(acls), **more})


def _codes(document: KafkaUserDocument) -> list[str]:
    return [problem.code for problem in user_rules.check_user(document)]


def test_a_user_with_rights_and_quotas_is_accepted() -> None:
    document = _with(
        _acl("topic", "pay-", "Read", "Write", "Describe", pattern="prefix"),
        _acl("topic", "*", "Describe"),
        _acl("group", "alice-", "Read", pattern="prefix", host="10.0.0.7"),
        _acl("transactional-id", "alice", "Write"),
        _acl("cluster", "kafka-cluster", "IdempotentWrite"),
        _acl("delegation-token", "abc", "All"),
    )
    assert _codes(document) == []


@pytest.mark.parametrize(
    "name", ["", "Alice", "CN=kedge-node", "a;b", "*", "-a", ".a", "a" * 64, "älice", "а1", "a b", "a\n", "user:a"]
)
def test_names_are_of_a_closed_alphabet(name: str) -> None:
    with pytest.raises(ValidationError):
        _user(name)


@pytest.mark.parametrize("name", ["a", "0", "a" * 63, "svc.orders_v1-2"])
def test_names_may_have_dots_dashes_and_underscores(name: str) -> None:
    assert _codes(_user(name)) == []


@pytest.mark.parametrize("name", ["anonymous", "kedge-node", "kedge-server-0123456789abcdef"])
def test_names_of_kafka_and_kedge_are_refused(name: str) -> None:
    assert _codes(_user(name)) == ["KEDGE-SPEC-100"]


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("key", ["producerByteRate", "consumerByteRate", "requestPercentage", "controllerMutationRate"])
def test_quotas_are_above_zero(key: str, value: int) -> None:
    with pytest.raises(ValidationError):
        _user(quotas={key: value})


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        ("topic", "ClusterAction"),
        ("topic", "IdempotentWrite"),
        ("group", "Write"),
        ("transactional-id", "Read"),
        ("delegation-token", "Create"),
    ],
)
def test_an_operation_that_the_type_does_not_know_is_refused(kind: str, operation: str) -> None:
    assert _codes(_with(_acl(kind, "x", operation))) == ["KEDGE-SPEC-102"]


def test_the_cluster_has_one_name_and_no_prefix() -> None:
    assert _codes(_with(_acl("cluster", "orders", "Describe"))) == ["KEDGE-SPEC-102"]
    assert _codes(_with(_acl("cluster", "kafka-", "Describe", pattern="prefix"))) == ["KEDGE-SPEC-102"]


@pytest.mark.parametrize("operation", ["All", "Alter", "AlterConfigs", "ClusterAction"])
def test_who_can_give_itself_every_right_is_called_an_administrator(operation: str) -> None:
    acl = _acl("cluster", "kafka-cluster", operation)
    assert _codes(_with(acl)) == ["KEDGE-SPEC-103"]
    assert _codes(_with(acl, administrator=True)) == []


@pytest.mark.parametrize("name", ["", "*", " pay"])
def test_a_prefix_is_the_beginning_of_a_name(name: str) -> None:
    assert _codes(_with(_acl("topic", name, pattern="prefix"))) == ["KEDGE-SPEC-102"]


@pytest.mark.parametrize("name", ["a b", "a/b", "pay*", "a" * 250])
def test_what_no_topic_is_called_is_refused(name: str) -> None:
    assert _codes(_with(_acl("topic", name))) == ["KEDGE-SPEC-102"]


@pytest.mark.parametrize("host", ["10.0.0.0/8", "broker-1.example", "", "*.example", "10.0.0", "fe80::1%eth0"])
def test_a_host_is_one_address_or_any(host: str) -> None:
    assert _codes(_with(_acl("topic", "pay", host=host))) == ["KEDGE-SPEC-108"]


def test_hosts_are_written_as_kafka_compares_them() -> None:
    assert user_rules.kafka_host("*") == "*"
    assert user_rules.kafka_host("10.0.0.7") == "10.0.0.7"
    assert user_rules.kafka_host("2001:DB8::1") == "2001:db8:0:0:0:0:0:1"


@pytest.mark.parametrize(
    ("name", "pattern", "operation", "refused"),
    [
        ("__consumer_offsets", "literal", "Write", True),
        ("__consumer_offsets", "literal", "All", True),
        ("__consumer_offsets", "literal", "Read", False),
        ("__transaction", "prefix", "Delete", True),
        ("__", "prefix", "Read", False),
        ("__kedge_metrics", "literal", "Write", False),
        ("__kedge_", "prefix", "Delete", True),
        ("__debezium-", "prefix", "Write", False),
    ],
)
def test_topics_of_kafka_and_kedge_may_be_read(name: str, pattern: str, operation: str, refused: bool) -> None:
    assert _codes(_with(_acl("topic", name, operation, pattern=pattern))) == (["KEDGE-SPEC-103"] if refused else [])


def _codes_in(document: KafkaUserDocument, cluster: KafkaClusterDocument) -> list[tuple[str, bool]]:
    return [(p.code, p.is_error) for p in user_rules.check_user_in(document, cluster)]


def test_rights_need_an_authorizer_and_a_door_is_missed_with_a_warning() -> None:
    document = _with(_acl("topic", "pay", "Read"))
    assert _codes_in(document, a_document()) == [("KEDGE-SPEC-104", True), ("KEDGE-SPEC-107", False)]
    assert _codes_in(document, a_tls_document()) == [("KEDGE-SPEC-107", False)]
    assert _codes_in(_user(authentication={"type": "none"}, quotas={"producerByteRate": 1}), a_document()) == []


def test_a_cluster_in_mode_zookeeper_has_users_of_kedge_where_its_nodes_speak_tls() -> None:
    document = _user(authentication={"type": "none"})
    assert _codes_in(document, a_zookeeper_document()) == [("KEDGE-SPEC-101", True)]
    assert _codes_in(document, with_tls(a_zookeeper_document())) == []


def test_a_user_keeps_the_way_it_proves_itself() -> None:
    assert user_rules.check_user_change(_user(), type_before="scram-sha-512") == []
    (problem,) = user_rules.check_user_change(_user(), type_before="tls")
    assert problem.code == "KEDGE-SPEC-105"


def _told(*texts: str) -> list[tuple[int, str]]:
    return [(p.line, p.code) for p in load_documents("---\n".join(texts), file="users.yaml").problems]


def test_a_file_may_hold_clusters_and_users() -> None:
    loaded = load_documents(f"{ORDERS}---\n{user_text('alice')}---\n{user_text('bob', type_='tls')}", file="all.yaml")
    assert loaded.ok
    assert [user.user for user in loaded.users] == ["alice", "bob"]
    assert {problem.code for problem in loaded.problems} == {"KEDGE-SPEC-107"}
    assert len(loaded.user_positions) == 2


def test_a_user_that_is_declared_twice_is_refused_at_the_second() -> None:
    assert _told(user_text("alice"), user_text("alice")) == [(10, "KEDGE-SPEC-099")]
    assert _told(user_text("alice"), user_text("alice", cluster="others")) == []


def test_rights_beside_a_cluster_of_the_file_that_has_no_authorizer_are_refused() -> None:
    found = load_documents(f"{ORDERS}---\n{user_text('alice', type_='none', acls=READ_PAY)}", file="all.yaml")
    assert [problem.code for problem in found.errors] == ["KEDGE-SPEC-104"]


@pytest.mark.parametrize("key", ["password", "Password", "secret", "storedKey", "salt"])
def test_a_secret_in_a_document_is_refused_and_not_repeated(key: str) -> None:
    text = user_text("alice").replace("{type: scram-sha-512}", f"{{type: scram-sha-512, {key}: hunter2}}")
    found = load_documents(text, file="users.yaml")
    assert [(p.line, p.code) for p in found.problems] == [(6, "KEDGE-SPEC-106")]
    assert "hunter2" not in str(found)


def test_a_slip_in_a_user_is_told_with_the_keys_of_users() -> None:
    found = load_documents(user_text("alice", quota="{producerByteRate: 1}"), file="users.yaml")
    assert [(p.line, p.code) for p in found.problems] == [(7, "KEDGE-SPEC-020")]
    assert "Did you mean `quotas`?" in found.problems[0].fix


@pytest.mark.parametrize(
    ("type_", "codes"), [("tls", ["KEDGE-SPEC-132"]), ("none", ["KEDGE-SPEC-132"]), ("scram-sha-512", [])]
)
def test_spec_132_who_has_no_password_has_none_delivered(type_: str, codes: list[str]) -> None:
    assert _codes(_user(authentication={"type": type_, "deliverTo": "apps"})) == codes
