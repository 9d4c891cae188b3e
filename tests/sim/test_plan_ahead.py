"""A drain is planned while its successor boots, for an empty disk of the size ordered. The disk may be another."""

from tests.builders import a_document
from tests.sim.services import USUAL_DISK_BYTES
from tests.sim.world import World

SUCCESSOR = 1003


def test_a_disk_fuller_than_foreseen_is_noticed_before_the_first_batch() -> None:
    world = World()
    world.declare(a_document())
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.machines.disk_bytes[SUCCESSOR] = 400_000_000  # of 600 MB that would come to it
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: bool(w.view().moves.drain and w.view().moves.drain.planning.failed), ticks=100)  # type: ignore[union-attr]

    told = [e for e in world.store.read_all(0) if e.type.startswith("drain.")]
    assert [e.type for e in told[:3]] == ["drain.requested", "drain.planned", "drain.plan_failed"]
    assert f"broker {SUCCESSOR} has 0 of 381 MiB in use and would get 572 MiB more" in told[2].data["reason"]
    assert world.kafka.bytes_moved == 0

    # Planned again on what is really there, it is refused, and waited for with the numbers.
    world.run(until=lambda w: bool(w.view().moves.drain and w.view().moves.drain.planning.failures >= 2), ticks=30)  # type: ignore[union-attr]
    assert world.kafka.bytes_moved == 0
    assert not world.kafka.partitions()[0].is_moving
    assert "found no disk below the limit of 90%: add 238.4 MiB to broker 1003 in rack a" in world.sentence()

    world.kafka._brokers[SUCCESSOR].disk_bytes = USUAL_DISK_BYTES
    world.disturbed()
    world.converge(ticks=900)
