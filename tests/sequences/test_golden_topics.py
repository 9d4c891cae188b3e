"""The stories of topics, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.cluster.work_in_hand import has_work
from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.drains import drain_of, is_copying
from tests.sim.topics import adopt_topic, declare_topics, delete_topic, shape, topic_text, troubles
from tests.sim.world import World


def _born(world: World) -> None:
    world.declare(a_document())
    world.converge()


def topic_lives(world: World) -> None:
    """Made, grown, configured and destroyed, with a tombstone only."""
    _born(world)
    declare_topics(world, topic_text("payments", config="{retention.ms: 1000}", deletionPolicy="delete"))
    world.converge(ticks=20)
    assert shape(world, "payments") == (3, {3})
    assert world.kafka.topics.own["payments"] == {"retention.ms": "1000"}
    declare_topics(world, topic_text("payments", partitions=6, config="{retention.ms: 2000}", deletionPolicy="delete"))
    world.converge(ticks=20)
    assert shape(world, "payments") == (6, {3})
    assert world.kafka.topics.own["payments"] == {"retention.ms": "2000"}
    delete_topic(world, "payments")
    world.converge(ticks=20)
    assert shape(world, "payments") == (0, set())
    assert "payments" not in world.view().topics.by_name


def topic_retained(world: World) -> None:
    """Deleted with the policy `retain`: Kedge lets go of it, Kafka keeps it."""
    _born(world)
    declare_topics(world, topic_text("payments"))
    world.converge(ticks=20)
    delete_topic(world, "payments")
    world.converge(ticks=20)
    assert shape(world, "payments") == (3, {3})
    assert not world.view().topics.by_name


def topic_changed_by_hand(world: World) -> None:
    """Values are put right; partitions that came are told, never taken away; throttle lists are the executor's own."""
    _born(world)
    declare_topics(world, topic_text("payments", config="{retention.ms: 1000}"))
    world.converge(ticks=20)
    world.kafka.topics.set_by_hand("payments", {"retention.ms": "5", "cleanup.policy": "compact"})
    world.kafka.topics.own["payments"]["leader.replication.throttled.replicas"] = "0:1000"
    for _ in range(70):
        world.tick()
    own = dict(world.kafka.topics.own["payments"])
    assert own.pop("leader.replication.throttled.replicas") == "0:1000"
    assert own == {"retention.ms": "1000"}
    world.kafka.create_topic("more", partitions=4, rf=3)
    declare_topics(world, topic_text("more", partitions=4))
    world.converge(ticks=70)
    declare_topics(world, topic_text("more", partitions=2))
    world.converge(ticks=70)
    assert troubles(world) == {"more": "MorePartitions"}
    assert shape(world, "more") == (4, {3})


def topic_deleted_outside(world: World) -> None:
    """It is told, and made anew, empty, only for a document that says so."""
    _born(world)
    declare_topics(world, topic_text("payments"), topic_text("clicks", onLoss="recreate"))
    world.converge(ticks=20)
    world.kafka.delete_topic("payments")
    world.kafka.delete_topic("clicks")
    for _ in range(70):
        world.tick()
    assert troubles(world) == {"payments": "Missing"}
    assert shape(world, "payments") == (0, set())
    assert shape(world, "clicks") == (3, {3})
    declare_topics(world, topic_text("payments", onLoss="recreate"))
    world.converge(ticks=20)
    assert shape(world, "payments") == (3, {3})
    assert not troubles(world)


def topic_adopted(world: World) -> None:
    """One that was made outside is left alone until a person has it adopted."""
    _born(world)
    world.kafka.create_topic("payments", partitions=3, rf=3, min_isr=1)
    declare_topics(world, topic_text("payments", partitions=6))
    world.converge(ticks=20)
    assert troubles(world) == {"payments": "Exists"}
    assert world.kafka.topics.made == []
    adopt_topic(world, "payments")
    world.converge(ticks=20)
    assert shape(world, "payments") == (6, {3})
    assert world.kafka.topics.own["payments"] == {}
    world.kafka.create_topic("clicks", partitions=3, rf=3, min_isr=1)
    adopt_topic(world, "clicks")
    world.converge(ticks=20)
    assert world.kafka.topics.own["clicks"] == {"min.insync.replicas": "1"}
    assert not troubles(world)


