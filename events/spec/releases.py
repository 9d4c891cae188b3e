"""The Kafka versions Kedge rolls to, each tried with real brokers before it is listed here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KafkaRelease:
    """A version and the metadata level it brings.

    `level` is the number Kafka's feature `metadata.version` has for `metadata_level`
    (source: `StorageTool version-mapping` of that version).
    """

    version: str
    metadata_level: str
    level: int


SUPPORTED = {
    "4.1.1": KafkaRelease("4.1.1", "4.1", 27),
    "4.2.0": KafkaRelease("4.2.0", "4.2", 29),
    "4.3.0": KafkaRelease("4.3.0", "4.3", 30),
}
"""By version. Later patch versions exist; one is added here once a roll to it has been run."""

IN_ZOOKEEPER_MODE = ("3.8.1", "3.9.1")
"""The versions of clusters that keep their metadata in ZooKeeper; Kafka 4 cannot (KIP-500)."""

MIGRATES = "3.9.1"
"""The version that takes a cluster from ZooKeeper to KRaft: of the last line with ZooKeeper, the first with dynamic
quorums (KIP-853)."""


def supported(mode: str) -> tuple[str, ...]:
    """The versions a cluster of that mode may have, oldest first."""
    return IN_ZOOKEEPER_MODE if mode == "zookeeper" else tuple(SUPPORTED)


OLDER_LEVELS = ("3.9", "4.0")
"""Metadata levels that Kafka 4 takes beside those of the supported versions, and that a cluster may be at: 3.9 is where
a migration from ZooKeeper ends. (4.1.1, 4.2.0 and 4.3.0 take 3.3-IV3 and later, by `StorageTool version-mapping`.)"""


def levels(mode: str) -> list[str]:
    """The metadata levels, in ZooKeeper mode the protocol versions, that can be pinned there, oldest first."""
    older = () if mode == "zookeeper" else OLDER_LEVELS
    return [*older, *(metadata_level_of(version) for version in supported(mode))]


def metadata_level_of(version: str) -> str:
    """The level as in `4.2` of a version as in `4.2.0`, supported or not."""
    return version.rpartition(".")[0]


def as_numbers(version: str) -> tuple[int, ...]:
    """`4.10.1` -> (4, 10, 1), for comparing."""
    return tuple(int(part) for part in version.split("."))
