"""Every configuration key of a topic, as each Kafka release describes it: one committed table a release line.

The tables in `topic_tables/` are printed by `org.apache.kafka.storage.internals.log.LogConfig` of that very release
(`make settings`), as those of brokers are (`setting_table`).
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from events.spec.setting_table import TABLES, Setting, UpdateMode, read_table, release_line

COLUMNS = ("name", "type", "default", "valid", "importance", "deprecated")

EXECUTOR_KEYS = frozenset({"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
"""Set and cleared by Kedge while replicas move: no part of what a topic is declared to be."""


def topic_keys_of(version: str) -> Mapping[str, Setting]:
    """The configuration keys topics have in a version, by name. Raises `LookupError` for one without a table."""
    line = release_line(version)
    if line not in TABLES:
        raise LookupError(f"the topic configuration of Kafka {version} is not known; known lines: {', '.join(TABLES)}")
    return _read(line)


@cache
def every_topic_key() -> Mapping[str, Setting]:
    """The keys of all releases, each as its newest release has it."""
    return MappingProxyType({name: key for line in TABLES for name, key in _read(line).items()})


@cache
def _read(line: str) -> Mapping[str, Setting]:
    text = files(__package__).joinpath("topic_tables", f"{line}.csv").read_text(encoding="utf-8")
    # All of them change live.
    return MappingProxyType({key.name: key for key in read_table(text, update_mode=UpdateMode.CLUSTER_WIDE)})
