"""What clouds announce of their hosts, and what VMs alone are told: by VM, with the date, and which is due."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from controlplane.cluster.healing_switches import heals
from controlplane.cluster.lifecycle import Phase
from controlplane.converger.situation.situation import Situation
from planner.anomalies.kinds import Kind
from planner.maintenance import Announced, LeftAlone, next_replacement
from providers.notices import MaintenanceNotice, NoticeKind


def judged(situation: Situation) -> tuple[Announced | None, tuple[LeftAlone, ...]]:
    """Announcements with a date, of VMs that serve and are not to go anyway, by an inventory young enough to act on."""
    document = situation.view.document
    if document is None:
        return None, ()
    spec = document.spec.healing
    return next_replacement(
        _announced(situation),
        situation.view.vms.cures,
        replaces=spec.maintenance == "replace",
        switched_off=not heals(situation.view, Kind.MAINTENANCE_EVENT, situation.now),
        a_day=spec.per_day,
        now=situation.now,
    )


def preemptions(situation: Situation) -> Mapping[str, MaintenanceNotice]:
    """By key, what VMs were told alone, as their agents say. Of a VM that is gone it is history."""
    reported = {key: seen.report.preemption for key, seen in situation.seen.reports.items() if seen.report.preemption}
    return {
        instance.key: MaintenanceNotice(NoticeKind.STOP, notice.deadline, words=f"the VM was told: {notice.words}")
        for instance in (situation.view.alive() if reported else ())
        if (notice := reported.get(instance.key)) is not None and not instance.lost
    }


def announced_dates(situation: Situation) -> Mapping[str, datetime]:
    """By key, when VMs that are there go down, where a date was told."""
    notices = all_notices(situation, preemptions(situation))
    there = [i.key for i in situation.view.in_phase(Phase.JOINED) if not i.lost] if notices else []
    return {key: at for key in there if key in notices and (at := notices[key].not_before) is not None}


def all_notices(situation: Situation, taken_back: Mapping[str, MaintenanceNotice]) -> Mapping[str, MaintenanceNotice]:
    """By key, what is announced: what a VM was told alone goes before what its cloud lists."""
    inventory = situation.seen.fresh_inventory(situation.now)
    return {**(inventory.notices if inventory is not None else {}), **taken_back}


def _announced(situation: Situation) -> Iterator[Announced]:
    view, taken_back = situation.view, preemptions(situation)
    notices = all_notices(situation, taken_back)
    if not notices:
        return
    in_hand = {*view.requests.to_replace, *view.settings.restarts}
    for instance in view.in_phase(Phase.JOINED):
        if instance.lost or instance.key in in_hand:
            continue
        if (notice := notices.get(instance.key)) is None:
            continue
        is_preempted = instance.key in taken_back
        at = notice.not_before or (_SOME_DAY if is_preempted else None)
        if at is not None:
            is_certain = is_preempted and notice.not_before is not None
            yield Announced(instance.node, instance.key, at, notice.sentence, is_certain)


_SOME_DAY = datetime.max.replace(tzinfo=UTC)
"""A VM that may be taken back soon, nobody knows when: its turn is after those with a date."""
