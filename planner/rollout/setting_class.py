"""What a change of one Kafka setting costs, and why: taken live, only while no roll runs, by a restart, or not at all.

The update modes are Kafka's own (`events/spec/setting_tables`, held against live brokers). What they do not say, and a
change has to respect, stands here with its source (`core/.../DynamicBrokerConfig.scala` of Kafka 4.1 and 4.2):

- A *cluster-wide* setting may be set as the cluster's default and on one broker too, so one broker can try it first.
- A live value wins over the file (`DynamicBrokerConfig.overrideProps`): once set live, it has to be changed live.
- Deleting a live value brings back the value of the file the process was started with, not Kafka's default.
- A default is accepted when the broker that is asked can take it. Another one that cannot keeps its old values of all
  defaults and refuses every later change of any (measured): each is asked first (`settings_live.refusals`).
- Keys and certificates (`ssl.*`) are taken live only under `listener.name.<listener>.`, which is Kedge's own; all else
  of a listener that lives needs a restart (`DynamicListenerConfig.validateReconfiguration`).
- Pools of threads may at most double or halve at a time, each process by its own count (`live_steps`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from events.spec.properties import SAFE_VALUES, owned_because, unsafe_because
from events.spec.setting_synonyms import time_setting
from events.spec.setting_table import Setting, UpdateMode, lines_with, release_line, settings_of
from events.spec.settings import as_integer


class SettingClass(StrEnum):
    """The gentlest way a setting can change."""

    DYNAMIC_CLUSTER = "dynamic"
    DYNAMIC_BROKER = "dynamic-per-broker"
    GUARDED = "guarded"
    RESTART = "restart"
    OWNED = "owned"
    REFUSED = "refused"
    UNKNOWN = "unknown"


LIVE_CLASSES = frozenset({SettingClass.DYNAMIC_CLUSTER, SettingClass.DYNAMIC_BROKER, SettingClass.GUARDED})
"""Classes that need no restart."""

CLASS_MEANING: Mapping[SettingClass, str] = MappingProxyType(
    {
        SettingClass.DYNAMIC_CLUSTER: "Kafka takes it live, for the whole cluster or for one broker first",
        SettingClass.DYNAMIC_BROKER: "Kafka takes it live, broker by broker, never as the cluster's default",
        SettingClass.GUARDED: "Kafka takes it live, and Kedge changes it only while nothing rolls",
        SettingClass.RESTART: "read when the process starts: the service is restarted in place",
        SettingClass.OWNED: "set by Kedge for each node; a spec may not set it",
        SettingClass.REFUSED: "not offered in a spec: it loads code, holds a secret or opens a door",
        SettingClass.UNKNOWN: "no broker of that version knows it",
    }
)

HALF_TO_DOUBLE = frozenset(
    {
        "background.threads",
        "log.cleaner.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
    }
)
"""Pools of threads that Kafka refuses to more than double or halve in one live change.

