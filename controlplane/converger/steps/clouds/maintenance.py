"""What clouds announce of their hosts: a VM with a date gets its successor before that, as on a person's request.

announcement in the inventory, or to the VM alone -> healing.requested (finding `maintenance`) + node.replace_requested

What a VM alone is told (it is pre-empted in two minutes, or in half of one) comes by its agent's report. The successor
is begun at once; the agent stops the broker in order before the date by itself, which hands its leaders over.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from controlplane.cluster.healing_switches import heals
from controlplane.cluster.lifecycle import Phase
from controlplane.converger.situation.decision import Situation, Verdict, record
from events import facts
from planner.anomalies.kinds import Kind
from planner.healing import Cure
from planner.maintenance import FINDING, Announced, LeftAlone, next_replacement
from providers.notices import MaintenanceNotice, NoticeKind

MAINTENANCE = "MaintenanceScheduled"


def maintenance_step(situation: Situation) -> Verdict | None:
    """Begins one replacement. None when nothing is announced, or nothing is to be done about it now."""
    chosen, _ = judged(situation)
    if chosen is None:
        return None
    words = f"the cloud announces maintenance: {chosen.words}"
    event = facts.HealingRequested(chosen.key, chosen.node, FINDING, str(Cure.REPLACE), words)
    return record(f"replacing {chosen.key} ({words})", event, facts.NodeReplaceRequested(chosen.key, words))


def judged(situation: Situation) -> tuple[Announced | None, tuple[LeftAlone, ...]]:
    """Announcements with a date, of VMs that serve and are not to go anyway, by an inventory young enough to act on."""
    document = situation.view.document
    if document is None:
        return None, ()
    spec = document.spec.healing
    return next_replacement(
        _announced(situation),
        situation.view.cures,
        replaces=spec.maintenance == "replace",
        switched_off=not heals(situation.view, Kind.MAINTENANCE_EVENT, situation.now),
        a_day=spec.per_day,
        now=situation.now,
    )


def maintenance_told(situation: Situation) -> facts.ConditionChanged | None:
    """The condition: whose host goes down when, and what is done about it. None where the inventory is not known."""
    inventory, taken_back = situation.seen.fresh_inventory(situation.now), preemptions(situation)
    if inventory is None and not taken_back:
        return None
    there = {i.key for i in situation.view.alive() if not i.lost}  # of a VM that is gone it is history
    here = {key: notice for key, notice in _notices(situation, taken_back).items() if key in there}
    if not here:
        return facts.ConditionChanged(MAINTENANCE, False, "Free", "")
    _, left = judged(situation)
    reasons = {one.announced.key: f": {one.reason}" for one in left}
    named = "; ".join(f"{key}: {notice.sentence}{reasons.get(key, '')}" for key, notice in sorted(here.items())[:3])
    more = " and others" if len(here) > 3 else ""
    waits = [key for key in here if key in reasons]
    return facts.ConditionChanged(MAINTENANCE, True, "Waiting" if waits else "Announced", f"{named}{more}")


def preemptions(situation: Situation) -> Mapping[str, MaintenanceNotice]:
    """By key, what VMs were told alone, as their agents say. Of a VM that is gone it is history."""
    told = {key: seen.report.preemption for key, seen in situation.seen.reports.items() if seen.report.preemption}
    return {
        instance.key: MaintenanceNotice(NoticeKind.STOP, notice.deadline, words=f"the VM was told: {notice.words}")
        for instance in (situation.view.alive() if told else ())
        if (notice := told.get(instance.key)) is not None and not instance.lost
    }


def dates_told(situation: Situation) -> Mapping[str, datetime]:
    """By key, when VMs that are there go down, where a date was told."""
    notices = _notices(situation, preemptions(situation))
    there = [i.key for i in situation.view.in_phase(Phase.JOINED) if not i.lost] if notices else []
    return {key: at for key in there if key in notices and (at := notices[key].not_before) is not None}


def _notices(situation: Situation, taken_back: Mapping[str, MaintenanceNotice]) -> Mapping[str, MaintenanceNotice]:
    """By key, what is announced: what a VM was told alone goes before what its cloud lists."""
    inventory = situation.seen.fresh_inventory(situation.now)
    return {**(inventory.notices if inventory is not None else {}), **taken_back}


def _announced(situation: Situation) -> Iterator[Announced]:
    view, taken_back = situation.view, preemptions(situation)
    notices = _notices(situation, taken_back)
    if not notices:
        return
    in_hand = {*view.to_replace, *view.restarts}
    for instance in view.in_phase(Phase.JOINED):
        if instance.lost or instance.key in in_hand:
            continue
        if (notice := notices.get(instance.key)) is None:
            continue
        told = instance.key in taken_back
        at = notice.not_before or (_SOME_DAY if told else None)
        if at is not None:
            is_certain = told and notice.not_before is not None
            yield Announced(instance.node, instance.key, at, notice.sentence, is_certain)


_SOME_DAY = datetime.max.replace(tzinfo=UTC)
"""A VM that may be taken back soon, nobody knows when: its turn is after those with a date."""
