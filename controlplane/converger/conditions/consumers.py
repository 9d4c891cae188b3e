"""The condition `ConsumersStuck`: groups that do not move on, or leave partitions unread. Told; nothing is done."""

from datetime import timedelta

from controlplane.cluster.observed.consumer_groups import GroupNoted
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.untrusted_text import on_one_line
from events import facts

CONSUMERS_STUCK = "ConsumersStuck"

STALE_LOOK = timedelta(minutes=5)
"""Groups are looked at slowly, and only where somebody asked; nothing is said by an older look."""
_NAMED = 3


def consumers_stuck(situation: Situation) -> facts.ConditionChanged | None:
    """From the last look at the groups. Without a young one the condition stays as it is."""
    noted = situation.seen.background.groups
    if noted is None or situation.now - noted.at > STALE_LOOK:
        return None
    troubled = noted.troubled
    if not troubled:
        # Groups of a broker that was silent were not judged.
        return None if noted.silent else facts.ConditionChanged(CONSUMERS_STUCK, False, "Free", "")
    sentences = "; ".join(_sentence(group) for group in troubled[:_NAMED])
    more = f"; and {len(troubled) - _NAMED} groups more" if len(troubled) > _NAMED else ""
    reasons = {"Stuck" if group.stuck else "Unread" for group in troubled}
    reason = reasons.pop() if len(reasons) == 1 else "Several"
    message = f"{sentences}{more}. Next: kedge groups {situation.view.name}"
    return facts.ConditionChanged(CONSUMERS_STUCK, True, reason, message)


def _sentence(group: GroupNoted) -> str:
    parts = []
    if group.stuck:
        parts.append(f"it stands still in {group.stuck} of {group.partitions} partitions while their logs grow")
    if group.unread:
        parts.append(f"none of its members reads {group.unread} of {group.partitions} partitions it subscribes to")
    since = f" since {group.since:%Y-%m-%d %H:%M} UTC" if group.since else ""
    return f"{on_one_line(group.name)}: {' and '.join(parts)}{since} ({', '.join(group.named)})"
