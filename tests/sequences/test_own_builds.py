"""A build of Kafka of one's own, named by a spec: all VMs are made anew with it, and back again without."""

from controlplane.cluster.view import ClusterView
from tests.builders import a_document
from tests.sim.world import World

FIRST, SECOND = "a" * 64, "b" * 64


def of(sha256: str, url: str = "file:///srv/kafka.tgz") -> str:
    """The text of a Kafka section with that build."""
    return f", distribution: {{url: '{url}', sha256: '{sha256}'}}"


def builds(view: ClusterView) -> set[tuple[str, str]]:
    """Version and SHA-256 of the build of each VM; "" for the one of the settings."""
    images = [(i.planned.kafka_version, i.planned.image) for i in view.alive()]
    return {(version, image.sha256 if image is not None else "") for version, image in images}


def vms(view: ClusterView) -> set[str]:
    return {i.key for i in view.alive()}


def test_a_build_of_ones_own_rolls_every_vm_its_address_none_and_taken_away_every_one_again() -> None:
    world = World()
    world.declare(a_document())
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    born = vms(world.view())
    assert builds(world.view()) == {("4.1.1", "")}
    world.declare(a_document(config=of(FIRST)))
    world.converge(ticks=900)
    assert builds(world.view()) == {("4.1.1", FIRST)}
    first = vms(world.view())
    assert not first & born, "brokers and controllers"
    world.declare(a_document(config=of(FIRST, "file:///mnt/kafka.tgz")))
    world.converge()
    assert vms(world.view()) == first, "the same archive at another address"
    world.declare(a_document(version="4.2.0", config=of(SECOND)))
    world.converge(ticks=900)
    assert builds(world.view()) == {("4.2.0", SECOND)}
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=900)
    assert builds(world.view()) == {("4.2.0", "")}
    assert world.kafka.lost() == 0


def test_a_broker_that_is_lost_is_made_again_from_the_build_of_the_spec() -> None:
    world = World()
    world.declare(a_document(config=of(FIRST)))
    world.converge()
    assert builds(world.view()) == {("4.1.1", FIRST)}
    lost = next(i for i in world.view().brokers())
    world.machines.power_cut(lost.key)
    world.run(until=lambda w: lost.key not in vms(w.view()), ticks=400)
    world.converge(ticks=400)
    assert builds(world.view()) == {("4.1.1", FIRST)}
