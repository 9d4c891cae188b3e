"""Two clusters of one name in the same cloud, each with a server and a database of its own, at work at the same time.

They know nothing of each other, as two installations do; what they share is the cloud. After every tick of one, all
that is the other's is as it was: there, with its tags, on its VM. P1-P9 hold for both, as `World.tick` judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from events import facts
from events.ids import ClusterUid
from providers.base import InstanceState, Listing
from tests.builders import a_document
from tests.fakes.resources import instance, resources
from tests.sim.cloudlisting import Hands, LateListings
from tests.sim.cloudworld import RETRIED, CloudTrouble, CloudWorld, delete, no_foreign_vms, nothing_lost, spec_in
from tests.sim.evidence import Violation
from tests.sim.rest import noticed_every_loss

OTHER_UID = ClusterUid("0ddba11500000000000000000ddba115")
STRAY = "brokers-a-7"
"""A node no cluster here has."""


class TheOther(CloudWorld):
    """The second cluster, of installation `other`."""

    installation_id = "other"
    uid = OTHER_UID


class TheSecond(CloudWorld):
    """The second cluster, of the first one's installation: one provider serves both, with all it keeps in memory."""

    uid = OTHER_UID

    def own_cloud(self, cloud: Any) -> Any:
        return cloud


Owned = Mapping[str, object]
"""All that is somebody's in a cloud, by its id there, but for how far it is."""


def owned(told: Listing) -> Owned:
    alive = [i for i in told.instances if i.state is not InstanceState.GONE]
    vms = {f"vm {i.id}": (i.key, i.cluster_uid, i.cluster_name, i.intent_id, i.addresses, i.volumes) for i in alive}
    disks = {f"volume {v.id or v.key} of {v.cluster_uid}": v for v in told.volumes}
    addresses = {f"address of {uid} {node}": a for (uid, node), a in told.node_addresses.items()}
    ties = {f"binding of {uid} {node}": b for (uid, node), b in told.binding_ids.items()}
    return {**vms, **disks, **addresses, **ties}


@dataclass
class SideBySide:
    """`queries` counts how often what is the other's was compared after something was changed."""

    first: CloudWorld
    second: CloudWorld
    queries: int = 0

    @property
    def both(self) -> tuple[CloudWorld, CloudWorld]:
        return self.first, self.second

    def tick(self, do: Callable[[CloudWorld], object] = CloudWorld.tick) -> None:
        """Each does one step, and leaves the other's things alone."""
        for actor, other in ((self.first, self.second), (self.second, self.first)):
            self.watched(actor, other, partial(do, actor))

    def watched(self, actor: CloudWorld, other: CloudWorld, act: Callable[[], object]) -> None:
        """`act` is the actor's. Raises `Violation` where something of the other's is another one afterwards."""
        before = {name: owned(_known(cloud)) for name, cloud in other.machines.clouds.items()}
        readings = {name: len(cloud.history) for name, cloud in actor.machines.clouds.items()}
        act()
        for name, cloud in actor.machines.clouds.items():
            if cloud.is_stale or len(cloud.history) > readings[name]:
                self.queries += 1
                _compare(before[name], owned(_listed(other.machines.clouds[name])), f"{actor.installation_id}, {name}")
        held = {i.cloud_id for i in actor.view().instances.values() if i.cloud_id}
        theirs = {i.cloud_id for i in other.view().instances.values() if i.cloud_id}
        if held & theirs:
            raise Violation(f"{actor.installation_id} has VMs of {other.installation_id} on record: {held & theirs}")

    def run(self, *, until: Callable[[CloudWorld], bool], ticks: int) -> None:
        """Ticks of both until the condition holds for both."""
        for _ in range(ticks):
            if all(until(world) for world in self.both):
                return
            self.tick()
        raise Violation(f"P7: not there after {ticks} ticks: {[world.sentence() for world in self.both]}")

    def converge(self, *, ticks: int) -> None:
        """Both get to where they are going, and rest there."""
        self.run(until=lambda w: w.is_converged() and noticed_every_loss(w), ticks=ticks)
        for actor, other in (self.both, self.both[::-1]):
            self.watched(actor, other, actor.settle)


