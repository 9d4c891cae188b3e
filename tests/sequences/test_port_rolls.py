"""Another port of the listener is rolled in with new VMs; until its turn each broker stays where clients know it."""

from controlplane.api.presenters.clusters import endpoints_out
from controlplane.cluster.gateways import bootstrap_of
from events.spec.model import KafkaClusterDocument
from tests.builders import a_document
from tests.sim.world import World


def _at(port: int) -> KafkaClusterDocument:
    document = a_document()
    listener = document.spec.listeners[0].model_copy(update={"port": port})
    return document.model_copy(update={"spec": document.spec.model_copy(update={"listeners": (listener,)})})


def _ports(world: World) -> dict[str, int]:
    """What runs: port by broker, as its process was started."""
    there = world.machines.vms.items()
    return {k: vm.process.document.port for k, vm in there if vm.alive and vm.process and k.startswith("brokers")}


def test_an_old_broker_that_comes_back_in_the_middle_of_a_port_roll_comes_back_at_its_old_port() -> None:
    world = World()
    world.declare(_at(9092))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(_at(9192))
    world.run(until=lambda w: any(r.type == "replacement.completed" for r in w.history()), ticks=300)
    assert _ports(world) == {"brokers-a-0.g2": 9192, "brokers-b-0.g1": 9092, "brokers-c-0.g1": 9092}
    world.machines.stop_process("brokers-c-0.g1")
    world.disturbed()
    world.run(until=lambda w: "brokers-c-0.g1" in _ports(w), ticks=100)
    assert _ports(world)["brokers-c-0.g1"] == 9092
    view = world.view()
    assert {address.rpartition(":")[2] for address in bootstrap_of(view)} == {"9092", "9192"}
    assert len({a.rpartition(":")[2] for a in endpoints_out(view).bootstrap}) == 2
    world.converge(ticks=900)
    assert set(_ports(world).values()) == {9192}
    assert {i.port for i in world.view().brokers()} == {9192}
