"""A world whose cluster is in a cloud's fake, and the trouble that clouds and killed Terraforms make there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controlplane.cluster.lifecycle import Phase
from controlplane.converger.tick.runner import InfeasibleDrain, PlanRefused
from events import facts
from providers.base import InstanceState, TerraformRun
from providers.errors import CloudUnavailable, ProviderError, RateLimited
from providers.handover import Handover
from tests.builders import a_document
from tests.sim.cloudlisting import Hands, unmetered
from tests.sim.cloudmachines import FAILURES, CloudMachines
from tests.sim.evidence import Violation
from tests.sim.faults import Trouble
from tests.sim.machines import Machines
from tests.sim.world import World

RETRIED = FAILURES.keys() - {"quota"}
"""What is tried again without a person."""


class CloudWorld(World):
    """`hands` by cloud; the cluster's brokers are in the first, and its controllers in the last."""

    installation_id = "test"
    machines: CloudMachines

    def __init__(self, hands: Mapping[str, Hands], *, seed: int) -> None:
        for own in hands.values():
            own.cloud = unmetered(self.own_cloud(own.cloud), own.place)
        self._hands = hands
        self._dying, self._readings = False, 0
        super().__init__(seed=seed)

    def own_cloud(self, cloud: Any) -> Any:
        """The provider as this world's server has it: on its clock, with nothing read yet."""
        return replace(cloud, clock=lambda: self.seconds)

    def make_machines(self) -> Machines:
        made = CloudMachines(self.kafka, self.latest, self.clock, self._hands)
        made.random = self.random
        return made

    def handover_on(self, cloud: str) -> Handover:
        return self.machines.handover_on(cloud)

    def holds_mounted_on(self, cloud: str) -> bool:
        return self.machines.holds_mounted_on(cloud)

    def unlisted_in(self, cloud: str) -> float:
        return self.machines.unlisted_in(cloud)

    def start_server(self) -> None:
        self.machines.restart_inventory()
        super().start_server()

    def terraform(self, run: TerraformRun) -> dict[str, Any]:
        if self.interrupt_runs > 0 or self._dying:
            self.interrupt_runs = max(0, self.interrupt_runs - 1)
            self.machines.apply(run, changes=1)
        self.machines.apply(run)
        return {"instances": self.machines.made_ids(run.resources.place)}

    def _look_around(self) -> None:
        """What was done in a cloud is news for a cluster at rest, too."""
        super()._look_around()
        readings = sum(len(cloud.history) for cloud in self.machines.clouds.values())
        if readings != self._readings:
            self._readings, self.calm.quiet_ticks = readings, 0

    def machines_survive_crash(self) -> None:
        """Terraform dies with its server, wherever it was."""
        self._dying = True
        for due in self.runner._due:
            try:
                due.work()
            except (InfeasibleDrain, PlanRefused, ProviderError, RuntimeError):
                continue
        self._dying = False


class CloudTrouble(Trouble):
    """All the usual trouble, more of the kills, and what clouds answer when they do not do as they are told."""

    def __init__(self, world: CloudWorld, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, rivals=True, **spec)
        self._cloudy = world
        self._faults = (
            *self._faults,
            *((("terraform dies half-way", self._terraform_dies),) * 8),
            *((("the server dies", self._server_dies),) * 2),
            *((("a create fails", self._create_fails),) * 5),
            *((("a listing fails", self._listing_fails),) * 2),
            *((("listings are late", self._late),) * 2),
        )

    def stop(self) -> None:
        super().stop()
        self._cloudy.machines.bad_calls.clear()
        for cloud in self._cloudy.machines.clouds.values():
            cloud.faults.clear()

    def _create_fails(self) -> bool:
        names = sorted(FAILURES)
        self._cloudy.machines.bad_calls += self._random.choices(names, k=self._random.randint(1, 3))
        return True

    def _listing_fails(self) -> bool:
        cloud = self._random.choice(sorted(self._cloudy.machines.clouds))
        self._cloudy.machines.clouds[cloud].faults.append(self._random.choice((RateLimited, CloudUnavailable)))
        return True

    def _late(self) -> bool:
        cloud = self._cloudy.machines.clouds[self._random.choice(sorted(self._cloudy.machines.clouds))]
        cloud.lag_s = self._random.uniform(0.5, 4.0)
        self._later(self._random.randint(5, 40), lambda: setattr(cloud, "lag_s", 0.0))
        return True


