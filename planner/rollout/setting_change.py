"""What becomes of each changed Kafka setting: the value to set live, or the restart it needs, in words and as data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from events.spec.setting_synonyms import TimeSetting, time_setting
from events.spec.setting_table import Setting, settings_of
from events.spec.setting_values import reads_alike
from planner.rollout.setting_class import (
    HALF_TO_DOUBLE,
    ClassedSetting,
    SettingClass,
    setting_class,
    thread_count,
    value_steps,
)

_NOTHING_ELSE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LiveValue:
    """A value that Kafka is to hold as a live one. Pools of threads go there by `value_steps`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting that differs, and the gentlest way to bring it about: by `live`, by a restart, or by nothing at all.

    `setting_class` is that of this very change, which may need a restart though the setting can change live. Where
    neither `live` nor `needs_restart` says anything, what is in force stays as it is. `effect` is all of it for people.
    """

    name: str
    old: str | None
    new: str | None
    setting_class: SettingClass
    effect: str
    live: LiveValue | None = None
    needs_restart: bool = False


def setting_changes(
    old: Mapping[str, str],
    new: Mapping[str, str],
    *,
    version: str,
    where_silent: Mapping[str, str] = _NOTHING_ELSE,
) -> tuple[SettingChange, ...]:
    """Every setting that differs between the settings of two accepted specs, sorted by name.

    `version` is the Kafka that runs. `where_silent` is what a service is started with where the settings say nothing,
    before Kafka's own defaults: a setting that leaves the spec gets this value live, because deleting its live value
    would bring back the one in the file the process was started with. Live values go first, then the restarts: a live
    value wins over the file, so one that is out of date would outlive the restart.

    Raises `LookupError` for a version without a table, `ValueError` for a length of time that is no whole number.
    """
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    before, after = {**where_silent, **old}, {**where_silent, **new}
    return tuple(
        _change(setting_class(name, version=version), (old.get(name), new.get(name)), before, after, version)
        for name in changed
    )


def _change(
    classed: ClassedSetting,
    said: tuple[str | None, str | None],
    before: Mapping[str, str],
    after: Mapping[str, str],
    version: str,
) -> SettingChange:
    change = SettingChange(classed.name, *said, classed.setting_class, classed.reason)
    setting, time = settings_of(version).get(classed.name), time_setting(classed.name)
    if setting is None or classed.setting_class in (SettingClass.OWNED, SettingClass.REFUSED):
        return change  # no accepted spec holds it
    if _reads_alike(setting, *said):
        return replace(change, effect="changes nothing: Kafka reads both alike")
    if classed.setting_class is SettingClass.RESTART:
        return _by_restart(change, "Kafka reads it only when it starts")
    if time is not None:
        return _time_change(change, time, before, after)
    value = after.get(classed.name, setting.default)
    if value is None:
        return _by_restart(change, "Kafka has no default that could be set live")
    began = before.get(classed.name)
    if classed.name in HALF_TO_DOUBLE and None in {thread_count(classed.name, n) for n in (began or value, value)}:
        return _by_restart(change, "Kafka makes a pool of threads, and gives one up, only when it starts")
    effect = _live_effect(classed, change, began, value)
    return replace(change, live=LiveValue(classed.name, value), effect=effect)


def _reads_alike(setting: Setting, old: str | None, new: str | None) -> bool:
    return old is not None and new is not None and reads_alike(setting, old, new)


def _time_change(
    change: SettingChange, time: TimeSetting, before: Mapping[str, str], after: Mapping[str, str]
) -> SettingChange:
    """A length of time is set live in milliseconds, whatever unit the spec speaks."""
    deciding, value = time.deciding(after), time.milliseconds(after)
    if time.milliseconds(before) == value:
        return replace(change, effect=f"changes nothing: {time.live_name} stays {value} by {deciding}")
    by = f", by {deciding}" if deciding != change.name else ""
    return replace(change, live=LiveValue(time.live_name, value), effect=f"set live as {time.live_name}={value}{by}")


def _live_effect(classed: ClassedSetting, change: SettingChange, before: str | None, value: str) -> str:
    words = "set live on every broker" if change.new is not None else f"set live to {value}, which holds without it"
    if classed.name in HALF_TO_DOUBLE:
        words += f", {_steps(classed.name, before, value)}"
    elif classed.condition:
        words += f"; {classed.condition}"
    return f"{words}: {classed.reason}" if classed.setting_class is SettingClass.GUARDED else words


def _steps(name: str, before: str | None, value: str) -> str:
    """How many steps is known only with the number before: where nobody said one, the service decided."""
    if before is None:
        return "at most doubled or halved at a time"
    steps = value_steps(name, before, value)
    return "in one step" if len(steps) < 2 else f"in {len(steps)} steps ({', '.join(steps)})"


def _by_restart(change: SettingChange, why: str) -> SettingChange:
    effect = f"the service is restarted in place: {why}"
    return replace(change, setting_class=SettingClass.RESTART, effect=effect, needs_restart=True)