def _known(cloud: LateListings) -> Listing:
    """What is its own in the cloud. It does not count as read: the server has seen nothing of it yet."""
    return cloud.history[-1][1] if cloud.history and not cloud.is_stale else _listed(cloud)


def _listed(cloud: LateListings) -> Listing:
    told: Listing = cloud.hands.cloud.list_place(cloud.hands.place)
    return told


def _compare(before: Owned, now: Owned, who: str) -> None:
    if before != now:
        changed = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k))
        told = "; ".join(f"{k}: {before.get(k)} -> {now.get(k)}" for k in changed[:3])
        raise Violation(f"{who}: changed what is the other's: {told}")


def stray_of(world: CloudWorld, cloud: str) -> str:
    """A VM with all tags of that cluster which nothing in its history asked for: its id."""
    hands = world.machines.hands[cloud]
    hands.create(resources(instance(STRAY), uid=world.uid, installation_id=world.installation_id))
    world.machines.clouds[cloud].is_stale = True
    world.disturbed()
    return hands.id_of(f"{STRAY}.g1", world.uid)


def troubled_lives(
    first: Mapping[str, Hands],
    second: Mapping[str, Hands],
    seed: int,
    *,
    foreign: bool = True,
    steps: int = 60,
    chance: float = 0.2,
) -> SideBySide:
    """Both are born and rolled under trouble; one of them, once both rest, is deleted, then the other.

    With `foreign` they are two installations: each sees that the other has VMs, and a VM of the second that nobody
    asked for is told by the second, and left alone by both.
    """
    one = CloudWorld(first, seed=seed)
    if not foreign:
        for name, hands in second.items():
            hands.cloud = first[name].cloud
    pair = SideBySide(one, (TheOther if foreign else TheSecond)(second, seed=seed + 1))
    specs = {id(w): spec_in(w.machines.hands) for w in pair.both}
    for world in pair.both:
        if world.random.random() < 0.5:
            specs[id(world)] |= {"strategy": "reattach", "max_unavailable": 1}
        world.interrupt_runs = world.random.randint(0, 2)
        world.machines.bad_calls += world.random.choices(sorted(RETRIED), k=world.random.randint(0, 2))
        world.declare(a_document(**specs[id(world)]))
    pair.converge(ticks=400)
    for world in pair.both:
        world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
        world.declare(a_document(**specs[id(world)], version="4.2.0"))
    cloud = next(iter(second))
    stray = stray_of(pair.second, cloud) if foreign else ""
    troubles = {id(w): CloudTrouble(w, chance=chance, **specs[id(w)]) for w in pair.both}

    def step(world: CloudWorld) -> None:
        troubles[id(world)].step()
        nothing_lost(world)

    for _ in range(steps):
        pair.tick(step)
    for world in pair.both:
        troubles[id(world)].stop()
        world.person(facts.ClusterResumed("the trouble is over"))
    pair.converge(ticks=2500)
    if foreign:
        foreign_vms_are_told(pair, cloud, stray)
    no_foreign_vms(pair.first)
    pair.watched(pair.first, pair.second, lambda: delete(pair.first))
    if foreign:
        second[cloud].power_cut(stray)
        pair.second.machines.clouds[cloud].is_stale = True
    nothing_lost(pair.second)
    no_foreign_vms(pair.second)
    pair.watched(pair.second, pair.first, lambda: delete(pair.second))
    return pair


def foreign_vms_are_told(pair: SideBySide, cloud: str, stray: str) -> None:
    """Each by its installation's name and number; the stray VM by its own cluster alone, until a person ends it."""
    first, second = pair.both
    for me, other in (pair.both, pair.both[::-1]):
        hands = me.machines.hands[cloud]
        told = hands.cloud.foreign_vms(hands.place)
        there = [i for i in other.machines.clouds[cloud].truth.instances if i.state is not InstanceState.GONE]
        if told != {other.installation_id: len(there)}:
            raise Violation(f"{me.installation_id} sees {told}, and {other.installation_id} has {len(there)} VMs")
    orphans = second.view().conditions.get("Orphans")
    if orphans is None or not orphans.status or stray not in orphans.message:
        raise Violation(f"{stray} is told by nobody: {orphans}")
    if (own := first.view().conditions.get("Orphans")) is not None and own.status:
        raise Violation(f"somebody else's VM is told as one of ours: {own.message}")