Sources: `DynamicThreadPool.validateReconfiguration`, `DataPlaneAcceptor` (network threads), `LogCleaner`,
`DynamicRemoteLogConfig`. The others of a name like theirs (`group.coordinator.threads`) are read-only.
"""

_GUARDED: Mapping[str, str] = MappingProxyType(
    {
        "min.insync.replicas": (
            "a change clears the eligible leader replicas of every partition it reaches (KIP-966), and a roll counts "
            "on it standing still; on one broker alone Kafka refuses it"
        ),
    }
)

GUARDED = frozenset(_GUARDED)
"""Settings that are changed only while nothing rolls."""

_CONDITIONS: Mapping[str, str] = MappingProxyType(
    {
        "log.cleaner.dedupe.buffer.size": "the log cleaner starts anew and its buffer has to fit the heap",
        "log.local.retention.bytes": "at most log.retention.bytes, and -1 only where that is -1",
        "log.local.retention.ms": "at most log.retention.ms, and -1 only where that is -1",
        "log.retention.bytes": "not below log.local.retention.bytes",
        "log.retention.ms": "not below log.local.retention.ms",
        "unclean.leader.election.enable": "turned on, it elects a replica that lags at once where no other is left",
        "remote.log.index.file.cache.total.size.bytes": "at least 1 when changed live, though a file may say 0",
    }
)
"""What Kafka asks of a live change beyond the range of the value (`validateReconfiguration` of each part)."""


@dataclass(frozen=True, slots=True)
class ClassedSetting:
    """What a change of a setting costs in one version of Kafka.

    `live_name` is the name a live change is sent under, "" where there is none; `condition` is what a live change has
    to respect, "" where the range of the value is all.
    """

    name: str
    setting_class: SettingClass
    reason: str
    condition: str = ""
    live_name: str = ""

    @property
    def is_live(self) -> bool:
        return self.setting_class in LIVE_CLASSES


def setting_class(name: str, *, version: str) -> ClassedSetting:
    """The class of a setting by its name. Raises `LookupError` for a version without a table of settings."""
    known = settings_of(version).get(name)
    owned = owned_because(name)
    if owned is not None:
        return ClassedSetting(name, SettingClass.OWNED, f"set by Kedge: {owned}")
    refused = None if name in SAFE_VALUES else unsafe_because(name, "")
    if refused is not None:
        return ClassedSetting(name, SettingClass.REFUSED, refused)
    return _unknown(name, version) if known is None else _classed(known)


def kafka_class(setting: Setting) -> SettingClass:
    """What Kafka alone says of a setting, whoever may set it."""
    if setting.name in _GUARDED:
        return SettingClass.GUARDED
    if setting.update_mode is UpdateMode.PER_BROKER:
        return SettingClass.DYNAMIC_BROKER
    if setting.update_mode is UpdateMode.CLUSTER_WIDE or time_setting(setting.name) is not None:
        return SettingClass.DYNAMIC_CLUSTER
    return SettingClass.RESTART


def live_steps(current: int, wanted: int) -> tuple[int, ...]:
    """The values to set one after the other to bring a pool of `HALF_TO_DOUBLE` from `current` threads to `wanted`.

    Kafka refuses `new > 2 * old` and `new < old / 2` in whole numbers, so 3 -> 1 is one step. Every process has to have
    taken a step before the next one is sent. Raises `ValueError` when either is below 1, which no such pool can be.
    """
    if min(current, wanted) < 1:
        raise ValueError(f"a pool of threads cannot go from {current} to {wanted}")
    steps = []
    while current != wanted:
        current = min(wanted, 2 * current) if wanted > current else max(wanted, current // 2)
        steps.append(current)
    return tuple(steps)


def thread_count(name: str, value: str | None) -> int | None:
    """How many threads a pool of `HALF_TO_DOUBLE` has by this value. None of any other setting, whatever it holds (a
    word, a fraction, nothing), and of a pool without a thread, which Kafka does not change live."""
    count = as_integer(value or "") if name in HALF_TO_DOUBLE else None
    return count if count is not None and count > 0 else None


def value_steps(name: str, current: str | None, wanted: str) -> tuple[str, ...]:
    """The values to set one after the other where a broker runs with `current`; the last is `wanted`, and of all but
    pools of threads the only one."""
    before, after = thread_count(name, current), thread_count(name, wanted)
    if before is None or after is None:
        return (wanted,)
    return tuple(map(str, live_steps(before, after))) or (wanted,)


def _unknown(name: str, version: str) -> ClassedSetting:
    lines = lines_with(name)
    if not lines:
        return ClassedSetting(name, SettingClass.UNKNOWN, "no release of Kafka has it")
    words = (
        f"Kafka {release_line(version)} does not have it; {', '.join(lines)} {'has' if len(lines) == 1 else 'have'} it"
    )
    return ClassedSetting(name, SettingClass.UNKNOWN, words)


def _classed(known: Setting) -> ClassedSetting:
    found, time = kafka_class(known), time_setting(known.name)
    if found is SettingClass.RESTART:
        return ClassedSetting(known.name, found, "Kafka reads it when the process starts (read-only)")
    if found is SettingClass.GUARDED:
        return ClassedSetting(known.name, found, _GUARDED[known.name], "only while no roll runs", known.name)
    if found is SettingClass.DYNAMIC_BROKER:
        return ClassedSetting(known.name, found, "Kafka takes it live, broker by broker", live_name=known.name)
    live_name = time.live_name if time is not None else known.name
    reason = "Kafka takes it live, cluster-wide"
    if live_name != known.name:
        reason += f", as {live_name}, which wins over it"
    halves = "at most double or half the threads in one change" if known.name in HALF_TO_DOUBLE else ""
    return ClassedSetting(known.name, found, reason, halves or _CONDITIONS.get(live_name, ""), live_name)
