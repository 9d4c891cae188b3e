"""A fleet of simulated worlds, one cluster each, under one server's catalogue, brake and order of stages.

Each world has a cluster of the same uid; here they are told apart by their names.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.decision import Wait
from controlplane.converger.situation.situation import Allowance
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.fleet.images.commands import ImageService
from controlplane.fleet.images.offer import NOTHING, ImageOffer
from controlplane.fleet.images.state import ImageCache
from controlplane.fleet.spec_order import SpecOrderCache, StageWait
from controlplane.storage.streams import cluster_stream, cluster_uid_of
from events import facts
from events.envelope import Recorded
from events.ids import ClusterUid
from events.spec.model import KafkaClusterDocument
from planner.rollout.windows import Freeze
from tests.builders import a_document
from tests.fakes.event_store import MemoryEventStore
from tests.sim.world import UID, World


class OneOfTheCache(ImageCache):
    """The fleet's cache of images, as one world reaches it."""

    def __init__(self, shared: ImageCache, name: str) -> None:
        super().__init__()
        self._shared, self._name = shared, name

    def note(self, view: ClusterView) -> None:
        if view.uid == UID:
            self._shared.note(_named(view, self._name))

    def offer(self, view: ClusterView, now: datetime) -> ImageOffer:
        return self._shared.offer(_named(view, self._name), now)


class OneOfTheOrder(SpecOrderCache):
    """The order of the fleet's stages, as one world reaches it."""

    def __init__(self, shared: SpecOrderCache, name: str) -> None:
        super().__init__()
        self._shared, self._name = shared, name

    def note(self, view: ClusterView) -> None:
        if view.uid == UID:
            self._shared.note(_named(view, self._name))

    def waits(self, view: ClusterView, now: datetime) -> StageWait | None:
        return self._shared.waits(_named(view, self._name), now)


class OneOfTheBrake(FleetBrake):
    """The fleet's brake, as one world reaches it."""

    def __init__(self, shared: FleetBrake, name: str) -> None:
        super().__init__()
        self._shared, self._name = shared, name
        self.taking = shared.taking

    def look_at(self, fleet: Sequence[ClusterView]) -> None:
        for view in fleet:
            self.note(view)

    def note(self, view: ClusterView) -> None:
        if view.uid == UID:
            self._shared.note(_named(view, self._name))

    def hear(self, view: ClusterView, waiting: Wait | None) -> None:
        self._shared.hear(_named(view, self._name), waiting)

    def forget(self, uid: str) -> None:
        self._shared.forget(self._name)

    def allowance(self, view: ClusterView) -> Allowance:
        return self._shared.allowance(_named(view, self._name))

    def take_in(self, recorded: Recorded) -> None:
        if cluster_uid_of(recorded.stream) == UID:
            self._shared.take_in(replace(recorded, stream=cluster_stream(ClusterUid(self._name))))


