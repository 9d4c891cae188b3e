"""Values of settings: the type, the range and the choices that Kafka names for each."""

import pytest

from events.spec.setting_table import Setting, settings_of
from events.spec.setting_values import as_kafka_reads, unreadable_because


def named(name: str) -> Setting:
    return settings_of("4.2.0")[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num.io.threads", "1"),
        ("num.io.threads", "016"),
        ("log.retention.ms", "-1"),
        ("log.segment.bytes", "1048576"),
        ("log.cleaner.min.cleanable.ratio", "1"),
        ("log.cleaner.min.cleanable.ratio", "5e-1"),
        ("compression.gzip.level", "-1"),
        ("compression.gzip.level", "9"),
        ("compression.zstd.level", "-131072"),
        ("compression.type", "zstd"),
        ("log.cleanup.policy", "compact, delete"),
        ("log.message.timestamp.type", "LogAppendTime"),
        ("group.consumer.migration.policy", "Upgrade"),
        ("auto.create.topics.enable", "TRUE"),
        ("broker.rack", "anything at all"),
    ],
)
def test_kafka_takes(name: str, value: str) -> None:
    assert unreadable_because(named(name), value) is None


@pytest.mark.parametrize(
    ("name", "value", "why", "meant"),
    [
        ("num.io.threads", "0", "must be at least 1", None),
        ("num.io.threads", "eight", "must be a whole number of 32 bits", None),
        ("num.io.threads", "2147483648", "must be a whole number of 32 bits", None),
        ("log.retention.bytes", "9223372036854775808", "must be a whole number of 64 bits", None),
        ("log.segment.bytes", "1048575", "must be at least 1048576", None),
        ("log.cleaner.min.cleanable.ratio", "1.1", "must be from 0 to 1", None),
        ("compression.gzip.level", "0", "must be from 1 to 9, or -1", None),
        ("compression.zstd.level", "23", "must be from -131072 to 22", None),
        (
            "compression.type",
            "zst",
            "must be one of uncompressed, zstd, lz4, snappy, gzip, producer",
            "zstd",
        ),
        ("log.cleanup.policy", "compact,deleted", "must be made of compact, delete", "delete"),
        ("log.message.timestamp.type", "logappendtime", "must be one of CreateTime, LogAppendTime", "LogAppendTime"),
        ("unclean.leader.election.enable", "yes", "must be true or false", None),
    ],
)
def test_kafka_would_not_take(name: str, value: str, why: str, meant: str | None) -> None:
    found = unreadable_because(named(name), value)
    assert found is not None
    assert (found.why, found.meant) == (why, meant)


@pytest.mark.parametrize("version", ["3.8.1", "3.9.1", "4.1.1", "4.2.0"])
def test_every_default_of_kafka_is_one_it_takes(version: str) -> None:
    """But for an empty one: `controller.quorum.bootstrap.servers` is empty and must not be set to nothing."""
    for name, setting in settings_of(version).items():
        if setting.default:
            assert unreadable_because(setting, setting.default) is None, name


@pytest.mark.parametrize(
    ("name", "left", "right", "alike"),
    [
        ("num.partitions", "072", "72", True),
        ("num.partitions", "7", "72", False),
        ("auto.create.topics.enable", "True", "true", True),
        ("log.cleanup.policy", "compact , delete", "compact,delete", True),
        ("log.cleanup.policy", "delete,compact", "compact,delete", False),
        ("log.cleaner.io.max.bytes.per.second", "1.0E6", "1000000", True),
        ("compression.type", "gzip", "zstd", False),
    ],
)
def test_texts_are_compared_as_kafka_reads_them(name: str, left: str, right: str, alike: bool) -> None:
    assert (as_kafka_reads(named(name), left) == as_kafka_reads(named(name), right)) is alike
