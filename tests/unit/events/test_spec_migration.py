"""A change of mode: what a cluster has to be before it can migrate, what may not change beside it, and what refuses it
in any case."""

import pytest

from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Problem, has_errors
from events.spec.rules import check_change
from tests.builders import a_document, a_spec, a_zookeeper_document, with_tls


def on_3_9(**overrides: object) -> KafkaClusterDocument:
    return a_zookeeper_document(version="3.9.1", **overrides)


def to_kraft(**overrides: object) -> KafkaClusterDocument:
    return a_document(**{"version": "3.9.1", **overrides})


def refusals(old: KafkaClusterDocument, new: KafkaClusterDocument) -> list[Problem]:
    problems = check_change(old, new, data_bytes_per_pool=None)
    assert has_errors(problems)
    return problems


def test_a_cluster_on_3_9_may_become_krafts_and_nothing_warns_of_it() -> None:
    assert check_change(on_3_9(), to_kraft(), data_bytes_per_pool=None) == []


def test_kraft_on_3_9_is_a_spec_that_can_be_written() -> None:
    result = load_documents(a_spec(version="3.9.1"), file="orders.yaml")
    assert result.ok, result.problems


def test_a_cluster_that_has_migrated_goes_on_to_kafka_4() -> None:
    assert check_change(to_kraft(), a_document(version="4.1.1"), data_bytes_per_pool=None) == []


@pytest.mark.parametrize(
    ("old", "new", "said", "fix"),
    [
        (
            a_zookeeper_document(),
            to_kraft(),
            "runs Kafka 3.8.1, and migrates to KRaft on 3.9.x only",
            "after that roll",
        ),
        (on_3_9(), to_kraft(version="4.2.0"), "Kafka 4.2.0 cannot read what 3.9.1 keeps", "a roll of its own after"),
        (
            on_3_9(),
            to_kraft(version="3.9.2"),
            "migrates on the version it runs, 3.9.1",
            "before the migration or after",
        ),
        (on_3_9(config=', metadataVersion: "3.8"'), to_kraft(), "pinned at 3.8, and a cluster migrates", "Remove"),
        (on_3_9(disk="ephemeral"), to_kraft(disk="ephemeral"), "pool `brokers` has ephemeral disks", "Add a pool"),
        (on_3_9(), to_kraft(machine="large"), "`spec.pools[brokers].machine` would change beside", "before"),
        (on_3_9(), to_kraft(brokers=6), "`spec.pools[brokers].size` would change beside", "before"),
        (on_3_9(), to_kraft(config=", config: {num.io.threads: 16}"), "[num.io.threads]` would change", "before"),
    ],
)
def test_what_stands_in_the_way_of_a_migration_is_told(
    old: KafkaClusterDocument, new: KafkaClusterDocument, said: str, fix: str
) -> None:
    [problem] = refusals(old, new)
    assert problem.code == "KEDGE-SPEC-076"
    assert said in problem.message
    assert fix in problem.fix


def test_a_cluster_whose_nodes_speak_tls_migrates_and_stays_so() -> None:
    assert check_change(with_tls(on_3_9()), with_tls(to_kraft()), data_bytes_per_pool=None) == []


@pytest.mark.parametrize(("old", "new"), [(on_3_9(), with_tls(to_kraft())), (with_tls(on_3_9()), to_kraft())])
def test_the_mode_and_the_security_between_nodes_do_not_change_together(
    old: KafkaClusterDocument, new: KafkaClusterDocument
) -> None:
    assert "would change beside the mode" in " ".join(problem.message for problem in refusals(old, new))


def test_many_changes_beside_the_mode_are_named_and_counted() -> None:
    new = to_kraft(machine="large", brokers=6, broker_gib=200, config=", config: {num.io.threads: 16}")
    found = [p.message for p in refusals(on_3_9(), new) if "beside the mode" in p.message]
    assert len(found) == 1
    assert " and 1 more would change" in found[0]


def test_who_owns_it_and_how_it_is_rolled_may_change_beside_the_mode() -> None:
    assert check_change(on_3_9(), to_kraft(soak="60s", pause="true"), data_bytes_per_pool=None) == []


def test_there_is_no_way_from_kraft_to_zookeeper() -> None:
    [problem] = [p for p in refusals(a_document(), a_zookeeper_document()) if p.code == "KEDGE-SPEC-076"]
    assert "Kafka has no way from KRaft to ZooKeeper" in problem.message


def test_a_spec_of_3_8_in_kraft_mode_is_told_where_migrating_is_written() -> None:
    [problem] = load_documents(a_spec(version="3.8.1"), file="orders.yaml").problems
    assert problem.code == "KEDGE-SPEC-040"
    assert "or write `mode: zookeeper`; docs/zookeeper.md tells of migrating" in problem.fix


def test_the_level_of_3_9_can_be_pinned_where_a_migration_has_ended() -> None:
    assert load_documents(a_spec(version="3.9.1", config=', metadataVersion: "3.9"'), file="orders.yaml").ok
    [problem] = load_documents(a_spec(version="3.9.1", config=', metadataVersion: "3.8"'), file="orders.yaml").problems
    assert problem.code == "KEDGE-SPEC-041"
