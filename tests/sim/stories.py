"""What a simulated cluster is put through before the properties are judged."""

from collections.abc import Callable
from typing import Any

from controlplane.converger.questions.quorum.seats import size_to_bring_back
from controlplane.kafka.zookeeper.migration import Knows
from events.spec.model import KafkaClusterDocument
from providers.handover import Handover
from tests.builders import a_cohosted_document, a_document, a_zookeeper_document
from tests.sim.faults import Trouble
from tests.sim.world import World


def remembers_controllers(world: World) -> bool:
    """Whether it waits for a person to bring back controllers that left before the feature levels were raised."""
    blocked = world.view().conditions.get("Blocked")
    return blocked is not None and blocked.status and blocked.reason == "ControllersRemembered"


def whole_life(world: World) -> None:
    """Born, filled, rolled to the next version, 3 -> 6 -> 3 brokers; converged and quiet after each."""
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=900)
    world.declare(a_document(version="4.2.0", brokers=6))
    world.converge()
    world.kafka.create_topic("payments", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(version="4.2.0", brokers=3))
    world.converge()


def life_of_a_quorum(world: World) -> None:
    """One controller, three, five with one whose disk is lost, three; converged and quiet after each."""
    world.declare(a_document(controllers=1))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(a_document(controllers=3))
    world.converge()
    world.declare(a_document(controllers=5))
    world.converge()
    world.machines.lose_volume("controllers-b-0.g1")
    world.run(until=lambda w: not w.is_converged(), ticks=90)
    world.converge()
    world.declare(a_document(controllers=3))
    world.converge()


IN_ZOOKEEPER_MODE: dict[str, Any] = {"quorum": "zookeeper", "config": ", mode: zookeeper"}
"""What makes a spec of the builder one of a cluster in ZooKeeper mode, beside the version."""


COHOSTED: dict[str, Any] = {"quorum": "members", "config": ", mode: zookeeper", "brokers": 3}
"""What makes it one whose servers share the brokers' VMs; their number is that of the brokers, so that stays."""


def life_of_a_cohosted_ensemble(world: World) -> None:
    """Founded on 3.8, rolled to 3.9 with its protocol, a VM lost, another heap of the servers, one that loses its
    directory and one that becomes unhealthy; converged and quiet after each."""
    world.declare(a_cohosted_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(a_cohosted_document(version="3.9.1"))
    world.converge(ticks=900)
    world.machines.power_cut("brokers-b-0.g2")
    world.run(until=lambda w: not w.is_converged(), ticks=90)
    world.converge()
    world.declare(a_cohosted_document(version="3.9.1", quorum_heap=192))
    world.converge()
    world.machines.lose_member("brokers-c-0.g2")
    world.run(until=lambda w: not w.is_converged(), ticks=90)
    world.converge()
    world.machines.become_unhealthy("brokers-a-0.g2/zookeeper", "deadlock")
    world.run(until=lambda w: not w.is_converged(), ticks=90)
    world.converge()


def life_of_an_ensemble(world: World) -> None:
    """Founded on 3.8, rolled to 3.9 with its protocol, a disk lost; converged and quiet after each."""
    world.declare(a_zookeeper_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.converge(ticks=900)
    world.machines.lose_volume("zookeepers-b-0.g2")
    world.run(until=lambda w: not w.is_converged(), ticks=90)
    world.converge()


def troubled_roll(
    seed: int,
    *,
    steps: int = 300,
    chance: float = 0.08,
    rivals: bool = False,
    settings: bool = False,
    all_types: bool = False,
    asking: bool = False,
    unhealthy: bool = False,
    hanging: bool = False,
    voting: bool = False,
    sharing: bool = False,
    lagging: bool = False,
    breaking: bool = False,
    failing: bool = False,
    handover: Handover = Handover.REBIND,
    born_as: str = "4.1.1",
    becomes: str = "4.2.0",
    **spec: Any,
) -> World:
    """A version roll under seeded trouble, then quiet: it must converge and stay so."""
    world = World(seed=seed, version=born_as)
    world.machines.handover = handover
    world.declare(a_document(**{**spec, "version": born_as}))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    if lagging:  # this one follows the cluster's default
        world.kafka.create_topic("followers", partitions=6, rf=3, bytes_per_partition=20_000_000)
    world.declare(a_document(**{**spec, "version": becomes}))
    if becomes != "4.2.0":
        spec = {**spec, "version": becomes}  # of every document that is declared meanwhile, too
    kinds = {
        "rivals": rivals,
        "settings": settings,
        "all_types": all_types,
        "asking": asking,
        "unhealthy": unhealthy,
        "hanging": hanging,
        "failing": failing,
    }
    trouble = Trouble(
        world, chance=chance, voting=voting, sharing=sharing, lagging=lagging, breaking=breaking, **kinds, **spec
    )
    trouble.lasts(steps)
    for _ in range(90 if breaking else 0):
        world.tick()  # an agent starts what has ended again and again a minute apart
    if voting:
        world.run(until=lambda w: w.is_converged() or remembers_controllers(w), ticks=1500)
    if remembers_controllers(world):
        trouble.bring_back(size_to_bring_back(world.view()))
    world.converge(ticks=1500)
    return world


def count_told(world: World, knows: Knows) -> int:
    """How many brokers a migration in hand has told that, by a step of its own."""
    migration = world.view().quorum.migration
    brokers = {i.service_id for i in world.view().brokers()}
    return sum(told is knows for i, told in migration.knows.items() if i in brokers) if migration else 0


def turned_when(world: World, when: Callable[[World], bool], spec: KafkaClusterDocument, ticks: int = 300) -> None:
    """Applies that spec once it has come so far."""
    world.run(until=when, ticks=ticks)
    world.declare(spec)


def life_of_a_migration(world: World) -> None:
    """From ZooKeeper half of the way to KRaft and back, then all of it; converged and quiet after each."""
    before, after = a_zookeeper_document(version="3.9.1"), a_document(version="3.9.1")
    world.declare(before)
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(after)
    turned_when(world, lambda w: count_told(w, Knows.QUORUM) > 0, before)
    world.converge(ticks=900)
    world.declare(after)
    world.converge(ticks=900)
