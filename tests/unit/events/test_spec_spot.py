"""Pre-emptible VMs: for brokers only, and told where nothing else would be left."""

from events.spec.digest import instance_digest
from events.spec.problems import has_errors
from tests.unit.events.spec_texts import document, load, told


def spot(line: int, machine: str = "medium") -> str:
    return f"      machine: {machine}\n      spot: true"


def test_controllers_are_never_pre_emptible() -> None:
    result = load({14: spot(14, "small")})
    assert told(result) == [
        (
            "15:13",
            "KEDGE-SPEC-085",
            "pool `controllers` has controllers on pre-emptible VMs; the cloud may take most of a quorum back at one "
            "time, and then the whole cluster stands still",
            "Leave `spot` away here; brokers may have it.",
        ),
    ]
    assert not result.ok


def test_brokers_of_as_many_zones_as_replicas_may_be_pre_emptible_with_a_warning() -> None:
    result = load({20: spot(20)})
    assert [(code, message) for _, code, message, _ in told(result)] == [
        (
            "KEDGE-SPEC-086",
            "3 zones (a, b, c) have pre-emptible brokers and `default.replication.factor` is 3: all replicas of a "
            "partition may be on such, and the cloud may take them back at one time",
        ),
    ]
    assert result.ok
    assert not has_errors(result.problems)


MIXED = {
    19: "      size: 2",
    20: "      machine: medium",
    22: (
        "      place: {cloud: local, region: local-1, zones: [a, b]}\n"
        "    - name: cheap\n"
        "      services: [broker]\n"
        "      size: 1\n"
        "      machine: medium\n"
        "      spot: true\n"
        "      disk: {kind: persistent, sizeGib: 100}\n"
        "      place: {cloud: local, region: local-1, zones: [c]}"
    ),
}


def test_one_zone_of_pre_emptible_brokers_beside_kept_ones_is_no_matter() -> None:
    assert told(load(MIXED)) == []


def test_a_single_copy_on_pre_emptible_brokers_is_told() -> None:
    edits = {**MIXED, 9: "      default.replication.factor: 1\n      min.insync.replicas: 1"}
    codes = [code for _, code, _, _ in told(load(edits))]
    assert "KEDGE-SPEC-086" in codes


def test_a_pool_that_says_nothing_is_what_it_was() -> None:
    """A release with the field rolls no fleet: only who asks for it is another VM."""
    same = instance_digest(document({20: "      machine: medium\n      spot: false"}), "brokers")
    assert same == instance_digest(document(), "brokers")
    loaded = load({20: spot(20)}).documents[0]
    assert instance_digest(loaded, "brokers") != same
    assert instance_digest(loaded, "controllers") == instance_digest(document(), "controllers")
