"""The condition `AtMinIsr`: partitions that have long had no replica in sync to spare, and nobody is working on it."""

from collections import Counter
from datetime import timedelta

from controlplane.converger.situation.situation import Situation
from events import facts
from planner.observed import PartitionSeen

AT_MIN_ISR = "AtMinIsr"

GRACE = timedelta(minutes=5)
"""A broker that starts anew has caught up by then, mostly."""

_NAMED = 3


def at_min_isr(situation: Situation) -> facts.ConditionChanged | None:
    """By metadata young enough to act on; without it the condition stays as it is."""
    kafka, since = situation.seen.fresh_kafka(situation.now), situation.seen.health.at_min_isr
    if kafka is None:
        return None
    old = [p for p in kafka.at_min_isr if p.name in since and situation.now - since[p.name] >= GRACE] if since else []
    if not old:
        return facts.ConditionChanged(AT_MIN_ISR, False, "Free", "")
    minutes = (situation.now - min(since[p.name] for p in old)).total_seconds() / 60
    named = ", ".join(_words(p) for p in old[:_NAMED])
    more = f" and {len(old) - _NAMED} more" if len(old) > _NAMED else ""
    missing = Counter(r for p in old for r in p.target if r not in p.isr).most_common(1)[0]
    message = (
        f"{len(old)} partitions have no replica in sync to spare, for {minutes:.0f} min: {named}{more}. With one less "
        f"they refuse writes of acks=all. Broker {missing[0]} is missing in {missing[1]} of them. "
        f"Next: kedge describe {situation.view.name}"
    )
    return facts.ConditionChanged(AT_MIN_ISR, True, "NoneToSpare", message)


def _words(p: PartitionSeen) -> str:
    return f"{p.name} (ISR {list(p.isr)} of {list(p.target)}, min ISR {p.min_isr})"
