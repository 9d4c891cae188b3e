"""Refusals about one field: each has its position, its code, what is wrong and what to write instead."""

from tests.unit.events.spec_texts import load, told


def test_a_document_without_an_api_version_is_refused() -> None:
    result = load({1: ""})
    assert told(result) == [
        (
            "1:1",
            "KEDGE-SPEC-012",
            "the document has no `apiVersion`; known: kedge/v1alpha1",
            "Write `apiVersion: kedge/v1alpha1`, or update Kedge if the file is newer than it.",
        ),
    ]
    assert not result.ok


def test_an_unknown_api_version_is_refused() -> None:
    result = load({1: "apiVersion: kedge/v2"})
    assert told(result) == [
        (
            "1:13",
            "KEDGE-SPEC-012",
            "`apiVersion` is `kedge/v2`; known: kedge/v1alpha1",
            "Write `apiVersion: kedge/v1alpha1`, or update Kedge if the file is newer than it.",
        ),
    ]
    assert not result.ok


def test_a_misspelt_kind_is_refused_with_the_right_one() -> None:
    result = load({2: "kind: KafkaClutser"})
    assert told(result) == [
        (
            "2:7",
            "KEDGE-SPEC-013",
            "`kind` is `KafkaClutser`; known: KafkaCluster, KafkaTopic, KafkaUser",
            "Did you mean `KafkaCluster`? Write `kind: KafkaCluster` or `kind: KafkaTopic` or `kind: KafkaUser`.",
        ),
    ]
    assert not result.ok


def test_a_document_without_a_kind_is_refused() -> None:
    result = load({2: ""})
    assert told(result) == [
        (
            "1:1",
            "KEDGE-SPEC-013",
            "the document has no `kind`; known: KafkaCluster, KafkaTopic, KafkaUser",
            "Write `kind: KafkaCluster` or `kind: KafkaTopic` or `kind: KafkaUser`.",
        ),
    ]
    assert not result.ok


def test_a_misspelt_key_is_refused_with_the_one_that_was_meant() -> None:
    result = load({20: "      machin: medium"})
    assert told(result) == [
        (
            "17:7",
            "KEDGE-SPEC-021",
            "`spec.pools[1]` lacks the key `machine`",
            "Add it. `small`, `medium`, `large`, or a machine type in the cloud's own words.",
        ),
        (
            "20:7",
            "KEDGE-SPEC-020",
            "`spec.pools[1]` has no key `machin`",
            "Did you mean `machine`? Known here: name, services, size, machine, alternatives, "
            "machineFigures, spot, ipv6, publicAddress, disk, place, "
            "heapMib, zookeeperHeapMib, config, jvmOptions, logLevels.",
        ),
    ]
    assert not result.ok


def test_a_python_name_is_no_yaml_key() -> None:
    result = load({23: "  rollout:\n    max_unavailable: 1"})
    assert told(result) == [
        (
            "24:5",
            "KEDGE-SPEC-020",
            "`spec.rollout` has no key `max_unavailable`",
            (
                "Did you mean `maxUnavailable`? Known here: strategy, surge, maxUnavailable, maxParallelRestarts, "
                "soak, linger, pause, joinDeadline, throttleMibPerS, brake, windows, allowUnavailable."
            ),
        ),
    ]
    assert not result.ok


def test_an_unknown_key_of_the_document_is_refused() -> None:
    result = load({5: "specs: 1\nspec:"})
    assert told(result) == [
        (
            "5:1",
            "KEDGE-SPEC-020",
            "a document has no key `specs`",
            "Did you mean `spec`? Known here: apiVersion, kind, metadata, spec.",
        ),
    ]
    assert not result.ok


def test_a_missing_key_is_told_at_the_mapping_that_lacks_it() -> None:
    result = load({19: ""})
    assert told(result) == [
        (
            "17:7",
            "KEDGE-SPEC-021",
            "`spec.pools[1]` lacks the key `size`",
            (
                "Add it. Number of nodes. Growing adds nodes; shrinking drains the newest ones first. "
                "Controllers and ZooKeeper servers: 1, 3 or 5, one vote at a time."
            ),
        ),
    ]
    assert not result.ok


def test_a_document_without_metadata_is_refused() -> None:
    result = load({3: "", 4: ""})
    assert told(result) == [
        (
            "1:1",
            "KEDGE-SPEC-021",
            "the document lacks the key `metadata`",
            "Add it. Who the cluster is.",
        ),
    ]
    assert not result.ok


