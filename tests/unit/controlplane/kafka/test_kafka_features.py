"""Feature levels: one at a time, in order, and who is in the way."""

import pytest

from controlplane.kafka.errors import KafkaRefused
from controlplane.kafka.features import Blocked, FeatureStep, metadata_level_of, next_feature_step
from tests.fakes.kafka import FakeKafka


def cluster(*versions: str, controller: str = "4.2.0") -> FakeKafka:
    """A cluster made at 4.1 whose brokers 1, 2, ... now run `versions`."""
    kafka = FakeKafka(version="4.1.1")
    kafka.add_controller(100, version=controller)
    for broker, version in enumerate(versions, 1):
        kafka.add_broker(broker, f"az-{broker}", version=version)
    return kafka


def test_levels_belong_to_releases() -> None:
    assert [metadata_level_of(v) for v in ("4.1.1", "4.2.0", "4.3.0", "4.0")] == [27, 29, 30, 25]
    with pytest.raises(ValueError, match=r"Kafka 5\.0\.0 \(known: 3\.9, 4\.0, 4\.1, 4\.2, 4\.3\)"):
        metadata_level_of("5.0.0")


def test_an_upgrade_is_finalised_one_level_at_a_time_metadata_first() -> None:
    kafka = cluster("4.2.0", "4.2.0")
    steps = []
    while (step := next_feature_step(kafka.snapshot(), 29)) is not None:
        assert isinstance(step, FeatureStep)
        kafka.update_feature(step.name, step.level, validate_only=True)
        kafka.update_feature(step.name, step.level, validate_only=False)
        steps.append((step.name, step.level))
    assert steps == [("metadata.version", 29), ("share.version", 1), ("streams.version", 1)]


def test_a_preview_feature_of_the_running_release_is_left_off() -> None:
    kafka = cluster("4.1.1", "4.1.1", controller="4.1.1")
    assert kafka.snapshot().features["share.version"].max_supported == 1
    assert next_feature_step(kafka.snapshot(), 27) is None


def test_a_broker_on_the_old_version_is_named() -> None:
    blocked = next_feature_step(cluster("4.2.0", "4.1.1", "4.2.0").snapshot(), 29)
    assert isinstance(blocked, Blocked)
    assert blocked.node == 2
    assert blocked.reason == ("metadata.version 29 is wanted, broker 2 supports only 27: roll to the new version first")


def test_a_controller_on_the_old_version_is_named_by_validation() -> None:
    kafka = cluster("4.2.0", controller="4.1.1")
    step = next_feature_step(kafka.snapshot(), 29)
    assert isinstance(step, FeatureStep)
    with pytest.raises(KafkaRefused, match="ontroller 100 "):
        kafka.update_feature(step.name, step.level, validate_only=True)


def test_a_controller_that_was_replaced_under_a_new_id_still_vetoes() -> None:
    kafka = cluster("4.2.0", controller="4.1.1")
    directory_id = kafka.add_controller(103, voter=False, version="4.2.0")
    kafka.advance(2)
    kafka.add_voter(103, directory_id, host="h", port=9093)
    old = next(m for m in kafka.snapshot().quorum.members if m.id == 100)
    kafka.remove_voter(100, old.directory_id)
    kafka.stop_controller(100)
    with pytest.raises(KafkaRefused, match="Controller 100 only supports versions 7-27"):
        kafka.update_feature("metadata.version", 29, validate_only=True)
    kafka.add_controller(100, voter=False, version="4.2.0")
    kafka.update_feature("metadata.version", 29, validate_only=True)