class ImageFleet:
    """Worlds that tick in turn, on the same clock."""

    def __init__(self, **documents: KafkaClusterDocument) -> None:
        """The clusters by name, declared and born one after the other, at rest together."""
        self.cache, self.brake, self.order = ImageCache(), FleetBrake(), SpecOrderCache()
        self.store = MemoryEventStore()
        self.worlds = {name: self._born(name, document) for name, document in documents.items()}
        self._level()
        first = next(iter(self.worlds.values()))
        self.service = ImageService(self.store, self.cache, self.views, self._said, self._catch_up, first.clock)
        self.asked = 0
        self.offers: dict[str, ImageOffer] = {}
        self.waited: dict[str, StageWait | None] = {}
        self.story: list[str] = []

    def publish(self, number: int = 0, *, kafka: str = "4.1.1", security: str = "", reason: str = "") -> str:
        """A revision with an image for the local region; its name."""
        images = (facts.RegionImage("local", "local-1", "any", f"r{number}"),)
        wanted = facts.ImagePublished(kafka, number, images, "", "", security, reason, "")
        self.asked += 1
        return self.service.publish(wanted, actor="person:test", command_id=f"publish-{self.asked}").name

    def withdraw(self, name: str, reason: str) -> None:
        self.asked += 1
        self.service.withdraw(name, reason=reason, actor="person:test", command_id=f"withdraw-{self.asked}")

    def views(self) -> list[ClusterView]:
        """As the service sees them."""
        return [_named(w.view(), name) for name, w in sorted(self.worlds.items())]

    def run(self, *, until: Callable[["ImageFleet"], bool], ticks: int = 1500) -> None:
        """Ticks all worlds in turn. Raises `AssertionError` when the condition does not hold in time."""
        for _ in range(ticks):
            if until(self):
                return
            self.tick()
        raise AssertionError({name: world.sentence() for name, world in self.worlds.items()})

    def watch(self, ticks: int) -> None:
        for _ in range(ticks):
            self.tick()

    def tick(self) -> None:
        """One tick of each. A revision given to a cluster, or its turn, is work that came from outside of its world."""
        for name, world in self.worlds.items():
            told = len(world.story)
            offer = self.cache.offer(_named(world.view(), name), world.clock())
            waits = self.order.waits(_named(world.view(), name), world.clock())
            if offer != self.offers.get(name, NOTHING) or waits != self.waited.get(name):
                self.offers[name], self.waited[name] = offer, waits
                world.disturbed()
                world.calm.scene = None
            world.tick()
            self.story += [f"{name:8} {line}".rstrip() for line in world.story[told:]]

    def put_forward(self, seconds: float) -> None:
        """Nothing happens until that time."""
        for world in self.worlds.values():
            assert world.seconds < seconds
            world.seconds = seconds
            world.kafka.advance(0.0)
            world.calm.since_tick = world.ticks

    def freeze(self, *freezes: Freeze) -> None:
        """In force in every world from here on: their servers start anew."""
        for world in self.worlds.values():
            world.freezes = freezes
            world.start_server()

    def are_on(self, name: str, *clusters: str) -> bool:
        """Whether every VM of these clusters is made from that revision, and that is recorded."""
        return all(self._is_on(self.worlds[cluster].view(), name) for cluster in clusters)

    def revisions(self, cluster: str) -> set[str]:
        """What the VMs of a cluster are made from, "" for the image of the settings."""
        made = (i.planned.image for i in self.worlds[cluster].view().alive())
        return {image.revision if image else "" for image in made}

    def began(self, cluster: str) -> list[float]:
        """Seconds at which VMs of a revision were asked for."""
        world = self.worlds[cluster]
        asked = (r for r in world.history() if r.type == "surge.requested" and r.data["instances"][0]["image"])
        return [(r.recorded_at - datetime(2026, 1, 1, tzinfo=r.recorded_at.tzinfo)).total_seconds() for r in asked]

    def _is_on(self, view: ClusterView, name: str) -> bool:
        image = view.vms.image
        return image is not None and image.name == name and image.reached_at is not None

    def _born(self, name: str, document: KafkaClusterDocument) -> World:
        world = World(tick_s=5.0)
        world.images, world.brake = OneOfTheCache(self.cache, name), OneOfTheBrake(self.brake, name)
        world.order = OneOfTheOrder(self.order, name)
        world.start_server()
        world.declare(document)
        world.converge()
        world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=1_000_000)
        return world

    def _level(self) -> None:
        """All clocks are put to that of the latest."""
        self.put_forward(max(world.seconds for world in self.worlds.values()) + 5)

    def _said(self, view: ClusterView) -> str:
        return self.worlds[view.uid].sentence()

    def _catch_up(self) -> None:
        for recorded in self.store.read_all(0):
            self.cache.take_in(recorded)


def a_follower(name: str, stage: str, image: str = "{follow: security}", **more: Any) -> KafkaClusterDocument:
    """A cluster of a stage with a policy for images."""
    labels = f", labels: {{stage: {stage}}}" if stage else ""
    return a_document(**{"controllers": 1, **more, "name": name + labels, "config": f", image: {image}"})


def _named(view: ClusterView, name: str) -> ClusterView:
    return replace(view, uid=ClusterUid(name))
