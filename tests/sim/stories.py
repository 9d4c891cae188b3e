"""What a simulated cluster is put through before the properties are judged."""

from events import facts
from providers.handover import Handover
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.world import World


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


def troubled_roll(
    seed: int,
    *,
    steps: int = 300,
    chance: float = 0.08,
    rivals: bool = False,
    settings: bool = False,
    asking: bool = False,
    ailing: bool = False,
    handover: Handover = Handover.REBIND,
    **spec: object,
) -> World:
    """A version roll under seeded trouble, then quiet: it must converge and stay so."""
    world = World(seed=seed)
    world.machines.handover = handover
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**{**spec, "version": "4.2.0"}))
    trouble = Trouble(world, chance=chance, rivals=rivals, settings=settings, asking=asking, ailing=ailing, **spec)
    for _ in range(steps):
        trouble.step()
    trouble.stop()
    world.person(facts.ClusterResumed("the trouble is over"))
    world.converge(ticks=1500)
    return world
