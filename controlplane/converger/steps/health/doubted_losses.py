"""Which losses of a listing are not believed: too much at once is far likelier a wrong account or a broken API."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of, places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.situation import Situation
from events import facts

NOT_THERE = frozenset({Phase.REQUESTED, Phase.RETIRING})
"""Phases in which a VM may rightly be missing."""

_NEVER_SERVED = frozenset({Phase.LAUNCHED, Phase.FAILED})


@dataclass(frozen=True, slots=True)
class Doubt:
    """VMs that are not believed to be gone, by key, and the racks none of whose VMs would be left with them."""

    keys: tuple[str, ...]
    racks: tuple[str, ...]


_NONE = Doubt((), ())


def doubt_of(situation: Situation, vanished: Sequence[InstanceView], inventory: InventorySeen) -> Doubt:
    """Which of the vanished are not believed to be gone; no keys where all are."""
    view = situation.view
    confirmed = view.vms.losses.confirmed
    unsure = {i.key for i in vanished if i.key not in confirmed or is_contradicted(situation, i, inventory)}
    racks = _there(view)
    if not unsure or all(i.phase in _NEVER_SERVED for there in racks.values() for i in there):
        return _NONE  # while a cluster is born nothing is lost yet
    gone = {i.key for i in vanished}
    empty = tuple(
        sorted(r for r, there in racks.items() if _is_empty(there, gone) and not _is_confirmed(there, confirmed))
    )
    if _too_much(racks, gone, empty):
        return Doubt(tuple(sorted(unsure)), empty)
    # A word on one rack says nothing of the other: who was in doubt stays so until the listing shows them, or a word.
    still = tuple(sorted(unsure.intersection(view.vms.losses.doubted)))
    return Doubt(still, view.vms.losses.racks) if still else _NONE


def doubt_step(situation: Situation, vanished: Sequence[InstanceView], doubt: Doubt) -> Decision | None:
    """Keeps what is in doubt recorded, so that a person can say of these very VMs that they are gone, and waits. None
    where nothing is in doubt."""
    view = situation.view
    if not doubt.keys:
        gone = {i.key for i in vanished}
        shown = [i.key for i in view.alive() if i.key in view.vms.losses.confirmed and not i.lost and i.key not in gone]
        if not view.vms.losses.doubted and not shown:
            return None
        return record("no loss is in doubt any more", facts.LossesDoubted((), ()))
    if (view.vms.losses.doubted, view.vms.losses.racks) != (doubt.keys, doubt.racks):
        sentence = f"{', '.join(doubt.keys)}: said to be gone, and not believed"
        return record(sentence, facts.LossesDoubted(doubt.keys, doubt.racks))
    return _distrust(view, doubt)


def is_contradicted(situation: Situation, instance: InstanceView, inventory: InventorySeen) -> bool:
    """Whether the VM's own agent reported after the listing was made that calls it gone."""
    seen = situation.seen.reports.get(instance.key)
    return seen is not None and seen.received_at > inventory.at


def _too_much(racks: Mapping[str, Sequence[InstanceView]], gone: Collection[str], empty: Sequence[str]) -> bool:
    """More than one rack of three or more; of fewer every VM, where there are several: of one alone there is no telling
    a wrong listing from a VM that died."""
    if len(racks) >= 3 and len(empty) > 1:
        return True
    every = [i for there in racks.values() for i in there]
    return len(every) > 1 and _is_empty(every, gone)


def _there(view: ClusterView) -> Mapping[str, Sequence[InstanceView]]:
    """VMs that should be there, by rack."""
    racks: dict[str, list[InstanceView]] = {}
    several = len(places_of(view)) > 1
    for instance in view.alive():
        if instance.phase not in NOT_THERE:
            # Zones of two places may have one name: they burn down apart.
            where = f" of {place_of(view, instance)}" if several else ""
            racks.setdefault(f"{instance.planned.rack}{where}", []).append(instance)
    return racks


def _is_empty(there: Sequence[InstanceView], gone: Collection[str]) -> bool:
    return all(i.lost or i.key in gone for i in there)


def _is_confirmed(there: Sequence[InstanceView], confirmed: Collection[str]) -> bool:
    """Whether a person said it of all of them, and it is recorded."""
    return all(i.lost and i.key in confirmed for i in there)


def _distrust(view: ClusterView, doubt: Doubt) -> Decision:
    """One rack may burn down. Two at once are far likelier a wrong account or a broken API: touch nothing."""
    racks = f"rack{'s' if len(doubt.racks) > 1 else ''} {' and '.join(doubt.racks)}"
    sentence = (
        f"the cloud says that {len(doubt.keys)} VMs are gone, and with them all of {racks}: not believed, nothing is "
        "done until its listing shows them again, or a person says that they are gone"
    )
    named = sorted({view.instances[k].planned.rack for k in doubt.keys})
    command = " ".join(("kedge confirm-loss", view.name, *(f"--rack {rack}" for rack in named)))
    return wait(WaitReason.LISTING_LOST_RACKS, sentence, next_command=command, patience_s=0)
