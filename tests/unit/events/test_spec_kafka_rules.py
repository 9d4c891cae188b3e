"""Refusals about Kafka: levels, properties, and replication that the pools cannot carry."""

import pytest

from tests.unit.events.spec_texts import load, told


def test_a_metadata_level_newer_than_the_version_is_refused() -> None:
    result = load({7: "    version: 4.1.1\n    metadataVersion: 4.2"})
    assert told(result) == [
        (
            "8:22",
            "KEDGE-SPEC-041",
            "metadata level 4.2 is newer than Kafka 4.1.1, which cannot know it",
            "Use 3.9 or 4.0 or 4.1, or remove the pin.",
        ),
    ]
    assert not result.ok


def test_an_unsupported_metadata_level_is_refused() -> None:
    result = load({7: "    version: 4.1.1\n    metadataVersion: 3.8"})
    assert told(result) == [
        (
            "8:22",
            "KEDGE-SPEC-041",
            "metadata level 3.8 is not supported; supported: 3.9, 4.0, 4.1, 4.2, 4.3",
            "Use 3.9 or 4.0 or 4.1, or remove the pin.",
        ),
    ]
    assert not result.ok


@pytest.mark.parametrize("level", ["3.9", "4.0", "4.1"])
def test_a_level_the_version_takes_may_be_pinned(level: str) -> None:
    assert load({7: f'    version: 4.1.1\n    metadataVersion: "{level}"'}).ok