def topic_replicas_change(world: World) -> None:
    """1 -> 3 replicas in a throttled batch, a rack each; 3 -> 2 one replica at a time."""
    _born(world)
    declare_topics(world, topic_text("payments", partitions=6, replicas=1, tier="scratch"))
    world.converge(ticks=20)
    world.kafka.write("payments", 600_000)
    declare_topics(world, topic_text("payments", partitions=6, replicas=3, config="{min.insync.replicas: 2}"))
    world.converge(ticks=400)
    assert shape(world, "payments") == (6, {3})
    brokers = world.kafka.snapshot().brokers
    for p in world.kafka.partitions():
        assert len({brokers[b].rack for b in p.replicas}) == 3
    declare_topics(world, topic_text("payments", partitions=6, replicas=2, config="{min.insync.replicas: 1}"))
    world.converge(ticks=400)
    assert shape(world, "payments") == (6, {2})
    assert not world.kafka.snapshot().throttles.any


def topic_refused_by_kafka(world: World) -> None:
    """Kafka's words are told of this topic; its neighbour is made, and the cluster goes on."""
    _born(world)
    world.kafka.create_topic("a.b", partitions=1, rf=3)
    declare_topics(world, topic_text("a_b"), topic_text("clicks"))
    world.converge(ticks=20)
    assert troubles(world) == {"a_b": "Refused"}
    assert shape(world, "clicks") == (3, {3})
    assert world.view().conditions["TopicsDegraded"].status
    world.kafka.delete_topic("a.b")
    for _ in range(70):
        world.tick()
    assert shape(world, "a_b") == (3, {3})
    assert not world.view().conditions["TopicsDegraded"].status


def topic_made_during_a_roll(world: World) -> None:
    """A roll takes its time; nobody's topic waits for it, and none is put on the broker that leaves."""
    _born(world)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(version="4.2.0"))
    world.run(until=is_copying, ticks=200)
    leaving = drain_of(world).outgoing
    declare_topics(world, topic_text("payments"))
    for _ in range(3):
        world.tick()
    assert shape(world, "payments") == (3, {3})
    assert not any(b in p.replicas for p in world.kafka.partitions() if p.name.topic == "payments" for b in leaving)
    world.converge(ticks=900)


def topics_wait_while_paused(world: World) -> None:
    """A pause is a pause for topics too."""
    _born(world)
    world.person(facts.ClusterPaused("lunch", None))
    declare_topics(world, topic_text("payments"))
    for _ in range(10):
        world.tick()
    assert shape(world, "payments") == (0, set())
    world.person(facts.ClusterResumed("done"))
    world.converge(ticks=20)
    assert shape(world, "payments") == (3, {3})


def topic_min_isr_waits_for_a_restart(world: World) -> None:
    """A broker was told to start anew and has not heard it yet: nobody counts on its replica, whatever the ISR says."""
    _born(world)
    declare_topics(world, topic_text("payments", partitions=6, replicas=2, config="{min.insync.replicas: 1}"))
    world.converge(ticks=60)
    world.machines.vms["brokers-a-0.g1"].deaf = True
    world.declare(a_document(config=", config: {num.partitions: 6}"))
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=60)
    declare_topics(world, topic_text("payments", partitions=6, replicas=2, config="{min.insync.replicas: 2}"))
    for _ in range(6):
        world.tick()
    assert troubles(world) == {"payments": "MinIsrWaits"}
    assert world.kafka.topics.own["payments"] == {"min.insync.replicas": "1"}
    world.machines.vms["brokers-a-0.g1"].deaf = False
    world.converge(ticks=200)
    for _ in range(60):
        world.tick()
    assert world.kafka.topics.own["payments"] == {"min.insync.replicas": "2"}
    assert not troubles(world)


STORIES: tuple[Callable[[World], None], ...] = (
    topic_lives,
    topic_retained,
    topic_changed_by_hand,
    topic_deleted_outside,
    topic_adopted,
    topic_replicas_change,
    topic_refused_by_kafka,
    topic_made_during_a_roll,
    topics_wait_while_paused,
    topic_min_isr_waits_for_a_restart,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.__name__)
def test_the_story_of_topics_is_told_as_recorded(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)


def test_a_topic_that_is_tried_again_in_vain_is_told_anew_and_not_in_hand_for_ever() -> None:
    world = World(seed=7)
    _born(world)
    declare_topics(world, topic_text("payments"))
    world.converge(ticks=20)
    world.kafka.delete_topic("payments")
    for _ in range(70):
        world.tick()
    assert troubles(world) == {"payments": "Missing"}
    world.person(facts.ClusterResumed("look again"))
    for _ in range(5):
        world.tick()
    assert troubles(world) == {"payments": "Missing"}
    assert not has_work(world.view())