def test_a_word_where_a_number_must_be_is_refused() -> None:
    result = load({19: "      size: three"})
    assert told(result) == [
        (
            "19:13",
            "KEDGE-SPEC-022",
            "`spec.pools[1].size` must be a whole number, but is `three`",
            "Give a whole number.",
        ),
    ]
    assert not result.ok


def test_a_quoted_number_is_text_and_refused() -> None:
    result = load({19: '      size: "3"'})
    assert told(result) == [
        (
            "19:13",
            "KEDGE-SPEC-022",
            '`spec.pools[1].size` must be a whole number, but is the text "3"',
            "Remove the quotes: 3.",
        ),
    ]
    assert not result.ok


def test_a_fraction_where_a_whole_number_must_be_is_refused() -> None:
    result = load({19: "      size: 3.0"})
    assert told(result) == [
        (
            "19:13",
            "KEDGE-SPEC-022",
            "`spec.pools[1].size` must be a whole number, but is `3.0`",
            "Give a whole number.",
        ),
    ]
    assert not result.ok


def test_a_truth_value_is_no_number() -> None:
    result = load({19: "      size: true"})
    assert told(result) == [
        (
            "19:13",
            "KEDGE-SPEC-022",
            "`spec.pools[1].size` must be a whole number, but is `true`",
            "Give a whole number.",
        ),
    ]
    assert not result.ok


def test_a_number_where_a_mapping_must_be_is_refused() -> None:
    result = load({21: "      disk: 100"})
    assert told(result) == [
        (
            "21:13",
            "KEDGE-SPEC-022",
            "`spec.pools[1].disk` must be a mapping, but is `100`",
            "Write `key: value` lines below it, indented.",
        ),
    ]
    assert not result.ok


def test_a_word_where_a_list_must_be_is_refused() -> None:
    result = load({12: "      services: controller"})
    assert told(result) == [
        (
            "12:17",
            "KEDGE-SPEC-022",
            "`spec.pools[0].services` must be a list, but is `controller`",
            "Write `[a, b]`, or one `- item` a line.",
        ),
    ]
    assert not result.ok


def test_a_list_where_text_must_be_is_refused() -> None:
    result = load({4: "  name: [orders]"})
    assert told(result) == [
        (
            "4:9",
            "KEDGE-SPEC-022",
            "`metadata.name` must be text, but is a list",
            "Give text.",
        ),
    ]
    assert not result.ok


def test_an_empty_name_is_refused() -> None:
    result = load({4: "  name:"})
    assert told(result) == [
        (
            "4:8",
            "KEDGE-SPEC-022",
            "`metadata.name` must be text, but is empty",
            "Give text.",
        ),
    ]
    assert not result.ok


def test_yes_is_not_true() -> None:
    result = load({24: "    pause: yes"})
    assert told(result) == [
        (
            "24:12",
            "KEDGE-SPEC-022",
            "`spec.rollout.pause` must be `true` or `false`, but is `yes`",
            "Give `true` or `false`.",
        ),
    ]
    assert not result.ok


def test_a_misspelt_choice_is_refused_with_the_one_that_was_meant() -> None:
    result = load({21: "      disk: {kind: persistant, sizeGib: 100}"})
    assert told(result) == [
        (
            "21:20",
            "KEDGE-SPEC-023",
            "`spec.pools[1].disk.kind` is `persistant`, which is not one of its choices",
            "Did you mean `persistent`? Choose `persistent` or `ephemeral`.",
        ),
    ]
    assert not result.ok


def test_a_listener_with_tls_is_refused_where_nodes_have_no_certificates() -> None:
    result = load({24: "    strategy: migrate\n  listeners: [{security: tls}]"})
    assert told(result) == [
        (
            "25:26",
            "KEDGE-SPEC-082",
            "listener `PLAINTEXT` is to speak TLS, and nodes have no certificates: they speak plaintext",
            "Write `security: {internal: tls}` for a new cluster, or `security: plaintext` here.",
        ),
    ]
    assert not result.ok


def test_a_disk_of_no_size_is_refused() -> None:
    result = load({21: "      disk: {kind: persistent, sizeGib: 0}"})
    assert told(result) == [
        (
            "21:41",
            "KEDGE-SPEC-024",
            "`spec.pools[1].disk.sizeGib` is 0, but must be at least 1",
            "Give a number that is at least 1.",
        ),
    ]
    assert not result.ok


