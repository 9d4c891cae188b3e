"""Refusals about pools: roles, counts, zones and disks."""

from tests.unit.events.spec_texts import load, told


def test_a_spec_without_controllers_is_refused() -> None:
    result = load(dict.fromkeys(range(11, 17), ""))
    assert told(result) == [
        (
            "10:3",
            "KEDGE-SPEC-030",
            "no pool has the service `controller`; a cluster needs exactly one such pool",
            "Add a pool of 3 with `services: [controller]` and a persistent disk.",
        ),
    ]
    assert not result.ok


def test_a_second_controller_pool_is_refused() -> None:
    result = load(
        {
            17: (
                "    - name: more\n"
                "      services: [controller]\n"
                "      size: 3\n"
                "      machine: small\n"
                "      disk: {kind: persistent, sizeGib: 10}\n"
                "      place: {cloud: local, region: local-1, zones: [a, b, c]}\n"
                "    - name: brokers"
            )
        }
    )
    assert told(result) == [
        (
            "18:17",
            "KEDGE-SPEC-030",
            "pool `more` has controllers, but pool `controllers` has them",
            "Keep the controllers of one pool; its size may be 1, 3 or 5.",
        ),
    ]
    assert not result.ok


def test_an_even_number_of_controllers_is_refused() -> None:
    result = load({13: "      size: 4"})
    assert told(result) == [
        (
            "13:13",
            "KEDGE-SPEC-031",
            (
                "pool `controllers` has 4 controllers; a quorum has 1, 3 or 5 (4 survive the loss of 1, "
                "no more than 3 do)"
            ),
            "Use 3, or 5 for large clusters.",
        ),
    ]
    assert not result.ok


def test_seven_controllers_are_refused() -> None:
    result = load({13: "      size: 7"})
    assert told(result) == [
        (
            "13:13",
            "KEDGE-SPEC-031",
            "pool `controllers` has 7 controllers; a quorum has 1, 3 or 5",
            "Use 3, or 5 for large clusters.",
        ),
    ]
    assert not result.ok


def test_a_spec_without_brokers_is_refused() -> None:
    result = load(dict.fromkeys(range(17, 23), ""))
    assert told(result) == [
        (
            "10:3",
            "KEDGE-SPEC-032",
            "no pool has the service `broker`, so nothing would hold data",
            "Add a pool with `services: [broker]`.",
        ),
    ]
    assert not result.ok


def test_a_combined_pool_is_refused_once() -> None:
    result = load({18: "      services: [broker, controller]"})
    assert told(result) == [
        (
            "18:17",
            "KEDGE-SPEC-033",
            (
                "pool `brokers` has both broker and controller; one process with both roles is not "
                "offered, because rolling a broker would then take a vote from the quorum"
            ),
            "Make two pools: one with `services: [broker]`, one with `services: [controller]`.",
        ),
    ]
    assert not result.ok


def test_controllers_on_an_ephemeral_disk_are_refused() -> None:
    result = load({15: "      disk: {kind: ephemeral, sizeGib: 10}"})
    assert told(result) == [
        (
            "15:20",
            "KEDGE-SPEC-034",
            (
                "pool `controllers` has controllers on an ephemeral disk; a controller keeps its id and "
                "its disk when its VM is replaced"
            ),
            "Write `kind: persistent`.",
        ),
    ]
    assert not result.ok


def test_a_pool_name_given_twice_is_refused() -> None:
    result = load({17: "    - name: controllers"})
    assert told(result) == [
        (
            "17:13",
            "KEDGE-SPEC-035",
            "pool `controllers` is given twice; nodes are named after their pool",
            "Give it another name.",
        ),
    ]
    assert not result.ok


def test_a_zone_listed_twice_is_refused_and_counts_once() -> None:
    result = load({22: "      place: {cloud: local, region: local-1, zones: [a, b, a, c]}"})
    assert told(result) == [
        (
            "22:53",
            "KEDGE-SPEC-047",
            (
                "`default.replication.factor` is 3 by default, but brokers stand in 2 zones; two replicas"
                " in one zone would be lost together"
            ),
            "Add zones, or write `default.replication.factor: 2` into spec.kafka.config.",
        ),
        (
            "22:60",
            "KEDGE-SPEC-036",
            "`a` is listed twice",
            "List it once.",
        ),
    ]
    assert not result.ok


def test_a_service_listed_twice_is_refused() -> None:
    result = load({18: "      services: [broker, broker]"})
    assert told(result) == [
        (
            "18:26",
            "KEDGE-SPEC-036",
            "`broker` is listed twice",
            "List it once.",
        ),
    ]
    assert not result.ok


def test_a_size_that_is_no_multiple_of_the_zones_is_a_warning() -> None:
    result = load({19: "      size: 4"})
    assert told(result) == [
        (
            "19:13",
            "KEDGE-SPEC-037",
            "pool `brokers` deals 4 nodes out to 3 zones unevenly (a: 2, b: 1, c: 1)",
            "Use size 3 or 6, or leave it if that is meant.",
        ),
    ]
    assert result.ok


def test_the_warning_about_controllers_offers_only_sizes_a_quorum_can_have() -> None:
    result = load({13: "      size: 5"})
    assert told(result) == [
        (
            "13:13",
            "KEDGE-SPEC-037",
            "pool `controllers` deals 5 nodes out to 3 zones unevenly (a: 2, b: 2, c: 1)",
            "Use size 3, or leave it if that is meant.",
        ),
    ]
    assert result.ok


def test_an_unknown_cloud_is_refused() -> None:
    result = load({22: "      place: {cloud: googel, region: local-1, zones: [a, b, c]}"})
    assert told(result) == [
        (
            "22:22",
            "KEDGE-SPEC-038",
            "pool `brokers` is in cloud `googel`, which is unknown",
            "Did you mean `google`? Choose one of local, aws, google, azure, digitalocean, upcloud, hetzner.",
        ),
    ]
    assert not result.ok
