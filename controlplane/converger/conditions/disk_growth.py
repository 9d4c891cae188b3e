"""The condition `DiskGrowthHeld`: a pool whose disks are to grow by themselves, and why they do not."""

from collections.abc import Sequence
from datetime import timedelta

from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.rolls.disk_growth import PoolGrowth, grows_by_itself, pool_growths
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.quantities import moment_to_minute
from events import facts
from planner.quantities import brokers_named

DISK_GROWTH_HELD = "DiskGrowthHeld"

_UNREAD_AFTER = timedelta(minutes=3)
"""At rest Kafka is looked at once a minute: what is older than this was tried and failed."""


def disk_growth_held(situation: Situation) -> facts.ConditionChanged | None:
    """By figures young enough to act on; between two looks at Kafka the condition stays as it is."""
    if not grows_by_itself(situation.view) or not situation.view.roll.converged:
        return _free(situation)
    growths = pool_growths(situation)
    if growths is None:
        return _unread(situation)
    return _at_limit(situation, growths) or _resting(growths) or _untold(situation, growths)


def _free(situation: Situation) -> facts.ConditionChanged | None:
    known = DISK_GROWTH_HELD in situation.view.conditions
    return facts.ConditionChanged(DISK_GROWTH_HELD, False, "Free", "") if known else None


def _at_limit(situation: Situation, growths: Sequence[PoolGrowth]) -> facts.ConditionChanged | None:
    at_limit = [g for g in growths if g.is_at_limit]
    if not at_limit:
        return None
    pools = "; ".join(
        f"pool {g.pool}: {g.who}, and each disk has {g.gib} GiB, where disk.grow.to is {g.policy.to_gib}"
        for g in at_limit
    )
    message = (
        f"{pools}. Raise `to`, add brokers (`size`), or keep less (retention of topics). Next: kedge topics "
        f"{situation.view.name}"
    )
    return facts.ConditionChanged(DISK_GROWTH_HELD, True, "AtLimit", message)


def _resting(growths: Sequence[PoolGrowth]) -> facts.ConditionChanged | None:
    resting = [g for g in growths if g.rests_until is not None and g.wanted_gib > g.gib and not g.growing]
    if not resting:
        return None
    pools = "; ".join(
        f"pool {g.pool}: {g.who}; disks grow to {g.wanted_gib} GiB at {moment_to_minute(g.rests_until)}"
        for g in resting
        if g.rests_until is not None
    )
    words = f"{pools}, as clouds change a volume once in some hours (Amazon EBS: six)"
    return facts.ConditionChanged(DISK_GROWTH_HELD, True, "CoolDown", words)


def _untold(situation: Situation, growths: Sequence[PoolGrowth]) -> facts.ConditionChanged | None:
    """While something is in hand brokers come and go: that one has not told how full it is says nothing then."""
    unknown = [broker for g in growths for broker in g.unknown]
    if not unknown:
        return _free(situation)
    if has_work(situation.view):
        return None
    message = f"how full the disks of {brokers_named(unknown[:5])} are is not known: on their account nothing grows"
    return facts.ConditionChanged(DISK_GROWTH_HELD, True, "FiguresUnknown", message)


def _unread(situation: Situation) -> facts.ConditionChanged | None:
    kafka = situation.seen.kafka
    if has_work(situation.view) or (kafka is not None and situation.now - kafka.at <= _UNREAD_AFTER):
        return None
    message = f"how full disks are is not known: {situation.seen.why_no_kafka}; nothing grows meanwhile"
    return facts.ConditionChanged(DISK_GROWTH_HELD, True, "FiguresUnknown", message)
