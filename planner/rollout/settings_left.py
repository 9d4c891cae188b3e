"""What is left to do until every service runs with the Kafka settings of the spec: set live, restart, or neither."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from events.spec.setting_table import has_table
from planner.rollout.setting_change import LiveValue, setting_changes
from planner.rollout.setting_class import SettingClass


@dataclass(frozen=True, slots=True)
class AppliedSettings:
    """The spec's settings one service has been told so far, and the Kafka it runs."""

    config: Mapping[str, str]
    version: str


@dataclass(frozen=True, slots=True)
class SettingsLeft:
    """`live` is what Kafka is to hold, under the names it takes live; `settled` are the settings of the spec that are
    done once it does. `restart` needs the process started anew. All sorted by name."""

    live: Mapping[str, str] = field(default_factory=dict)
    settled: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


def settings_left(
    services: Iterable[AppliedSettings],
    wanted: Mapping[str, str],
    *,
    where_silent: Mapping[str, str],
    without: frozenset[SettingClass] = frozenset(),
) -> SettingsLeft:
    """What differs between the settings the services were told and those of the spec.

    A setting is set live only when every service that differs takes it live: one that needs a restart somewhere, or is
    unknown to a version that is still to go, waits for that. Settings of a class in `without` are left out.
    """
    live: dict[str, LiveValue] = {}
    settled: set[str] = set()
    restart: set[str] = set()
    waiting: set[str] = set()
    for applied in _distinct(services, wanted):
        if not has_table(applied.version):
            restart |= {n for n in applied.config.keys() | wanted.keys() if applied.config.get(n) != wanted.get(n)}
            continue
        for change in setting_changes(applied.config, wanted, version=applied.version, where_silent=where_silent):
            if change.setting_class in (SettingClass.UNKNOWN, *without):
                waiting.add(change.name)
            elif change.needs_restart:
                restart.add(change.name)
            else:
                settled.add(change.name)
                live |= {change.name: change.live} if change.live else {}
    settled -= restart | waiting
    values = {live[n].name: live[n].value for n in sorted(settled) if n in live}
    return SettingsLeft(dict(sorted(values.items())), tuple(sorted(settled)), tuple(sorted(restart)))


def _distinct(services: Iterable[AppliedSettings], wanted: Mapping[str, str]) -> list[AppliedSettings]:
    """Services that differ from the spec, one of a kind: most clusters have none, and are asked at every tick."""
    found: list[AppliedSettings] = []
    for applied in services:
        if applied.config != wanted and applied not in found:
            found.append(applied)
    return found
