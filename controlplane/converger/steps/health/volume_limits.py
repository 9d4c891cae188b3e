"""What saturated volumes are found to do, beside whatever else a tick decides: it is recorded, and plans go by it.

volume.limit_found  an agent tells a limit that differs from what is known, or has told none for a week
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from controlplane.cluster.views.vms import VolumeLimitView
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.quantities import human_bytes

DIFFERS = 0.1
"""A limit this share beside the known one is another one."""

APART = timedelta(hours=1)
"""Of one volume no sooner than this again: it is the most of the last hour."""

CONFIRMED = timedelta(days=1)
"""What is still so is recorded anew after so long."""

FORGOTTEN = timedelta(days=7)


def with_volume_limits(situation: Situation, decision: Decision) -> Decision:
    """The decision, or what is to be recorded of volumes before it."""
    view = situation.view
    if decision.events or view.history.unreadable or view.requests.held or view.deleted or not view.roll.converged:
        return decision
    found = [*_found(situation)]
    if not found:
        return decision
    named = ", ".join(
        f"{each.volume} {f'{human_bytes(each.bytes_per_s)}/s' if each.bytes_per_s else 'not known any more'}"
        for each in found
    )
    return record(f"what volumes do when they are saturated: {named}", *found)


def _found(situation: Situation) -> Iterator[facts.VolumeLimitFound]:
    limits, now = situation.view.vms.volume_limits, situation.now
    for instance in situation.view.brokers():
        heard = situation.seen.reports.get(instance.key)
        service = next((s for s in heard.report.services if s.name == "broker"), None) if heard else None
        told = {d.name: d.limit_bytes_per_s for d in (service.log_dirs if service else ())}
        for volume in instance.planned.volumes:
            limit, known = told.get(volume.dir), limits.get(volume.key)
            if known is not None and now - known.at < APART:
                continue
            if limit and (known is None or _is_news(limit, known, now)):
                yield facts.VolumeLimitFound(volume.key, round(limit))
            elif not limit and known is not None and now - known.at >= FORGOTTEN:
                yield facts.VolumeLimitFound(volume.key, 0)


def _is_news(limit: float, known: VolumeLimitView, now: datetime) -> bool:
    return abs(limit - known.bytes_per_s) > DIFFERS * known.bytes_per_s or now - known.at >= CONFIRMED
