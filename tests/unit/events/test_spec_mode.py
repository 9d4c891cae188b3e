"""Clusters in ZooKeeper mode: which versions and which pools."""

import pytest

from events.spec.document import load_documents
from events.spec.settings import service_settings
from planner.rollout.desired import desired_nodes
from tests.builders import a_document, a_spec, a_zookeeper_document

ZOOKEEPER = {"version": "3.8.1", "quorum": "zookeeper", "config": ", mode: zookeeper"}


def _told(**overrides: object) -> list[tuple[str, str]]:
    found = load_documents(a_spec(**overrides), file="orders.yaml").problems
    return [(p.message, p.fix) for p in found if p.severity == "error"]


@pytest.mark.parametrize("version", ["3.8.1", "3.9.1"])
def test_a_zookeeper_cluster_of_the_last_two_releases_that_can_is_taken(version: str) -> None:
    assert _told(**{**ZOOKEEPER, "version": version}) == []


def test_kafka_4_has_no_zookeeper_mode() -> None:
    assert _told(**{**ZOOKEEPER, "version": "4.1.1"}) == [
        (
            "Kafka 4.1.1 is not supported in mode `zookeeper`: Kafka 4 keeps its metadata itself; supported there: "
            "3.8.x, 3.9.x",
            "Use 3.9.1, or remove `mode`.",
        )
    ]


@pytest.mark.parametrize("version", ["3.8.0", "3.9.2"])
def test_other_patch_releases_of_the_last_two_lines_are_taken(version: str) -> None:
    assert _told(**{**ZOOKEEPER, "version": version}) == []


def test_a_version_of_an_older_line_is_told_the_lines_there_are() -> None:
    [(message, fix)] = _told(**{**ZOOKEEPER, "version": "3.7.2"})
    assert message == "Kafka 3.7.2 is not supported in mode `zookeeper`; supported there: 3.8.x, 3.9.x"
    assert fix == "Use 3.9.1."


def test_a_zookeeper_cluster_has_no_controllers() -> None:
    assert _told(**{**ZOOKEEPER, "quorum": "controller"}) == [
        (
            "no pool has the service `zookeeper`; a cluster needs exactly one such pool",
            "Add a pool of 3 with `services: [zookeeper]` and a persistent disk.",
        ),
        (
            "pool `controllers` has the service `controller`, which a cluster of mode `zookeeper` does not have",
            "Write `services: [zookeeper]`, or `mode: kraft`.",
        ),
    ]


def test_a_kraft_cluster_has_no_zookeeper_servers() -> None:
    assert [m for m, _ in _told(quorum="zookeeper")] == [
        "no pool has the service `controller`; a cluster needs exactly one such pool",
        "pool `zookeepers` has the service `zookeeper`, which a cluster of mode `kraft` does not have",
    ]


def test_an_ensemble_of_four_is_refused_as_four_controllers_are() -> None:
    [(message, _)] = _told(**{**ZOOKEEPER, "controllers": 4})
    assert message.startswith("pool `zookeepers` has 4 ZooKeeper servers; a quorum has 1, 3 or 5")


def test_a_pin_of_the_protocol_is_one_of_the_mode() -> None:
    assert _told(**{**ZOOKEEPER, "version": "3.9.1", "config": ', mode: zookeeper, metadataVersion: "3.8"'}) == []
    [(message, _)] = _told(**{**ZOOKEEPER, "config": ', mode: zookeeper, metadataVersion: "3.9"'})
    assert message == "metadata level 3.9 is newer than Kafka 3.8.1, which cannot know it"


def test_a_spec_without_a_mode_means_what_it_meant_before() -> None:
    assert a_document().spec.kafka.mode == "kraft"


def test_servers_are_not_touched_by_a_kafka_setting() -> None:
    plain, other = a_zookeeper_document(), a_zookeeper_document(config=", config: {num.io.threads: 16}")
    before = {n.node: n.digest for n in desired_nodes(plain)}
    changed = {n.node for n in desired_nodes(other) if n.digest != before[n.node]}
    assert changed == {"brokers-a-0", "brokers-b-0", "brokers-c-0"}
    assert service_settings(other, other.spec.controller_pool) == {}


def test_brokers_of_kafka_3_are_told_nothing_of_share_groups() -> None:
    document = a_zookeeper_document()
    assert not [k for k in service_settings(document, document.spec.broker_pools[0]) if k.startswith("share.")]
