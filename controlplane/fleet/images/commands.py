"""What people ask of the image catalogue: publish a revision, look, withdraw one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.view import ClusterView
from controlplane.fleet.images.adoption import RevisionStatus, statuses
from controlplane.fleet.images.fold import Catalogue, Revision
from controlplane.fleet.images.state import ImageCache
from controlplane.fleet.stream_command import recorded_once
from controlplane.storage.streams import IMAGES
from events import facts
from events.clock import Clock
from events.envelope import Origin, Recorded
from events.ids import derived_id
from events.image_facts import revision_name
from events.store import EventStore


@dataclass(frozen=True, slots=True)
class Published:
    """What came of it: the revision's name, and a sentence."""

    name: str
    sentence: str


class Images(Protocol):
    """What people ask of the catalogue; `ImageService` is one."""

    def statuses(self) -> tuple[RevisionStatus, ...]: ...

    def publish(self, wanted: facts.ImagePublished, *, actor: str, command_id: str) -> Published: ...

    def withdraw(self, name: str, *, reason: str, actor: str, command_id: str) -> str: ...


@dataclass(frozen=True, slots=True)
class ImageService:
    """Safe to call from many threads and from several servers. `catch_up` folds what others recorded."""

    store: EventStore
    cache: ImageCache
    views: Callable[[], Sequence[ClusterView]]
    said: Callable[[ClusterView], str]
    catch_up: Callable[[], None]
    clock: Clock

    def statuses(self) -> tuple[RevisionStatus, ...]:
        """All revisions, the newest first."""
        self.catch_up()
        now = self.clock()
        return statuses(self.cache.catalogue(), self.views(), lambda v: self.cache.offer(v, now), self.said)

    def publish(self, wanted: facts.ImagePublished, *, actor: str, command_id: str) -> Published:
        """Publishes a revision; number 0 takes the next one. Idempotent by `command_id`, and by content: the newest
        revision of a Kafka version is not published again. Raises `CommandRefused`."""

        def decide(catalogue: Catalogue) -> tuple[object | None, Published]:
            there = catalogue.of(wanted.kafka_version)
            newest = there[-1] if there else None
            if newest is not None and not newest.withdrawn and _is_the_same(newest, wanted):
                return None, Published(newest.name, f"{newest.name} is published already, since {newest.at:%Y-%m-%d}")
            number = wanted.number or (newest.number + 1 if newest else 1)
            if newest is not None and number <= newest.number:
                raise CommandRefused(
                    "image-number-taken",
                    f"{revision_name(wanted.kafka_version, number)} cannot be published: {newest.name} is, and what is "
                    "published never changes",
                    f"Publish it as {newest.number + 1}, or leave the number out.",
                )
            fact = replace(wanted, number=number)
            name = revision_name(fact.kafka_version, number)
            flagged = f", {fact.security} for security: {fact.reason}" if fact.security else ""
            return fact, Published(
                name, f"{name} is published{flagged}; `kedge images show {name}` says who rolls to it"
            )

        return self._record(decide, actor, command_id)

    def withdraw(self, name: str, *, reason: str, actor: str, command_id: str) -> str:
        """No cluster begins to roll to it from here on. Idempotent. Raises `CommandRefused`."""

        def decide(catalogue: Catalogue) -> tuple[object | None, Published]:
            revision = catalogue.revisions.get(name)
            if revision is None:
                known = ", ".join(r.name for r in catalogue.listed()[:10]) or "none"
                raise CommandRefused("image-not-found", f"there is no image {name!r}; there is {known}", "kedge images")
            if revision.withdrawn:
                return None, Published(name, f"{name} was withdrawn already: {revision.withdrawn}")
            fact = facts.ImageWithdrawn(revision.version, revision.number, reason or "withdrawn by hand")
            return fact, Published(name, f"{name} is withdrawn: nobody begins to roll to it; VMs made from it stay")

        return self._record(decide, actor, command_id).sentence

    def _record(
        self, decide: Callable[[Catalogue], tuple[object | None, Published]], actor: str, command_id: str
    ) -> Published:
        return recorded_once(
            self.store,
            IMAGES,
            look=self._look,
            decide=decide,
            event_id=derived_id("image-command", command_id),
            origin=Origin(actor, command_id=command_id),
            known=_known,
            recorded=self._take_in,
        )

    def _look(self) -> Catalogue:
        self.catch_up()
        catalogue = self.cache.catalogue()
        if catalogue.unreadable:
            raise CommandRefused("images-unreadable", f"the image catalogue cannot be read: {catalogue.unreadable}")
        return catalogue

    def _take_in(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            self.cache.take_in(recorded)


def _known(done: Recorded) -> Published:
    name = revision_name(str(done.data["kafka_version"]), int(done.data["number"]))
    return Published(name, f"{name}: asked for already")


def _is_the_same(revision: Revision, wanted: facts.ImagePublished) -> bool:
    """Whether only the number may differ, and that only because none was given."""
    number = wanted.number or revision.number
    return revision.fact == replace(wanted, number=number)
