"""Who is on a revision, who still has to roll and what each waits for, and who is exposed and follows nothing. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controlplane.cluster.folds.images import image_in_force, revision_of
from controlplane.cluster.view import ClusterView
from controlplane.fleet.images.choice import stage
from controlplane.fleet.images.fold import Catalogue, Revision
from controlplane.fleet.images.offer import ImageOffer
from events.ids import ClusterUid
from planner.rollout.fleet_order import stage_word


@dataclass(frozen=True, slots=True)
class ClusterAt:
    """A cluster as it stands to a revision. `why` says what it waits for, or why it never rolls to it."""

    name: str
    stage: str
    vms: int
    """VMs that are made from the revision or a later one."""
    of: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class RevisionStatus:
    """One revision. `on` have all VMs from it or a later one; `due` are to get there; `left` follow nothing that leads
    there. The last is told of flagged ones only: nobody has to have the others."""

    revision: Revision
    on: tuple[ClusterAt, ...]
    due: tuple[ClusterAt, ...]
    left: tuple[ClusterAt, ...]


def statuses(
    catalogue: Catalogue,
    views: Iterable[ClusterView],
    offer: Callable[[ClusterView], ImageOffer],
    said: Callable[[ClusterView], str],
) -> tuple[RevisionStatus, ...]:
    """All revisions, the newest first. `said` is the sentence of a cluster's last tick, "" for none."""
    living = [v for v in views if v.document is not None and not v.deleted and v.alive()]
    offers = {v.uid: offer(v) for v in living}
    numbers = {v.uid: [_number(v, revision_of(i)) for i in v.alive()] for v in living}
    return tuple(_status(revision, living, offers, numbers, said) for revision in catalogue.listed())


def _status(
    revision: Revision,
    views: Iterable[ClusterView],
    offers: Mapping[ClusterUid, ImageOffer],
    numbers: Mapping[ClusterUid, Sequence[int]],
    said: Callable[[ClusterView], str],
) -> RevisionStatus:
    on: list[ClusterAt] = []
    due: list[ClusterAt] = []
    left: list[ClusterAt] = []
    for view in views:
        if view.document is None or view.document.spec.kafka.version != revision.version:
            continue
        made = sum(number >= revision.number for number in numbers[view.uid])
        at = ClusterAt(view.name, stage_word(stage(view)), made, len(numbers[view.uid]))
        if made == at.of:
            on.append(at)
        elif (why := _due_because(revision, view, offers[view.uid], said)) is not None:
            due.append(_with(at, why))
        elif revision.urgency and not revision.withdrawn:
            left.append(_with(at, _left_because(view)))
    return RevisionStatus(revision, tuple(on), tuple(due), tuple(left))


def _with(at: ClusterAt, why: str) -> ClusterAt:
    return ClusterAt(at.name, at.stage, at.vms, at.of, why)


def _due_because(
    revision: Revision, view: ClusterView, offer: ImageOffer, said: Callable[[ClusterView], str]
) -> str | None:
    """What it waits for, None where nothing leads it there."""
    image = image_in_force(view)
    if offer.chosen is not None and offer.chosen.number >= revision.number:
        return "begins at its next tick"
    if offer.target >= revision.number:
        return offer.waits
    if image is not None and image.reached_at is None and image.chosen.number >= revision.number:
        return said(view) or "rolls"
    return None


def _left_because(view: ClusterView) -> str:
    policy = view.document.spec.kafka.image if view.document else None
    if policy is not None and policy.pin is not None:
        return f"pinned to {policy.pin} by `kafka.image.pin`"
    return "follows nothing: `kafka.image.follow` in its spec is `none`" if policy and policy.is_idle else "not offered"


def _number(view: ClusterView, name: str) -> int:
    """The number of a revision of the cluster's own Kafka version, 0 for those of another."""
    version, _, number = name.rpartition("-r")
    same = view.document is not None and version == view.document.spec.kafka.version
    return int(number) if same and number.isdecimal() else 0