def spec_in(hands: Mapping[str, Hands]) -> dict[str, object]:
    """What of a spec says where the cluster is."""

    def told(own: Hands) -> tuple[str, str, str]:
        zones = ", ".join(own.zone(letter) for letter in "abc")
        route = ", route: peering" if len(hands) > 1 else ""
        return f"{own.place.cloud}, account: {own.place.account}{route}", own.place.region, zones

    first, last = next(iter(hands.values())), list(hands.values())[-1]
    (cloud, region, zones), (far, far_region, far_zones) = told(first), told(last)
    quorum = f"cloud: {far}, region: {far_region}, zones: [{far_zones}]"
    return {"cloud": cloud, "brokers_in": region, "zones": zones, "quorum_place": quorum, "quorum_gib": 10}


def troubled_life(hands: Mapping[str, Hands], seed: int, *, steps: int = 250, chance: float = 0.12) -> CloudWorld:
    """Born, rolled under trouble, quiet, deleted: nothing is left of it in any cloud but what it says is kept."""
    world = CloudWorld(hands, seed=seed)
    spec = spec_in(hands)
    if seed % 2:
        spec |= {"strategy": "reattach", "max_unavailable": 1}
    world.interrupt_runs = world.random.randint(0, 2)
    world.machines.bad_calls += world.random.choices(sorted(RETRIED), k=world.random.randint(0, 2))
    world.declare(a_document(**spec))
    world.converge(ticks=300)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**{**spec, "version": "4.2.0"}))
    trouble = CloudTrouble(world, chance=chance, **spec)
    for _ in range(steps):
        trouble.step()
        nothing_lost(world)
    trouble.stop()
    world.person(facts.ClusterResumed("the trouble is over"))
    world.converge(ticks=2000)
    nothing_lost(world)
    no_foreign_vms(world)
    delete(world)
    return world


def born_with_a_late_call(hands: Mapping[str, Hands]) -> CloudWorld:
    """The calls of a Terraform that was killed arrive when all is made already."""
    world = CloudWorld(hands, seed=1)
    world.machines.stranded = next(iter(hands))
    world.declare(a_document(**spec_in(hands)))
    world.converge(ticks=300)
    world.run(until=lambda w: "Twins" in w.view().conditions, ticks=150)
    world.converge()
    return world


def delete(world: CloudWorld) -> None:
    """Ends it as a person would, with what was in it; then its clouds have nothing of it."""
    for topic in {p.name.topic for p in world.kafka.partitions()}:
        world.kafka.delete_topic(topic)  # who deletes a cluster means what was in it
    world.person(facts.ClusterDeletionRequested("orders", "no longer needed"))
    world.run(until=lambda w: w.view().deleted, ticks=300)
    nothing_left(world)


def nothing_lost(world: CloudWorld) -> None:
    """Every volume that a VM on record has was made once, and is still there: in the cloud's own words."""
    if world.view().requests.tombstone:
        return
    there = {v.key for cloud in world.machines.clouds.values() for v in cloud.truth.volumes}
    held = [i for i in world.view().alive() if i.cloud_id and i.phase is not Phase.RETIRING]
    lost = {v.key for i in held for v in i.planned.volumes if v.key not in there}
    if lost:
        raise Violation(f"volumes are lost: {sorted(lost)}")


def no_foreign_vms(world: CloudWorld) -> None:
    """At rest: one VM for each node on record, one volume a key, nothing beside them."""
    alive = {i.key: i for i in world.view().alive()}
    volumes = {v.key for i in alive.values() for v in i.planned.volumes}
    for name, cloud in world.machines.clouds.items():
        machines = [i.key for i in cloud.truth.instances if i.state is not InstanceState.GONE]
        disks = [v.key for v in cloud.truth.volumes]
        if orphans := {*machines} - alive.keys() | ({*disks} - volumes):
            raise Violation(f"orphans in {name}: {sorted(orphans)}")
        if len(machines) != len({*machines}) or len(disks) != len({*disks}):
            raise Violation(f"twins in {name}: {sorted(machines)}, {sorted(disks)}")


def nothing_left(world: CloudWorld) -> None:
    """After the cluster is deleted its clouds hold nothing of it."""
    for name, cloud in world.machines.clouds.items():
        told = cloud.changed()
        left = [i.key for i in told.instances if i.state is not InstanceState.GONE]
        left += [v.key for v in told.volumes] + [node for _, node in told.node_addresses]
        if left:
            raise Violation(f"left in {name}: {sorted(left)}")
