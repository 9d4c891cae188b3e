"""A topic of one replica whose broker is gone: nothing else waits for it, and a person is told what to do."""

from tests.builders import a_document
from tests.sim.world import World


def test_an_only_copy_that_is_gone_keeps_no_other_topic_from_its_replicas_and_ends_with_its_topic() -> None:
    """Nothing the lost broker held was made anew, since one partition of one replica had no leader: for ever."""
    world = World()
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.kafka.create_topic("scratch", partitions=3, rf=1, min_isr=1, bytes_per_partition=20_000_000)
    world.machines.power_cut("brokers-b-0.g1")
    world.run(until=lambda w: "CopiesGone" in {c.reason for c in w.view().conditions.values() if c.status}, ticks=500)
    told = world.view().conditions["Blocked"].message
    assert "scratch-1 (replicas [1001])" in told
    assert "Delete these topics and make them anew (scratch)" in told
    orders = [p for p in world.kafka.partitions() if p.name.topic == "orders"]
    assert all(set(p.isr) == set(p.replicas) == {1000, 1002, 1003} for p in orders)
    before = len(world.history())
    for _ in range(120):
        world.tick()
    assert len(world.history()) == before, "it is asked for nothing more meanwhile"
    world.kafka.delete_topic("scratch")
    world.kafka.topics.by_others = False
    world.disturbed()
    world.converge(ticks=300)
    assert {i.key for i in world.view().alive() if i.node == "brokers-b-0"} == {"brokers-b-0.g2"}


def test_an_only_copy_on_a_disk_that_lives_is_there_again_with_its_broker() -> None:
    """No other broker could give it back."""
    world = World()
    world.declare(a_document(healing="lostDisk: reattach"))
    world.converge(ticks=200)
    world.kafka.create_topic("scratch", partitions=3, rf=1, min_isr=1, bytes_per_partition=20_000_000)
    world.kafka.write("scratch", 30)
    world.machines.power_cut("brokers-b-0.g1")
    world.run(until=lambda w: not w.is_converged(), ticks=500)
    world.converge(ticks=500)
    assert world.kafka.lost() == 0
    assert {p.isr for p in world.kafka.partitions()} == {(1000,), (1001,), (1002,)}
