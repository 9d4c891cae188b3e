"""What the stories of changed settings have in common."""

from events.spec.model import KafkaClusterDocument
from tests.builders import a_document
from tests.sim.world import World


def with_settings(config: str, **spec: object) -> KafkaClusterDocument:
    """The usual document with these Kafka settings, written as in `a: 1, b: 2`."""
    return a_document(config=f", config: {{{config}}}", **spec)


def born(world: World, config: str = "num.io.threads: 8") -> None:
    world.declare(with_settings(config))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def running(world: World, name: str) -> list[str | None]:
    return [seen[name].value for _, seen in sorted(world.kafka.running_settings({name}).brokers.items())]


def told(world: World, name: str) -> set[str | None]:
    return {i.settings.get(name) for i in world.view().alive()}
