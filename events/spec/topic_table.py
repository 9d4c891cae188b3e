"""Every configuration key of a topic, as each Kafka release describes it: one committed table a release line.

The tables in `topic_tables/` are printed by `org.apache.kafka.storage.internals.log.LogConfig` of that very release
(`make settings`), as those of brokers are (`setting_table`).
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from events.spec.setting_table import TABLES, Setting, UpdateMode, release_line

COLUMNS = ("name", "type", "default", "valid", "importance", "deprecated")

EXECUTOR_KEYS = frozenset({"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
"""Set and cleared by Kedge while replicas move: no part of what a topic is declared to be."""


def topic_keys_of(version: str) -> Mapping[str, Setting]:
    """The configuration keys topics have in a version, by name. Raises `LookupError` for one without a table."""
    line = release_line(version)
    if line not in TABLES:
        raise LookupError(f"the topic configuration of Kafka {version} is not known; known lines: {', '.join(TABLES)}")
    return _read(line)


def every_topic_key() -> Mapping[str, Setting]:
    """The keys of all releases, each as its newest release has it."""
    return MappingProxyType({name: key for line in TABLES for name, key in _read(line).items()})


@cache
def _read(line: str) -> Mapping[str, Setting]:
    text = files(__package__).joinpath("topic_tables", f"{line}.csv").read_text(encoding="utf-8")
    return MappingProxyType({setting.name: setting for setting in read_table(text)})


def read_table(text: str) -> tuple[Setting, ...]:
    """The keys of a table's text. Lines that start with `#` say where it comes from. All of them change live."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        Setting(
            name=row["name"],
            type=row["type"],
            default=None if row["default"] == "null" else row["default"],
            valid=row["valid"],
            importance=row["importance"],
            update_mode=UpdateMode.CLUSTER_WIDE,
            deprecated=row["deprecated"] == "yes",
        )
        for row in csv.DictReader(lines)
    )
