"""What differs between two specs, and what it costs."""

import pytest
from pydantic.fields import FieldInfo

from events.spec.change import FieldChange, differences
from events.spec.fields import FieldClass, field_class, fields_of, part_type
from events.spec.model import KafkaClusterDocument
from tests.unit.events.spec_texts import document

PLACE = "      place: {cloud: local, region: local-1, zones: [a, b, c]}"


def costs(edits: dict[int, str]) -> list[tuple[str, object, object, str]]:
    found = differences(document(), document(edits))
    return [(one.path, one.old, one.new, one.field_class.value) for one in found]


def test_the_same_spec_has_no_differences() -> None:
    assert differences(document(), document()) == ()


def test_a_default_that_is_written_out_is_no_difference() -> None:
    assert costs({24: "    strategy: migrate\n    linger: 1m"}) == []


def test_a_version_is_static() -> None:
    assert costs({7: "    version: 4.2.0"}) == [("spec.kafka.version", "4.1.1", "4.2.0", "static")]


def test_machine_and_disk_are_static() -> None:
    assert costs({20: "      machine: large", 21: "      disk: {kind: ephemeral, sizeGib: 200}"}) == [
        ("spec.pools[brokers].machine", "medium", "large", "static"),
        ("spec.pools[brokers].disk.kind", "persistent", "ephemeral", "static"),
        ("spec.pools[brokers].disk.sizeGib", 100, 200, "static"),
    ]


def test_each_property_costs_what_kafka_says() -> None:
    edit = "      log.retention.ms: 1000\n      num.partitions: 6\n      num.io.threads: 16"
    assert costs({9: edit}) == [
        ("spec.kafka.config[log.retention.hours]", "72", None, "dynamic"),
        ("spec.kafka.config[log.retention.ms]", None, "1000", "dynamic"),
        ("spec.kafka.config[num.io.threads]", None, "16", "dynamic"),
        ("spec.kafka.config[num.partitions]", None, "6", "restart"),
    ]


def test_size_zones_and_policy_are_behavioural() -> None:
    edits = {19: "      size: 6", 22: PLACE.replace("c]", "c, d]"), 24: "    pause: true"}
    assert costs(edits) == [
        ("spec.pools[brokers].size", 3, 6, "behavioural"),
        ("spec.pools[brokers].place.zones", ["a", "b", "c"], ["a", "b", "c", "d"], "behavioural"),
        ("spec.rollout.pause", False, True, "behavioural"),
    ]


def test_heap_and_listeners_restart() -> None:
    assert costs({20: "      machine: medium\n      heapMib: 512", 23: "", 24: "  listeners: [{port: 9192}]"}) == [
        ("spec.pools[brokers].heapMib", None, 512, "restart"),
        ("spec.listeners[PLAINTEXT].port", 9092, 9192, "restart"),
    ]


def test_a_metadata_pin_is_dynamic() -> None:
    assert costs({7: "    version: 4.1.1\n    metadataVersion: 4.1"}) == [
        ("spec.kafka.metadataVersion", None, "4.1", "dynamic")
    ]


def test_a_name_is_identity_and_a_place_is_static() -> None:
    assert costs({4: "  name: others", 22: PLACE.replace("local-1", "local-2")}) == [
        ("metadata.name", "orders", "others", "identity"),
        ("spec.pools[brokers].place.region", "local-1", "local-2", "static"),
    ]


def test_pools_are_compared_by_name_not_by_line() -> None:
    there = document()
    turned = there.spec.model_copy(update={"pools": there.spec.pools[::-1]})
    assert differences(there, there.model_copy(update={"spec": turned})) == ()


def test_a_pool_that_comes_or_goes_is_one_behavioural_difference() -> None:
    more = document(
        {
            17: f"    - name: extra\n      services: [broker]\n      size: 3\n      machine: small\n"
            f"      disk: {{kind: persistent, sizeGib: 10}}\n{PLACE}\n    - name: brokers"
        }
    )
    (come,) = differences(document(), more)
    (gone,) = differences(more, document())
    assert (come.path, come.old, come.new["size"], come.field_class) == (
        "spec.pools[extra]",
        None,
        3,
        FieldClass.BEHAVIOURAL,
    )
    assert (gone.path, gone.old["name"], gone.new) == ("spec.pools[extra]", "extra", None)


def with_window(start: str) -> KafkaClusterDocument:
    there = document()
    rollout = there.spec.rollout.model_validate({"windows": [{"days": ["tue"], "start": start, "duration": "2h"}]})
    return there.model_copy(update={"spec": there.spec.model_copy(update={"rollout": rollout})})


def test_windows_have_no_names_and_are_one_difference_together() -> None:
    """A spec with windows could be declared once, and never be planned or changed again."""
    (come,) = differences(document(), with_window("02:30"))
    (moved,) = differences(with_window("02:30"), with_window("03:30"))
    assert differences(with_window("02:30"), with_window("02:30")) == ()
    assert (come.path, come.old, [w["start"] for w in come.new]) == ("spec.rollout.windows", [], ["02:30"])
    assert ([w["start"] for w in moved.old], [w["start"] for w in moved.new]) == (["02:30"], ["03:30"])
    assert moved.field_class is FieldClass.BEHAVIOURAL


def test_the_steps_of_a_difference_lead_to_the_new_value() -> None:
    (change,) = differences(document(), document({19: "      size: 6"}))
    assert change.steps == ("spec", "pools", 1, "size")
    assert change == FieldChange("spec.pools[brokers].size", 3, 6, FieldClass.BEHAVIOURAL)


def leaves(part: type, path: str = "") -> list[str]:
    found = []
    for _, key, info in fields_of(part):
        inner = part_type(info.annotation)
        assert field_class(info) in FieldClass
        assert info.description
        found += leaves(inner, f"{path}{key}.") if inner is not None else [f"{path}{key}"]
    return found


def test_every_field_has_a_class_and_a_description() -> None:
    found = leaves(KafkaClusterDocument)
    assert "spec.pools.disk.sizeGib" in found
    assert len(found) == len(set(found)) > 30


def test_a_field_without_a_class_is_a_mistake_in_the_model() -> None:
    with pytest.raises(TypeError, match="without a field class"):
        field_class(FieldInfo(alias="lost"))
