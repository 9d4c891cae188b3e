"""The Kafka versions Kedge rolls to: every patch release of the lines of which one was rolled with real brokers.

Settings, metadata levels and features come with a line (4.2), never with a patch release of it (Kafka's own rule for
its releases), so what was seen of one holds for the others. Which was rolled here is said: another gets a warning.
"""

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
"""By version, those that were rolled here with real brokers: one of each line."""

IN_ZOOKEEPER_MODE = ("3.8.1", "3.9.1")
"""The versions, of those rolled here, of clusters that keep their metadata in ZooKeeper; Kafka 4 cannot (KIP-500)."""

MIGRATES = "3.9.1"
"""The version whose line takes a cluster from ZooKeeper to KRaft: the last line with ZooKeeper, the first with dynamic
quorums (KIP-853)."""


def rolled_here(mode: str) -> tuple[str, ...]:
    """The versions of a cluster of that mode that were rolled with real brokers, one of each line, oldest first."""
    return IN_ZOOKEEPER_MODE if mode == "zookeeper" else tuple(SUPPORTED)


def lines(mode: str) -> tuple[str, ...]:
    """The lines a cluster of that mode may have a release of, as in `4.2`, oldest first."""
    return tuple(metadata_level_of(version) for version in rolled_here(mode))


def is_supported(version: str, mode: str) -> bool:
    """Whether a cluster of that mode may have that version: any patch release of a line that was rolled here."""
    return metadata_level_of(version) in lines(mode)


def is_of_migrations(version: str) -> bool:
    """Whether it is of the line that takes a cluster from ZooKeeper to KRaft."""
    return metadata_level_of(version) == metadata_level_of(MIGRATES)


OLDER_LEVELS = ("3.9", "4.0")
"""Metadata levels that Kafka 4 takes beside those of the supported versions, and that a cluster may be at: 3.9 is where
a migration from ZooKeeper ends. (4.1.1, 4.2.0 and 4.3.0 take 3.3-IV3 and later, by `StorageTool version-mapping`.)"""


def levels(mode: str) -> list[str]:
    """The metadata levels, in ZooKeeper mode the protocol versions, that can be pinned there, oldest first."""
    older = () if mode == "zookeeper" else OLDER_LEVELS
    return [*older, *lines(mode)]


def metadata_level_of(version: str) -> str:
    """The level as in `4.2` of a version as in `4.2.0`, supported or not."""
    return version.rpartition(".")[0]


def as_numbers(version: str) -> tuple[int, ...]:
    """`4.10.1` -> (4, 10, 1), for comparing."""
    return tuple(int(part) for part in version.split("."))
