"""Keeps the catalogue and the clusters that follow it folded, and answers what it means for a cluster.

Nothing is done at a tick for a fleet that follows nothing: clusters come in as they change.
"""

import threading
from datetime import datetime

from controlplane.cluster.view import ClusterView
from controlplane.fleet.images.choice import members, offer_for
from controlplane.fleet.images.fold import Catalogue, evolve
from controlplane.fleet.images.offer import NOTHING, ImageOffer
from controlplane.storage.streams import IMAGES
from events import facts
from events.envelope import Recorded
from planner.rollout.fleet_order import FleetMember


class ImageCache:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._catalogue = Catalogue()
        self._followers: dict[str, ClusterView] = {}
        self._members: dict[tuple[str, int], tuple[FleetMember, ...]] = {}
        """Of a revision and a stage, until the catalogue or a follower changes: a roll asks it for every cluster that
        waits, and each answer is a walk over the whole fleet."""

    def catalogue(self) -> Catalogue:
        """As of what was taken in."""
        return self._catalogue

    def followers(self) -> tuple[ClusterView, ...]:
        """The living clusters whose specs follow or pin revisions, by name."""
        with self._lock:
            found = list(self._followers.values())
        return tuple(sorted(found, key=lambda v: v.name))

    def take_in(self, recorded: Recorded) -> None:
        """Folds an event of the catalogue; others are left alone, and one that is known already."""
        if recorded.stream != IMAGES:
            return
        with self._lock:
            if recorded.version > self._catalogue.version:
                self._catalogue = evolve(self._catalogue, recorded)
                self._members = {}

    def note(self, view: ClusterView) -> None:
        """A cluster is as `view` has it."""
        document = view.document
        if document is None or view.deleted or document.spec.kafka.image.is_idle:
            if view.uid in self._followers:
                with self._lock:
                    self._followers.pop(view.uid, None)
                    self._members = {}
            return
        with self._lock:
            known = self._followers.get(view.uid)
            if known is None or known.version < view.version:
                self._followers[view.uid] = view
                self._members = {}

    def offer(self, view: ClusterView, now: datetime) -> ImageOffer:
        """What the catalogue means for that cluster now."""
        if view.document is None or view.document.spec.kafka.image.is_idle:
            return NOTHING
        return offer_for(view, self._catalogue, self._earlier, now)

    def _earlier(self, chosen: facts.ImageChosen, before: int) -> tuple[FleetMember, ...]:
        """See `Earlier`."""
        asked, kept = (chosen.revision, before), self._members
        if asked not in kept:
            # Into the answers as they were: whoever changed something meanwhile has begun new ones.
            kept[asked] = members(chosen, before, self.followers(), self._catalogue)
        return kept[asked]
