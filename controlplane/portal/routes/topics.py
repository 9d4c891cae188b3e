"""/v1/clusters/NAME/topics: what is declared and what is there, and what is asked for single topics."""

from collections.abc import Sequence

from fastapi import APIRouter, Request

from controlplane.commands import AdoptTopic, DeleteTopic
from controlplane.portal import schemas as api
from controlplane.portal import topicschemas as topic_api
from controlplane.portal.auth import Actor
from controlplane.portal.pages.topicrates import RatedTopics
from controlplane.portal.pages.topicrows import TopicRow
from controlplane.portal.problems import ApiError
from controlplane.portal.routes.clusters import After, CommandId, Most, PartOf, carry_out, living
from controlplane.portal.services import PortalServices, Services
from controlplane.portal.topicanswers import topic_out, topics_out, with_learned
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot

router = APIRouter(prefix=api.API_PREFIX, tags=["topics"])


@router.get("/clusters/{name}/topics")
def list_topics(
    request: Request, name: str, services: Services, q: PartOf = "", after: After = "", limit: Most = None
) -> topic_api.TopicsOut:
    """Every topic by name: those that are declared, and those Kafka had at the last look."""
    view = living(services, name)
    snapshot = services.fleet.last_snapshot(view.uid)
    rows = rows_of(request, services, view.uid, snapshot)
    return topics_out(view, snapshot, rows, now=services.clock(), part=q, after=after, most=limit)


@router.get("/clusters/{name}/topics/{topic}")
def get_topic(request: Request, name: str, topic: str, services: Services) -> topic_api.TopicOut:
    """One topic: what is declared, what is observed, and what keeps them apart."""
    view = living(services, name)
    snapshot = services.fleet.last_snapshot(view.uid)
    row = next((r for r in rows_of(request, services, view.uid, snapshot) if r.name == topic), None)
    if row is None and topic not in view.topics.by_name:
        then = f"kedge topics {name} lists them; one made a moment ago is in the next metadata."
        raise ApiError(404, "topic-not-found", f"{name} has no topic called {topic}", next_step=then)
    return with_learned(topic_out(view, topic, row), services.latest, view.uid, services.clock())


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


def rows_of(
    request: Request, services: PortalServices, uid: ClusterUid, snapshot: KafkaSnapshot | None
) -> Sequence[TopicRow]:
    """Every topic of the snapshot with what is written to it, for the API and the pages; none before the first one."""
    rows: RatedTopics = request.app.state.rated_topics
    return rows.of(uid, snapshot, services.fleet.traffic(uid)) if snapshot else ()
