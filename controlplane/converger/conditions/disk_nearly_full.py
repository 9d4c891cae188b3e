"""The condition `DiskNearlyFull`: told before Kafka stops over a disk it cannot write to, whoever acts."""

from controlplane.converger.questions.rolls.disk_limits import DISK_NEARLY_FULL, disk_limits
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.quantities import human_seconds
from events import facts
from planner.disk_protection import LASTS_S
from planner.quantities import human_bytes


def disk_nearly_full(situation: Situation) -> facts.ConditionChanged | None:
    """By figures young enough to act on; without them it stays as it is."""
    limits = disk_limits(situation)
    if limits is None:
        return None
    quota = situation.view.settings.producer_quota
    if not limits.near and (quota is None or quota.ending):
        known = situation.view.conditions.get(DISK_NEARLY_FULL)
        if known is None or (known.status and limits.unknown):
            return None  # who has not told may be the very one
        return facts.ConditionChanged(DISK_NEARLY_FULL, False, "Free", "")
    fullest = "; ".join(near.words for near in limits.near) or (quota.reason if quota is not None else "")
    next_step = (
        "Keep less (retention of topics), make disks larger (`sizeGib`, or `disk.grow` with room in `to`), or add "
        f"brokers (`size`). Next: kedge topics {situation.view.name}"
    )
    if quota is None:
        words = f"{fullest}; Kafka stops over a full disk. {next_step}"
        return facts.ConditionChanged(DISK_NEARLY_FULL, True, "NearlyFull", words)
    before = "no default quota was set" if quota.before is None else f"it was {human_bytes(quota.before)}/s"
    words = (
        f"{fullest}; producers of each user without a quota of its own may send {human_bytes(quota.bytes_per_s)}/s to "
        f"each broker (default user quota producer_byte_rate; {before}), so that what is free lasts "
        f"{human_seconds(LASTS_S)}. {next_step}"
    )
    return facts.ConditionChanged(DISK_NEARLY_FULL, True, "ProducersSlowed", words)
