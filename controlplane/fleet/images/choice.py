"""Which revision a cluster is to be on: from its spec, the catalogue, and the clusters that go before it. Pure."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from controlplane.cluster.folds.images import awaits_image, image_in, image_in_force, revision_of
from controlplane.cluster.places import declared_places
from controlplane.cluster.view import ClusterView
from controlplane.fleet.images import offer
from controlplane.fleet.images.fold import Catalogue, Revision
from events import facts
from events.image_facts import revision_name
from planner.rollout.fleet_order import FleetMember, stage_of, waits_for

Earlier = Callable[[facts.ImageChosen, int], tuple[FleetMember, ...]]
"""What a cluster is to have and the rank of its stage -> who goes before it: `members` of the fleet."""


def offer_for(view: ClusterView, catalogue: Catalogue, earlier: Earlier, now: datetime) -> offer.ImageOffer:
    """`earlier` is asked only where something is offered: most clusters are on what they are to have."""
    if view.document is None or view.document.spec.kafka.image.is_idle:
        return offer.NOTHING
    if catalogue.unreadable:
        return offer.ImageOffer(
            reason=offer.UNREADABLE, waits=f"the image catalogue cannot be read: {catalogue.unreadable}"
        )
    image = image_in_force(view)
    kept = catalogue.revisions.get(image.name) if image is not None else None
    withdrawn = kept.withdrawn if kept is not None and awaits_image(view) else ""
    if image is not None and has_begun(view) and not withdrawn:
        return offer.NOTHING
    offered = _offered(view, catalogue)
    if offered.chosen is None:
        if withdrawn and image is not None:
            words = f"{image.name} was withdrawn: {withdrawn}; no later revision can be had"
            return offer.ImageOffer(reason=offer.WITHDRAWN, waits=words, holds=True, target=image.chosen.number)
        return offered
    if _goes_by_itself(view):
        return offered
    mine = stage(view)
    blocking = waits_for(mine, earlier(offered.chosen, mine), now)
    if not blocking:
        return offered
    more = f" and {len(blocking) - 3} more" if len(blocking) > 3 else ""
    flagged = f" ({offered.chosen.security})" if offered.chosen.security else ""
    words = f"{offered.chosen.revision}{flagged} waits for {'; '.join(blocking[:3])}{more}"
    return offer.ImageOffer(reason=offer.FLEET_ORDER, waits=words, holds=bool(withdrawn), target=offered.chosen.number)


def has_begun(view: ClusterView) -> bool:
    """Whether a VM is made from the revision the cluster was given, and others are not yet."""
    image = image_in_force(view)
    if image is None or image.reached_at is not None:
        return False
    return any(revision_of(i) == image.name for i in view.alive())


def members(
    chosen: facts.ImageChosen, before: int, followers: Iterable[ClusterView], catalogue: Catalogue
) -> tuple[FleetMember, ...]:
    """The clusters of stages `before` that rank which are on this revision or a later one, or are to be. `followers`
    are those whose specs follow or pin revisions."""
    found = (_member(other, chosen, catalogue) for other in followers if stage(other) < before)
    return tuple(member for member in found if member is not None)


def stage(view: ClusterView) -> int:
    """The rank of its stage in the fleet's order."""
    return stage_of(view.document.metadata.labels if view.document else {})


def _goes_by_itself(view: ClusterView) -> bool:
    """Whether a person asked for it: by a pin, by a new cluster, or by another Kafka version, to which all of it rolls
    anyway."""
    if view.document is None or view.document.spec.kafka.image.pin is not None:
        return True
    return all(i.planned.kafka_version != view.document.spec.kafka.version for i in view.alive())


def _offered(view: ClusterView, catalogue: Catalogue) -> offer.ImageOffer:
    """What its own spec asks for of the catalogue, whoever goes before it."""
    if view.document is None:
        return offer.NOTHING
    kafka, places = view.document.spec.kafka, declared_places(view)
    image = image_in_force(view)
    number = image.chosen.number if image is not None else 0
    published = catalogue.of(kafka.version)
    if kafka.image.pin is not None:
        wanted = [r for r in published if r.number == kafka.image.pin]
        if not wanted:
            words = f"{revision_name(kafka.version, kafka.image.pin)} is pinned and was never published"
            return offer.ImageOffer(reason=offer.NOT_PUBLISHED, waits=words)
        if number == kafka.image.pin:
            return offer.NOTHING
        if wanted[0].withdrawn:
            words = f"{wanted[0].name} is pinned and withdrawn: {wanted[0].withdrawn}"
            return offer.ImageOffer(reason=offer.WITHDRAWN, waits=words)
    else:
        flagged = kafka.image.follow == "security"
        newer = [r for r in published if r.number > number and not r.withdrawn]
        wanted = [r for r in newer if r.urgency or not flagged]
    missing = ""
    for revision in reversed(wanted):
        lacks = [f"{p.cloud}/{p.region}" for p in places if image_in(revision.fact, p.cloud, p.region) is None]
        if not lacks:
            return offer.ImageOffer(_choice(revision, _worst(published, number, revision)))
        missing = missing or f"{revision.name} has no image for {' and '.join(lacks)}"
    return (
        offer.ImageOffer(reason=offer.NO_IMAGE, waits=missing, target=wanted[-1].number) if missing else offer.NOTHING
    )


def _choice(revision: Revision, worst: Revision | None) -> facts.ImageChosen:
    fact = revision.fact
    return facts.ImageChosen(
        fact.kafka_version,
        fact.number,
        fact.images,
        fact.url,
        fact.sha256,
        security=worst.fact.security if worst else "",
        reason=(worst.fact.reason if worst else "") or fact.notes,
    )


def _worst(published: Iterable[Revision], number: int, revision: Revision) -> Revision | None:
    """The most urgent of what a cluster on `number` is rid of by the revision; of equals the latest."""
    cured = [r for r in published if number < r.number <= revision.number and r.urgency]
    return max(cured, key=lambda r: (r.urgency, r.number), default=None)


def _member(other: ClusterView, chosen: facts.ImageChosen, catalogue: Catalogue) -> FleetMember | None:
    document = other.document
    if document is None or document.spec.kafka.version != chosen.kafka_version or other.requests.tombstone:
        return None
    image = image_in_force(other)
    known = {"name": other.name, "stage": stage(other), "soak": timedelta(seconds=document.spec.rollout.soak_s)}
    if image is not None and image.chosen.number >= chosen.number:
        return FleetMember(**known, reached_at=image.reached_at, state=_state(other))  # type: ignore[arg-type]
    offered = _offered(other, catalogue).chosen
    if offered is None or offered.number < chosen.number:
        return None
    return FleetMember(**known, state=_state(other))  # type: ignore[arg-type]


def _state(view: ClusterView) -> str:
    """How far a cluster is that is not on the revision yet: `has not begun`."""
    if view.requests.held or view.requests.paused:
        return f"is {'held' if view.requests.held else 'paused'}: {view.requests.held or view.requests.paused}"
    if view.roll.join_failures:
        return f"fails: {view.roll.join_failures} new VMs in a row did not join"
    if (failing := view.conditions.get("TickFailing")) is not None and failing.status:
        return f"fails at each tick: {failing.reason}"
    return "rolls to it" if view.roll.recycling else "has not begun"