def test_a_surge_beyond_the_bound_is_refused() -> None:
    result = load({24: "    surge: 101"})
    assert told(result) == [
        (
            "24:12",
            "KEDGE-SPEC-024",
            "`spec.rollout.surge` is 101, but must be at most 100",
            "Give a number that is at most 100.",
        ),
    ]
    assert not result.ok


def test_a_name_that_is_no_dns_label_is_refused() -> None:
    result = load({4: "  name: Orders_1"})
    assert told(result) == [
        (
            "4:9",
            "KEDGE-SPEC-025",
            (
                "`metadata.name` is `Orders_1`, but must be a DNS label: a to z, 0 to 9 and dashes "
                "inside, at most 63 characters"
            ),
            "Write a DNS label: a to z, 0 to 9 and dashes inside, at most 63 characters.",
        ),
    ]
    assert not result.ok


def test_a_version_of_two_numbers_is_refused() -> None:
    result = load({7: "    version: 4.1"})
    assert told(result) == [
        (
            "7:14",
            "KEDGE-SPEC-025",
            "`spec.kafka.version` is `4.1`, but must be a full Kafka version of three numbers, as in 4.1.1",
            "Write a full Kafka version of three numbers, as in 4.1.1.",
        ),
    ]
    assert not result.ok


def test_a_property_name_with_a_blank_is_refused() -> None:
    result = load({9: '      "log retention": 72'})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-025",
            (
                'the key is the text "log retention", but must be a property name: no blanks, no control '
                "characters, none of = : # ! \\"
            ),
            "Write a property name: no blanks, no control characters, none of = : # ! \\.",
        ),
    ]
    assert not result.ok


def test_a_spec_without_pools_is_refused() -> None:
    result = load({10: "  pools: []", **dict.fromkeys(range(11, 23), "")})
    assert told(result) == [
        (
            "10:3",
            "KEDGE-SPEC-030",
            "no pool has the service `controller`; a cluster needs exactly one such pool",
            "Add a pool of 3 with `services: [controller]` and a persistent disk.",
        ),
        (
            "10:3",
            "KEDGE-SPEC-032",
            "no pool has the service `broker`, so nothing would hold data",
            "Add a pool with `services: [broker]`.",
        ),
    ]
    assert not result.ok


def test_a_pool_without_zones_is_refused() -> None:
    result = load({22: "      place: {cloud: local, region: local-1, zones: []}"})
    assert told(result) == [
        (
            "22:53",
            "KEDGE-SPEC-026",
            "`spec.pools[1].place.zones` has 0 items, but must have at least 1",
            "Add what is missing.",
        ),
    ]
    assert not result.ok


def test_a_word_that_is_no_duration_is_refused() -> None:
    result = load({24: "    linger: soon"})
    assert told(result) == [
        (
            "24:13",
            "KEDGE-SPEC-027",
            "`spec.rollout.linger` is `soon`, but must be a duration of at most 7 days",
            "Write seconds as a number, or hours, minutes and seconds as in `90s`, `5m`, `1h30m`.",
        ),
    ]
    assert not result.ok


def test_a_quoted_number_is_no_duration() -> None:
    result = load({24: '    linger: "60"'})
    assert told(result) == [
        (
            "24:13",
            "KEDGE-SPEC-027",
            '`spec.rollout.linger` is the text "60", but must be a duration of at most 7 days',
            "Write seconds as a number, or hours, minutes and seconds as in `90s`, `5m`, `1h30m`.",
        ),
    ]
    assert not result.ok


def test_a_duration_of_more_than_a_week_is_refused() -> None:
    result = load({24: "    soak: 169h"})
    assert told(result) == [
        (
            "24:11",
            "KEDGE-SPEC-027",
            "`spec.rollout.soak` is `169h`, but must be a duration of at most 7 days",
            "Write seconds as a number, or hours, minutes and seconds as in `90s`, `5m`, `1h30m`.",
        ),
    ]
    assert not result.ok


def test_a_negative_duration_is_refused() -> None:
    result = load({24: "    soak: -1"})
    assert told(result) == [
        (
            "24:11",
            "KEDGE-SPEC-027",
            "`spec.rollout.soak` is `-1`, but must be a duration of at most 7 days",
            "Write seconds as a number, or hours, minutes and seconds as in `90s`, `5m`, `1h30m`.",
        ),
    ]
    assert not result.ok
