"""Live values on one broker first, then rack by rack, and what it takes to take them back. Pure.

Kafka takes what may be the cluster's default on one broker alone too ("may also be updated as a per-broker value for
testing", its own documentation says), but for what is `GUARDED`. A value of one broker's own wins over the default.
"""

from collections.abc import Collection, Mapping, Sequence

from planner.observed import SettingSeen, SettingsSeen
from planner.rollout.live_step import LiveStep, SettingDeviation, deviations, own_step
from planner.rollout.setting_class import GUARDED, value_steps


def values_to_try(live: Mapping[str, str]) -> dict[str, str]:
    """Those of the values that one broker can have alone."""
    return {name: value for name, value in live.items() if name not in GUARDED}


def trial_step(wanted: Mapping[str, str], seen: SettingsSeen, broker: int) -> LiveStep:
    """The next values of this broker's own; an empty step when it runs with all of them, or has not answered."""
    found = deviations(values_to_try(wanted), seen.of((broker,)))
    return LiveStep({}, {broker: {d.name: own_step(d, may_delete=False) for d in found}}) if found else LiveStep()


def rack_step(wanted: Mapping[str, str], seen: SettingsSeen, racks: Sequence[Collection[int]]) -> LiveStep:
    """The next values for the brokers of one rack, as their own: the first of `racks` (broker ids, in order) where some
    differ. An empty step where one rack at most is left: it gets them with the cluster's default."""
    values = values_to_try(wanted)
    left = [found for rack in racks if (found := deviations(values, seen.of(rack)))]
    if len(left) < 2:
        return LiveStep()
    own: dict[int, dict[str, str | None]] = {}
    for d in left[0]:
        own.setdefault(d.broker, {})[d.name] = own_step(d, may_delete=False)
    return LiveStep({}, own)


def own_left(wanted: Mapping[str, str], seen: SettingsSeen, tried: Collection[int]) -> tuple[SettingDeviation, ...]:
    """Right values that these brokers still have of their own: they go once the default is right too."""
    found = ((b, n, s) for b in sorted(tried) for n, s in sorted(seen.brokers.get(b, {}).items()))
    own = tuple(
        SettingDeviation(b, n, s.value, wanted[n], is_own=True) for b, n, s in found if n in wanted and s.is_own
    )
    wrong = {(d.broker, d.name) for d in deviations(wanted, seen)}
    return tuple(d for d in own if (d.broker, d.name) not in wrong)


def back_step(names: Collection[str], seen: SettingsSeen, tried: Collection[int]) -> LiveStep:
    """Takes away what these brokers have of their own of these settings; an empty step once they have nothing.

    Pools of threads go back as they came, at most halved or doubled at a time.
    """
    own: dict[int, dict[str, str | None]] = {}
    for broker in sorted(tried):
        for name in sorted(names):
            there = seen.brokers.get(broker, {}).get(name)
            if there is not None and there.is_own:
                own.setdefault(broker, {})[name] = _towards(name, there, _without(name, seen, tried))
    return LiveStep({}, own)


def _without(name: str, seen: SettingsSeen, tried: Collection[int]) -> str | None:
    """What holds where a broker has no value of its own: the default, else what the others were started with."""
    if name in seen.defaults:
        return seen.defaults[name]
    others: Sequence[SettingSeen] = [s[name] for b, s in sorted(seen.brokers.items()) if b not in tried and name in s]
    return next((s.value for s in others if not s.is_own), None)


def _towards(name: str, there: SettingSeen, before: str | None) -> str | None:
    if before is None:
        return None
    first, *more = value_steps(name, there.value, before)
    return first if more else None
