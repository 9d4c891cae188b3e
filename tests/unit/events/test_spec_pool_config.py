"""The Kafka properties of a pool: what is accepted, what all pools have to agree on, and what a change costs."""

import pytest

from events.spec.change import differences
from events.spec.document import load_documents
from events.spec.fields import FieldClass
from events.spec.settings import pool_config, service_settings, spec_config
from planner.rollout.desired import desired_nodes
from tests.builders import a_document, a_spec


def _problems(text: str) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in load_documents(text, file="orders.yaml").problems]


def _of_brokers(properties: str) -> list[tuple[str, str]]:
    return _problems(a_spec(pool_config=properties))


def _of_controllers(properties: str) -> list[tuple[str, str]]:
    own = f"services: [controller]\n      config: {{{properties}}}"
    return _problems(a_spec().replace("services: [controller]", own))


@pytest.mark.parametrize(
    "properties",
    [
        "num.io.threads: 16, num.network.threads: 8, num.replica.fetchers: 4",
        "queued.max.requests: 700, socket.send.buffer.bytes: 1048576",
        "log.cleaner.threads: 2, group.coordinator.threads: 4, max.connections: 5000",
    ],
)
def test_what_one_broker_reads_for_itself_is_accepted(properties: str) -> None:
    assert _of_brokers(properties) == []


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("min.insync.replicas", "1", "replicas are on brokers of all pools"),
        ("log.retention.ms", "3600000", "replicas are on brokers of all pools"),
        ("log.retention.hours", "1", "replicas are on brokers of all pools"),
        ("log.segment.bytes", "1073741824", "replicas are on brokers of all pools"),
        ("unclean.leader.election.enable", "false", "replicas are on brokers of all pools"),
        ("message.max.bytes", "2000000", "replicas are on brokers of all pools"),
        ("default.replication.factor", "3", "new topics are made by it"),
        ("num.partitions", "6", "new topics are made by it"),
        ("auto.create.topics.enable", "false", "new topics are made by it"),
        ("offsets.topic.num.partitions", "50", "Kafka's own topics are made by it once"),
        ("transaction.state.log.replication.factor", "3", "Kafka's own topics are made by it once"),
        ("group.max.session.timeout.ms", "60000", "whichever broker coordinates them"),
        ("offsets.retention.minutes", "1440", "whichever broker coordinates them"),
        ("broker.session.timeout.ms", "18000", "the sessions of all brokers are as long"),
    ],
)
def test_what_all_pools_have_to_agree_on_is_refused_with_its_reason(name: str, value: str, why: str) -> None:
    [(code, message)] = _of_brokers(f"{name}: {value}")
    assert code == "KEDGE-SPEC-083"
    assert message.startswith(f"`{name}` is one for all pools: ")
    assert why in message


def test_a_property_is_judged_as_one_of_the_cluster_first() -> None:
    assert _of_brokers("node.id: 7") == [
        ("KEDGE-SPEC-042", "`node.id` is set by Kedge: each node has its own id for ever"),
    ]
    assert [code for code, _ in _of_brokers("ssl.key.password: x")] == ["KEDGE-SPEC-043"]
    [(_, unknown)] = _of_brokers("num.io.thread: 8")
    assert "Kafka has no property `num.io.thread`" in unknown
    [(_, unreadable)] = _of_brokers("num.io.threads: many")
    assert "`num.io.threads` is `many`" in unreadable


def test_controllers_take_what_is_read_at_their_start_alone() -> None:
    assert _of_controllers("queued.max.requests: 700") == []
    [(code, message)] = _of_controllers("num.io.threads: 16")
    assert code == "KEDGE-SPEC-083"
    assert "what is live for the cluster wins over the file of a controller" in message


def test_servers_of_an_ensemble_know_no_property_of_kafka() -> None:
    text = a_spec(version="3.8.1", quorum="zookeeper", config=", mode: zookeeper")
    own = "services: [zookeeper]\n      config: {queued.max.requests: 700}"
    [(code, message)] = _problems(text.replace("services: [zookeeper]", own))
    assert (code, "which know no Kafka property" in message) == ("KEDGE-SPEC-083", True)


def test_what_a_pool_alone_sets_may_be_adopted() -> None:
    said = ", adopt: [num.io.threads]"
    assert _problems(a_spec(config=said, pool_config="num.io.threads: 16")) == []
    [(code, _)] = _problems(a_spec(config=said))
    assert code == "KEDGE-SPEC-053"


def test_the_properties_of_a_pool_go_over_those_of_the_cluster() -> None:
    whole = ", config: {num.io.threads: 8, queued.max.requests: 500}"
    document = a_document(config=whole, pool_config="num.io.threads: 16")
    assert spec_config(document, "brokers") == {"num.io.threads": "16", "queued.max.requests": "500"}
    assert spec_config(document, "controllers") == {"num.io.threads": "8", "queued.max.requests": "500"}
    assert pool_config(document, "controllers") == {}
    settings = {pool.name: service_settings(document, pool)["num.io.threads"] for pool in document.spec.pools}
    assert settings == {"brokers": "16", "controllers": "8"}


def test_a_change_costs_what_the_property_costs_and_makes_no_other_vm() -> None:
    old = a_document(pool_config="num.io.threads: 8, queued.max.requests: 500")
    new = a_document(pool_config="num.io.threads: 16, queued.max.requests: 700")
    assert [(c.path, c.field_class, c.old, c.new) for c in differences(old, new)] == [
        ("spec.pools[brokers].config[num.io.threads]", FieldClass.DYNAMIC, "8", "16"),
        ("spec.pools[brokers].config[queued.max.requests]", FieldClass.RESTART, "500", "700"),
    ]


def test_a_spec_without_properties_of_pools_names_its_vms_as_ever() -> None:
    whole = ", config: {num.io.threads: 16}"
    by_pool = {n.pool: n.digest for n in desired_nodes(a_document(pool_config="num.io.threads: 16"))}
    by_cluster = {n.pool: n.digest for n in desired_nodes(a_document(config=whole))}
    plain = {n.pool: n.digest for n in desired_nodes(a_document())}
    assert by_pool == {"brokers": by_cluster["brokers"], "controllers": plain["controllers"]}
