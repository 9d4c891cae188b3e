"""The digest of an instance: another one means another VM, the same one means none."""

import pytest
from hypothesis import given

from events.spec.change import differences
from events.spec.digest import instance_digest, service_settings, static_inputs
from events.spec.fields import FieldClass
from events.spec.model import KafkaClusterDocument
from events.spec.setting_table import settings_of
from tests.unit.events.spec_documents import QUICK, documents
from tests.unit.events.spec_texts import document

PLACE = "      place: {cloud: local, region: local-1, zones: [a, b]}"


def test_the_digest_of_a_known_spec_never_changes() -> None:
    """If this fails, an upgrade of Kedge rolls every VM of every fleet."""
    assert instance_digest(document(), "brokers") == "163bc6a6b268"
    assert instance_digest(document(), "controllers") == "c3b60f061ccb"


def test_the_digest_is_made_of_the_static_fields_alone() -> None:
    assert static_inputs(document(), "brokers") == {
        "spec.kafka.version": "4.1.1",
        "pool.machine": "medium",
        "pool.disk.kind": "persistent",
        "pool.disk.sizeGib": 100,
    }


@pytest.mark.parametrize(
    "edit",
    [
        {7: "    version: 4.2.0"},
        {20: "      machine: large"},
        {21: "      disk: {kind: persistent, sizeGib: 101}"},
        {21: "      disk: {kind: ephemeral, sizeGib: 100}"},
    ],
)
def test_a_static_change_changes_the_digest(edit: dict[int, str]) -> None:
    assert instance_digest(document(edit), "brokers") != instance_digest(document(), "brokers")


@pytest.mark.parametrize(
    "edit",
    [
        {9: "      num.partitions: 6"},
        {19: "      size: 6"},
        {20: "      machine: medium\n      heapMib: 512"},
        {14: "      machine: large"},
        {22: "      place: {cloud: local, region: local-1, zones: [d, e, f]}"},
        {24: "    pause: true"},
    ],
)
def test_any_other_change_leaves_the_digest(edit: dict[int, str]) -> None:
    assert instance_digest(document(edit), "brokers") == instance_digest(document(), "brokers")


@QUICK
@given(documents(), documents())
def test_the_digest_changes_exactly_when_a_static_field_of_the_pool_does(
    old: KafkaClusterDocument, new: KafkaClusterDocument
) -> None:
    """But for the place, which is compared as it is."""
    found = (one.path for one in differences(old, new) if one.field_class is FieldClass.STATIC)
    static = [path for path in found if ".place." not in path]
    for pool in old.spec.pools:
        if pool.name not in {other.name for other in new.spec.pools}:
            continue
        concerned = [
            path for path in static if not path.startswith("spec.pools[") or path.startswith(f"spec.pools[{pool.name}]")
        ]
        assert (instance_digest(old, pool.name) != instance_digest(new, pool.name)) == bool(concerned)


def test_an_unknown_pool_has_no_digest() -> None:
    with pytest.raises(LookupError, match="no pool 'lost'"):
        instance_digest(document(), "lost")


def test_settings_are_the_shape_of_the_cluster_under_the_words_of_the_spec() -> None:
    there = document({9: "      num.io.threads: 4\n      min.insync.replicas: 1"})
    assert service_settings(there, there.spec.pool("brokers")) == {
        "auto.leader.rebalance.enable": "false",
        "default.replication.factor": "3",
        "min.insync.replicas": "1",
        "num.io.threads": "4",
        "offsets.topic.replication.factor": "3",
        "share.coordinator.state.topic.min.isr": "2",
        "share.coordinator.state.topic.replication.factor": "3",
        "transaction.state.log.min.isr": "2",
        "transaction.state.log.replication.factor": "3",
    }


def test_controllers_get_the_min_isr_too() -> None:
    """On brokers only it would be overruled: a topic without its own value would get 1."""
    there = document()
    assert service_settings(there, there.spec.controller_pool)["min.insync.replicas"] == "2"


@pytest.mark.parametrize(
    ("edit", "factor", "min_isr"),
    [
        ({19: "      size: 1", 22: "      place: {cloud: local, region: local-1, zones: [a]}"}, "1", "1"),
        ({19: "      size: 2", 22: PLACE}, "2", "1"),
        ({19: "      size: 6"}, "3", "2"),
        ({9: "      default.replication.factor: 2", 19: "      size: 4", 22: PLACE}, "2", "1"),
    ],
)
def test_replication_follows_the_number_of_brokers_and_the_spec(
    edit: dict[int, str], factor: str, min_isr: str
) -> None:
    there = document(edit)
    settings = service_settings(there, there.spec.pool("brokers"))
    assert settings["default.replication.factor"] == factor
    assert settings["min.insync.replicas"] == min_isr
    assert settings["offsets.topic.replication.factor"] == factor


def test_two_acknowledgements_are_enough_for_five_copies() -> None:
    place = "      place: {cloud: local, region: local-1, zones: [a, b, c, d, e]}"
    there = document({9: "      default.replication.factor: 5", 19: "      size: 5", 22: place})
    assert service_settings(there, there.spec.pool("brokers"))["min.insync.replicas"] == "2"


def test_internal_topics_follow_the_zones() -> None:
    there = document({9: "      default.replication.factor: 2", 19: "      size: 4", 22: PLACE})
    assert service_settings(there, there.spec.pool("brokers"))["offsets.topic.replication.factor"] == "2"


def test_everything_kedge_sets_is_a_property_kafka_knows() -> None:
    there = document()
    assert set(service_settings(there, there.spec.pool("brokers"))) <= set(settings_of(there.spec.kafka.version))
