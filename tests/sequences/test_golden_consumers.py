"""The story of a consumer that stops: told as a condition, never acted on (compared as those of rolls are)."""

from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.consumer_groups.watch import GroupWatch
from controlplane.converger.tick.sources.background import GROUPS_EVERY
from planner.observed import TopicPartition
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World


class _Fleet:
    def __init__(self, world: World) -> None:
        self.views = lambda: [world.view()]
        self.catch_up = lambda: None


def consumer_stops(world: World) -> None:
    """Somebody asks for the groups once; a consumer stops, is told after five minutes, goes on, and is told no more."""
    world.declare(a_document())
    world.converge()
    world.kafka.create_topic("clicks", partitions=2, rf=3)
    readers = world.kafka.consumers
    readers.join("billing", "clicks")
    service = GroupService(world.latest, lambda view: world.kafka, world.clock)
    watch = GroupWatch(service, _Fleet(world), world.latest, world.clock, "asked")
    service.look(world.view())

    def minutes(count: int, *, reads: bool) -> None:
        for _ in range(count):
            readers.produce("clicks", 0, 100)
            if reads:
                readers.commit("billing", "clicks", 0, readers.ends[TopicPartition("clicks", 0)])
            for _ in range(60):
                world.tick()
            watch.poll()
            # Clients did something, and a tick may hear of it half a minute later: until then it is not at rest.
            world.calm.quiet_ticks = -int(GROUPS_EVERY.total_seconds() / world.tick_s)

    minutes(2, reads=True)
    assert "ConsumersStuck" not in world.view().conditions
    minutes(8, reads=False)
    assert world.view().conditions["ConsumersStuck"].status
    minutes(2, reads=True)
    assert not world.view().conditions["ConsumersStuck"].status


def test_the_story_of_a_consumer_that_stops_is_told_as_recorded() -> None:
    assert_told_as_recorded(consumer_stops)
