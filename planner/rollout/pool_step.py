"""Live values of the brokers of one pool: each holds them as its own, which wins over the cluster's default. Pure.

Whoever asks hands in what is seen of that pool alone (`SettingsSeen.of`); what is set for the whole cluster goes by
what is seen of the others (`SettingsSeen.without`).
"""

from collections.abc import Collection, Mapping, Sequence

from planner.observed import SettingsSeen
from planner.rollout.canary_step import back_step
from planner.rollout.live_step import LiveStep, SettingDeviation, deviations, own_step


def pool_deviations(
    wanted: Mapping[str, str], seen: SettingsSeen, *, unset_is_right: bool = False
) -> tuple[SettingDeviation, ...]:
    """Where the values are not there, or not as a broker's own: the cluster's default may become another one."""
    wrong = deviations(wanted, seen, unset_is_right=unset_is_right)
    found = {(d.broker, d.name) for d in wrong}
    shared = tuple(
        SettingDeviation(broker, name, there.value, wanted[name], is_own=False)
        for broker, settings in sorted(seen.brokers.items())
        for name, there in sorted(settings.items())
        if name in wanted and not there.is_own and there.value is not None and (broker, name) not in found
    )
    return (*wrong, *shared)


def pool_step(found: Sequence[SettingDeviation]) -> LiveStep:
    """The next own values for deviations of this very observation; an empty step when there are none."""
    own: dict[int, dict[str, str | None]] = {}
    for d in found:
        own.setdefault(d.broker, {})[d.name] = own_step(d, may_delete=False)
    return LiveStep({}, own)


def pool_back_step(before: Mapping[str, str | None], seen: SettingsSeen, tried: Collection[int]) -> LiveStep:
    """Gives the brokers that tried other values back what they held as their own (`before`, None for nothing)."""
    held = {name: value for name, value in before.items() if value is not None}
    own = dict(pool_step(deviations(held, seen.of(tried))).own)
    for broker, values in back_step(before.keys() - held.keys(), seen, tried).own.items():
        own[broker] = {**own.get(broker, {}), **values}
    return LiveStep({}, own)
