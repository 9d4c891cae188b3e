"""Every broker and controller setting of a Kafka release, as Kafka itself describes it: one committed table a release.

The tables in `setting_tables/` are printed by `kafka.server.KafkaConfig` of that very release (`make settings`) and
held against live brokers by `tests/kafka/test_live_settings.py`. A patch release is read by the table of its line:
Kafka adds and removes settings in minor releases only.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from events.spec.releases import SUPPORTED, as_numbers

TABLES: Mapping[str, str] = MappingProxyType(
    {"3.8": "3.8.1", "3.9": "3.9.1", "4.1": "4.1.1", "4.2": "4.2.0", "4.3": "4.3.0"}
)
"""Release line -> the release whose table stands for it. Lines below 4 serve ZooKeeper mode."""

COLUMNS = ("name", "type", "default", "valid", "importance", "update_mode", "deprecated")


class UpdateMode(StrEnum):
    """How Kafka takes a new value, in its own words (`DynamicBrokerConfig.dynamicConfigUpdateModes`).

    A cluster-wide setting may also be set on one broker; a per-broker one is refused as a cluster-wide default.
    """

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `default` is None where Kafka has none; `valid` is Kafka's own phrase, as in `[1,...]`, or empty."""

    name: str
    type: str
    default: str | None
    valid: str
    importance: str
    update_mode: UpdateMode
    deprecated: bool

    @property
    def is_sensitive(self) -> bool:
        """Kafka never shows the value of a password and of nothing else (`ConfigDef`: sensitive = type password)."""
        return self.type == "password"


def release_line(version: str) -> str:
    """`4.2` of `4.2.0`."""
    return ".".join(version.split(".")[:2])


def has_table(version: str) -> bool:
    """Whether the settings of a version are known."""
    return release_line(version) in TABLES


def settings_of(version: str) -> Mapping[str, Setting]:
    """The settings a version knows, by name. Raises `LookupError` for a version without a table."""
    line = release_line(version)
    if line not in TABLES:
        raise LookupError(f"the settings of Kafka {version} are not known; known lines: {', '.join(TABLES)}")
    return _read(line)


def newest_known(name: str) -> Setting | None:
    """The setting in the newest table that has it, None if no release ever had it."""
    lines = lines_with(name)
    return _read(lines[-1])[name] if lines else None


def lines_with(name: str) -> tuple[str, ...]:
    """The release lines that know a setting, oldest first."""
    return tuple(line for line in sorted(TABLES, key=as_numbers) if name in _read(line))


def came_with(name: str) -> str | None:
    """The first supported version that knows a setting, or None."""
    return next((v for v in sorted(SUPPORTED, key=as_numbers) if has_table(v) and name in settings_of(v)), None)


@cache
def _read(line: str) -> Mapping[str, Setting]:
    text = files(__package__).joinpath("setting_tables", f"{line}.csv").read_text(encoding="utf-8")
    return MappingProxyType({setting.name: setting for setting in read_table(text)})


def read_table(text: str, *, update_mode: UpdateMode | None = None) -> tuple[Setting, ...]:
    """The settings of a table's text. Lines that start with `#` say where it comes from.

    `update_mode` is that of all, where the table has no such column.
    """
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        Setting(
            name=row["name"],
            type=row["type"],
            default=None if row["default"] == "null" else row["default"],
            valid=row["valid"],
            importance=row["importance"],
            update_mode=update_mode or UpdateMode(row["update_mode"]),
            deprecated=row["deprecated"] == "yes",
        )
        for row in csv.DictReader(lines)
    )
