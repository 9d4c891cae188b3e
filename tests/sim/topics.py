"""Topics of a simulated cluster: declared, adopted and deleted through the decisions that answer the API."""

from typing import Any

from controlplane.cluster.commands import (
    AdoptTopic,
    CancelReplicationFactor,
    ChangeReplicationFactor,
    DeclareTopics,
    DeleteTopic,
    TopicDeclared,
)
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.factors import factor_asked, factor_cancelled
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.topics import topic_adopted, topic_deleted, topic_news
from events.spec.document import load_documents
from tests.sim.world import World

FILE = "topics.yaml"


def topic_text(name: str, *, partitions: int = 3, cluster: str = "orders", **spec: Any) -> str:
    """A topic's document. Values are written as YAML writes them; `replicas` is 3 without another word."""
    lines = {"cluster": cluster, "partitions": partitions, "replicas": 3, **spec}
    body = "\n".join(f"  {key}: {value}" for key, value in lines.items())
    return f"apiVersion: kedge/v1alpha1\nkind: KafkaTopic\nmetadata: {{name: {name}}}\nspec:\n{body}\n"


def declared(*texts: str) -> tuple[TopicDeclared, ...]:
    """The topics of a file. Raises AssertionError with its problems."""
    loaded = load_documents("---\n".join(texts), file=FILE)
    assert loaded.ok, loaded.problems
    return tuple(TopicDeclared(t, at) for t, at in zip(loaded.topics, loaded.topic_positions, strict=True))


def declare_topics(world: World, *texts: str) -> None:
    """As `kedge apply -f topics.yaml`."""
    command = DeclareTopics(
        name="orders",
        actor="person:anna",
        command_id=f"t{world.ticks}",
        topics=declared(*texts),
        source="api",
        path=FILE,
    )
    _record(world, topic_news(world.view(), command))


def adopt_topic(world: World, name: str) -> None:
    """As `kedge topic adopt orders NAME`."""
    command = AdoptTopic(name="orders", actor="person:anna", command_id=f"t{world.ticks}", topic=name, reason="ours")
    _record(world, topic_adopted(world.view(), command, Lookups(kafka=world.kafka.snapshot())))


def delete_topic(world: World, name: str, *, retain: bool = False) -> None:
    """As `kedge topic delete orders NAME --confirm NAME`."""
    command = DeleteTopic(
        name="orders",
        actor="person:anna",
        command_id=f"t{world.ticks}",
        topic=name,
        confirm=name,
        reason="done",
        retain=retain,
    )
    _record(world, topic_deleted(world.view(), command))


def change_factor(world: World, name: str, factor: int) -> None:
    """As `kedge replication-factor orders --topic NAME --to N`."""
    command = ChangeReplicationFactor(
        name="orders",
        actor="person:anna",
        command_id=f"t{world.ticks}",
        topics=(name,),
        factor=factor,
        reason="it matters",
    )
    _record(world, factor_asked(world.view(), command, Lookups(kafka=world.kafka.snapshot())))


def cancel_factor(world: World, name: str) -> None:
    """As `kedge replication-factor orders --topic NAME --cancel`."""
    command = CancelReplicationFactor(
        name="orders", actor="person:anna", command_id=f"t{world.ticks}", topics=(name,), reason="enough"
    )
    _record(world, factor_cancelled(world.view(), command))


def troubles(world: World) -> dict[str, str]:
    """Topics in trouble, and the reason of each."""
    return {name: trouble.reason for name, trouble in world.view().topics.troubles.items()}


def shape(world: World, name: str) -> tuple[int, set[int]]:
    """Partitions, and the numbers of replicas they have."""
    parts = [p for p in world.kafka.partitions() if p.name.topic == name]
    return len(parts), {len(p.target) for p in parts}


def _record(world: World, asked: CommandDecision) -> None:
    if asked.fact is not None:
        world.person(asked.fact)
