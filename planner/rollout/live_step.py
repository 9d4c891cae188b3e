"""The next live values to send: from what brokers run with to what they should, one step that each of them takes.

A value set for one broker alone wins over the cluster's default and is taken away again; pools of threads at most
double or halve at a time (`setting_class.live_steps`), each broker counting from what it runs with.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from events.spec.setting_table import newest_known
from events.spec.setting_values import reads_alike
from planner.observed import SettingSeen, SettingsSeen
from planner.rollout.setting_class import thread_count, value_steps


@dataclass(frozen=True, slots=True)
class LiveStep:
    """Values to set as the cluster's defaults, and on brokers of their own; None deletes one."""

    defaults: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[int, Mapping[str, str | None]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.defaults or self.own)

    def without(self, names: Collection[str]) -> "LiveStep":
        """What is left of it without these settings."""
        own = {b: {n: v for n, v in values.items() if n not in names} for b, values in self.own.items()}
        defaults = {n: v for n, v in self.defaults.items() if n not in names}
        return LiveStep(defaults, {b: values for b, values in own.items() if values})


NO_STEP = LiveStep()


@dataclass(frozen=True, slots=True)
class SettingDeviation:
    """A broker that runs with another value than it should."""

    broker: int
    name: str
    value: str | None
    wanted: str
    is_own: bool


def deviations(
    wanted: Mapping[str, str], seen: SettingsSeen, *, unset_is_right: bool = False
) -> tuple[SettingDeviation, ...]:
    """Where running values are not the wanted ones, by name and broker. A setting a broker does not know is no
    deviation; with `unset_is_right` one that has no value there is none either."""
    return tuple(
        SettingDeviation(broker, name, there.value, value, there.is_own)
        for name, value in sorted(wanted.items())
        for broker, settings in sorted(seen.brokers.items())
        if (there := settings.get(name)) is not None and not _right(name, there, value, unset_is_right)
    )


def next_live_step(found: Sequence[SettingDeviation], seen: SettingsSeen) -> LiveStep:
    """The next step for deviations of this very observation; an empty one when there are none."""
    defaults: dict[str, str] = {}
    own: dict[int, dict[str, str | None]] = {}
    for name in sorted({d.name for d in found}):
        of_name = [d for d in found if d.name == name]
        alone, shared = [d for d in of_name if d.is_own], [d for d in of_name if not d.is_own]
        wanted = of_name[0].wanted
        behind = seen.defaults.get(name)
        is_default = behind is not None and _alike(name, behind, wanted)
        default = None if is_default and not shared else _common_step(name, seen, wanted)
        if default is not None:
            defaults[name] = default
        too_far = shared and default is None
        for d in of_name if too_far else alone if is_default else ():
            may_delete = is_default and d.is_own
            if may_delete or d.value is None or not _alike(name, d.value, d.wanted):
                own.setdefault(d.broker, {})[name] = own_step(d, may_delete=may_delete)
    return LiveStep(defaults, own)


def own_step(d: SettingDeviation, *, may_delete: bool) -> str | None:
    """Towards the wanted value by the broker's own; the last step takes that away, once the default is right."""
    first, *more = value_steps(d.name, d.value, d.wanted)
    return first if more or not may_delete else None


def _right(name: str, there: SettingSeen, wanted: str, unset_is_right: bool) -> bool:
    return unset_is_right if there.value is None else _alike(name, there.value, wanted)


def _alike(name: str, left: str, right: str) -> bool:
    return reads_alike(newest_known(name), left, right)


def _common_step(name: str, seen: SettingsSeen, wanted: str) -> str | None:
    """A default that each broker without a value of its own takes in one step; None where they are too far apart."""
    there = [settings[name] for settings in seen.brokers.values() if name in settings]
    counts = [n for s in there if not s.is_own and (n := thread_count(name, s.value)) is not None]
    aim = thread_count(name, wanted)
    if aim is None or not counts:
        return wanted
    lowest, highest = max(c // 2 for c in counts), min(2 * c for c in counts)
    return str(min(max(aim, lowest), highest)) if lowest <= highest else None
