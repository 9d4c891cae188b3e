"""/v1/clusters/NAME/topics: what is declared and what is there, and what is asked for single topics."""

from dataclasses import replace

from fastapi import APIRouter

from controlplane.commands import AdoptTopic, DeleteTopic
from controlplane.portal import schemas as api
from controlplane.portal import topicschemas as topic_api
from controlplane.portal.auth import Actor
from controlplane.portal.pages.topicrows import topic_rows
from controlplane.portal.problems import ApiError
from controlplane.portal.routes.clusters import CommandId, carry_out, living
from controlplane.portal.services import Services
from controlplane.portal.topicanswers import topic_out, topics_out

router = APIRouter(prefix=api.API_PREFIX, tags=["topics"])


@router.get("/clusters/{name}/topics")
def list_topics(name: str, services: Services) -> topic_api.TopicsOut:
    """Every topic by name: those that are declared, and those Kafka had at the last look."""
    view = living(services, name)
    return topics_out(view, services.fleet.last_snapshot(view.uid), now=services.clock())


@router.get("/clusters/{name}/topics/{topic}")
def get_topic(name: str, topic: str, services: Services) -> topic_api.TopicOut:
    """One topic: what is declared, what is observed, and what keeps them apart."""
    view = living(services, name)
    snapshot = services.fleet.last_snapshot(view.uid)
    alone = snapshot and replace(snapshot, partitions=tuple(p for p in snapshot.partitions if p.name.topic == topic))
    row = next(iter(topic_rows(alone)), None) if alone else None
    if row is None and topic not in view.topics.by_name:
        then = f"kedge topics {name} lists them; one made a moment ago is in the next metadata."
        raise ApiError(404, "topic-not-found", f"{name} has no topic called {topic}", next_step=then)
    return topic_out(view, topic, row)


@router.post("/clusters/{name}/topics/{topic}/adopt")
def adopt_topic(
    name: str, topic: str, body: topic_api.AdoptTopicIn, services: Services, actor: Actor, key: CommandId
) -> api.CommandOut:
    """Keep a topic that was made outside Kedge."""
    command = AdoptTopic(name=name, actor=actor, command_id=key, topic=topic, reason=body.reason)
    return carry_out(services, command)


@router.post("/clusters/{name}/topics/{topic}/delete")
def delete_topic(
    name: str, topic: str, body: topic_api.DeleteTopicIn, services: Services, actor: Actor, key: CommandId
) -> api.CommandOut:
    """The tombstone of a topic; its name must be typed out."""
    command = DeleteTopic(
        name=name,
        actor=actor,
        command_id=key,
        topic=topic,
        confirm=body.confirm,
        reason=body.reason,
        retain=body.retain,
    )
    return carry_out(services, command)