def test_a_property_of_each_node_is_owned_by_kedge() -> None:
    result = load({9: "      node.id: 3"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-042",
            "`node.id` is set by Kedge: each node has its own id for ever",
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_the_properties_of_the_quorum_are_owned_by_kedge() -> None:
    result = load({9: "      controller.quorum.voters: x"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-042",
            (
                "`controller.quorum.voters` is set by Kedge: the addresses and timing of the quorum "
                "belong to the controllers' nodes"
            ),
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_a_jaas_configuration_is_refused() -> None:
    result = load({9: "      sasl.jaas.config: x"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-043",
            "`sasl.jaas.config` is refused: it holds a secret, and specs are read by many",
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_a_class_to_load_is_refused() -> None:
    result = load({9: "      metric.reporters: com.example.Reporter"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-043",
            "`metric.reporters` is refused: it loads code or opens a door that Kedge does not guard yet",
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_a_foreign_replica_selector_is_refused() -> None:
    result = load({9: "      replica.selector.class: com.example.Mine"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-043",
            (
                "`replica.selector.class` is refused: it loads code; only "
                "org.apache.kafka.common.replica.RackAwareReplicaSelector is offered"
            ),
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_a_password_is_refused() -> None:
    result = load({9: "      ssl.key.password: hunter2"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-043",
            "`ssl.key.password` is refused: it holds a secret, and specs are read by many",
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_a_path_to_keys_is_refused() -> None:
    result = load({9: "      ssl.keystore.location: /etc/kafka/keys"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-043",
            "`ssl.keystore.location` is refused: it loads code or opens a door that Kedge does not guard yet",
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_an_address_a_broker_would_call_is_refused() -> None:
    result = load({9: "      sasl.oauthbearer.token.endpoint.url: http://169.254.169.254/"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-043",
            (
                "`sasl.oauthbearer.token.endpoint.url` is refused: it loads code or opens a door that "
                "Kedge does not guard yet"
            ),
            "Remove it.",
        ),
    ]
    assert not result.ok


def test_a_misspelt_property_is_refused_with_the_one_that_was_meant() -> None:
    result = load({9: "      log.retention.hour: 72"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-044",
            "Kafka has no property `log.retention.hour`; it would ignore it",
            "Did you mean `log.retention.hours`? Correct the name, or remove it.",
        ),
    ]
    assert not result.ok


def test_a_property_of_a_later_version_is_refused() -> None:
    result = load({9: "      group.streams.initial.rebalance.delay.ms: 0"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-044",
            "Kafka 4.1.1 has no property `group.streams.initial.rebalance.delay.ms`; it came with 4.2.0",
            "Remove it, or raise the version to 4.2.0 first.",
        ),
    ]
    assert not result.ok


def test_a_property_that_went_with_an_older_version_is_refused_before_the_upgrade() -> None:
    result = load({9: "      log.message.timestamp.difference.max.ms: 1000"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-051",
            (
                "Kafka 4.1.1 has no property `log.message.timestamp.difference.max.ms` any more; 3.9 was the "
                "last to have it"
            ),
            (
                "Use log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms instead of it "
                "before the upgrade."
            ),
        ),
    ]
    assert not result.ok


def test_a_property_without_a_successor_is_to_be_removed() -> None:
    ((_, code, _, fix),) = told(load({9: "      offsets.commit.required.acks: -1"}))
    assert (code, fix) == ("KEDGE-SPEC-051", "Remove it before the upgrade.")


def test_a_deprecated_property_is_a_warning() -> None:
    result = load({7: "    version: 4.2.0", 9: "      remote.log.manager.thread.pool.size: 4"})
    assert told(result) == [
        (
            "9:7",
            "KEDGE-SPEC-052",
            (
                "`remote.log.manager.thread.pool.size` is deprecated in Kafka 4.2.0: it still works, and a "
                "later version will not know it"
            ),
            "Use remote.log.manager.follower.thread.pool.size instead of it.",
        ),
    ]
    assert result.ok


def test_what_is_deprecated_later_is_fine_before() -> None:
    assert told(load({9: "      remote.log.manager.thread.pool.size: 4"})) == []


def test_a_log_level_is_no_property_of_kafka() -> None:
    ((_, code, message, _),) = told(load({9: "      log4j.logger.kafka: DEBUG"}))
    assert code == "KEDGE-SPEC-042"
    assert message.endswith("it belongs to the file of the log, which Kedge writes; Kafka would ignore it here")


def test_a_misspelt_property_of_an_unsupported_version_is_told_beside_the_version() -> None:
    codes = [code for _, code, _, _ in told(load({7: "    version: 5.0.0", 9: "      num.io.thread: 8"}))]
    assert codes == ["KEDGE-SPEC-040", "KEDGE-SPEC-044"]


def test_a_number_out_of_range_is_refused() -> None:
    assert told(load({9: "      num.io.threads: 0"})) == [
        ("9:23", "KEDGE-SPEC-045", "`num.io.threads` is `0`, but must be at least 1", "Correct the value."),
    ]


def test_a_misspelt_choice_is_refused_with_the_one_that_was_meant() -> None:
    assert told(load({9: "      compression.type: ztsd"})) == [
        (
            "9:25",
            "KEDGE-SPEC-045",
            ("`compression.type` is `ztsd`, but must be one of uncompressed, zstd, lz4, snappy, gzip, producer"),
            "Did you mean `zstd`? Correct the value.",
        ),
    ]


def test_a_replication_factor_of_zero_is_told_once() -> None:
    codes = [code for _, code, _, _ in told(load({9: "      offsets.topic.replication.factor: 0"}))]
    assert codes == ["KEDGE-SPEC-045"]


def test_a_word_where_kafka_wants_a_number_is_refused() -> None:
    result = load({9: "      num.io.threads: many"})
    assert told(result) == [
        (
            "9:23",
            "KEDGE-SPEC-045",
            "`num.io.threads` is `many`, but must be a whole number of 32 bits",
            "Correct the value.",
        ),
    ]
    assert not result.ok


def test_no_is_not_false_for_kafka_either() -> None:
    result = load({9: "      auto.create.topics.enable: no"})
    assert told(result) == [
        (
            "9:34",
            "KEDGE-SPEC-045",
            "`auto.create.topics.enable` is `no`, but must be true or false",
            "Correct the value.",
        ),
    ]
    assert not result.ok


def test_a_word_where_kafka_wants_a_fraction_is_refused() -> None:
    result = load({9: "      log.cleaner.min.cleanable.ratio: half"})
    assert told(result) == [
        (
            "9:40",
            "KEDGE-SPEC-045",
            "`log.cleaner.min.cleanable.ratio` is `half`, but must be a number",
            "Correct the value.",
        ),
    ]
    assert not result.ok


def test_a_replication_factor_over_the_brokers_is_refused() -> None:
    result = load({9: "      default.replication.factor: 4"})
    assert told(result) == [
        (
            "9:35",
            "KEDGE-SPEC-046",
            "`default.replication.factor` is 4, but the pools hold 3 brokers; each replica needs its own",
            "Use at most 3, or add brokers.",
        ),
    ]
    assert not result.ok


def test_a_replication_factor_over_the_zones_is_refused_also_when_it_is_the_default() -> None:
    result = load(
        {
            9: "      offsets.topic.replication.factor: 3",
            22: "      place: {cloud: local, region: local-1, zones: [a, b]}",
        }
    )
    assert told(result) == [
        (
            "9:41",
            "KEDGE-SPEC-047",
            (
                "`offsets.topic.replication.factor` is 3, but brokers stand in 2 zones; two replicas in "
                "one zone would be lost together"
            ),
            "Add zones, or write `offsets.topic.replication.factor: 2` into spec.kafka.config.",
        ),
        (
            "19:13",
            "KEDGE-SPEC-037",
            "pool `brokers` deals 3 nodes out to 2 zones unevenly (a: 2, b: 1)",
            "Use size 2 or 4, or leave it if that is meant.",
        ),
        (
            "22:53",
            "KEDGE-SPEC-047",
            (
                "`default.replication.factor` is 3 by default, but brokers stand in 2 zones; two replicas"
                " in one zone would be lost together"
            ),
            "Add zones, or write `default.replication.factor: 2` into spec.kafka.config.",
        ),
    ]
    assert not result.ok


def test_a_replication_factor_of_zero_is_refused() -> None:
    result = load({9: "      default.replication.factor: 0"})
    assert told(result) == [
        (
            "9:35",
            "KEDGE-SPEC-045",
            "`default.replication.factor` is 0, but must be at least 1",
            "Correct the value.",
        ),
    ]
    assert not result.ok


def test_a_min_isr_that_lets_no_replica_be_away_is_refused() -> None:
    result = load({9: "      min.insync.replicas: 3"})
    assert told(result) == [
        (
            "9:28",
            "KEDGE-SPEC-048",
            (
                "`min.insync.replicas` is 3 and `default.replication.factor` is 3 by default: no replica "
                "may be away, so every roll would stop writes"
            ),
            "Use a min ISR of at most 2, or raise `default.replication.factor`.",
        ),
    ]
    assert not result.ok


def test_the_min_isr_of_transactions_is_held_against_their_own_replication_factor() -> None:
    result = load({9: "      transaction.state.log.min.isr: 3"})
    assert told(result) == [
        (
            "9:38",
            "KEDGE-SPEC-048",
            (
                "`transaction.state.log.min.isr` is 3 and `transaction.state.log.replication.factor` is 3"
                " by default: no replica may be away, so every roll would stop writes"
            ),
            "Use a min ISR of at most 2, or raise `transaction.state.log.replication.factor`.",
        ),
    ]
    assert not result.ok


def test_a_min_isr_of_zero_is_refused() -> None:
    result = load({9: "      min.insync.replicas: 0"})
    assert told(result) == [
        (
            "9:28",
            "KEDGE-SPEC-045",
            "`min.insync.replicas` is `0`, but must be at least 1",
            "Correct the value.",
        ),
    ]
    assert not result.ok


def test_one_copy_is_a_warning() -> None:
    result = load({9: "      default.replication.factor: 1"})
    assert told(result) == [
        (
            "9:35",
            "KEDGE-SPEC-049",
            "`default.replication.factor` is 1: there is one copy only, and a lost disk is lost data",
            "Use three brokers in three zones, or leave it if the data may be lost.",
        ),
    ]
    assert result.ok


def test_one_broker_alone_is_accepted_with_a_warning() -> None:
    result = load({19: "      size: 1", 22: "      place: {cloud: local, region: local-1, zones: [a]}"})
    assert told(result) == [
        (
            "22:53",
            "KEDGE-SPEC-049",
            ("`default.replication.factor` is 1 by default: there is one copy only, and a lost disk is lost data"),
            "Use three brokers in three zones, or leave it if the data may be lost.",
        ),
    ]
    assert result.ok


def test_unclean_leader_election_is_a_warning() -> None:
    result = load({9: "      unclean.leader.election.enable: true"})
    assert told(result) == [
        (
            "9:39",
            "KEDGE-SPEC-050",
            "`unclean.leader.election.enable` is on: a replica that lags may lead, and records are lost",
            "Remove it, or leave it if losing acknowledged records is acceptable here.",
        ),
    ]
    assert result.ok


def test_what_may_be_adopted_is_set_in_the_spec_and_taken_live() -> None:
    config = "      num.io.threads: 8\n      log.retention.hours: 24\n      num.partitions: 3"
    assert told(load({9: f"{config}\n    adopt: [num.io.threads, log.retention.hours]"})) == []
    refused = told(load({9: f"{config}\n    adopt: [num.partitions, num.network.threads]"}))
    assert [(at, code, message) for at, code, message, _ in refused] == [
        (
            "12:13",
            "KEDGE-SPEC-053",
            "Kafka reads `num.partitions` when it starts: nobody can change it on a running broker",
        ),
        (
            "12:29",
            "KEDGE-SPEC-053",
            "`config` does not set `num.network.threads`: what it does not set is left as it is on every broker anyway",
        ),
    ]
    twice = told(load({9: f"{config}\n    adopt: [num.io.threads, num.io.threads]"}))
    assert [code for _, code, _, _ in twice] == ["KEDGE-SPEC-036"]
