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
}
"""By version. Later patch versions of 4.2 exist; one is added here once a roll to it has been run."""


def metadata_level_of(version: str) -> str:
    """The level as in `4.2` of a version as in `4.2.0`, supported or not."""
    return version.rpartition(".")[0]


def as_numbers(version: str) -> tuple[int, ...]:
    """`4.10.1` -> (4, 10, 1), for comparing."""
    return tuple(int(part) for part in version.split("."))
