"""/v1/clusters/NAME/topics: what is declared and what is there, and what is asked for single topics."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.paging import MOST_ON_A_PAGE, After, AfterId, AfterNumber, Most, PartOf, Turning
from controlplane.api.past import At, past_of
from controlplane.api.past_topics import past_topic_out, past_topics_out
from controlplane.api.presenters.topics import partitions_out, topic_out, topics_out, unhealthy_out, with_learned
from controlplane.api.previewed_commands import carry_out_or_say
from controlplane.api.problems import ApiError
from controlplane.api.read_models.partitions import behind, chosen_unhealthy, id_of, place_of, unhealthy_partitions
from controlplane.api.read_models.topic_rates import RatedTopics
from controlplane.api.read_models.topics import TopicRow, partition_rows, rows_in_order
from controlplane.api.request_identity import Heading
from controlplane.api.schemas import (
    commands as command_api,
    messages as message_api,
    topics as topic_api,
)
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import (
    AdoptTopic,
    CancelReplicationFactor,
    ChangeReplicationFactor,
    DeleteTopic,
)
from controlplane.commands.deciders.factors import factor_asked
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot

router = APIRouter(prefix=message_api.API_PREFIX, tags=["topics"])

Word = Literal["", "no leader", "below min ISR", "out of sync"]


@router.get("/clusters/{name}/topics")
def list_topics(
    request: Request,
    name: str,
    services: Services,
    turn: Turning,
    q: PartOf = "",
    after: After = "",
    limit: Most = MOST_ON_A_PAGE,
    at: At = "",
) -> topic_api.TopicsOut:
    """Every topic by name: those that are declared, and those Kafka had at the last look.

    With `at`, a position of the log or a time, those that were declared then, and those the metric lake has of then.
    """
    if at:
        past = past_of(services, name, at)
        placement = services.brokers.past_placements.then(past.view.uid, past.moment)
        out = past_topics_out(past, placement, part=q, after=after, most=limit + 1)
        return out.model_copy(update={"topics": turn.page(out.topics, lambda topic: topic.name, limit)})
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    rows = rows_of(request, services, view.uid, snapshot)
    recorded = is_recorded(services, view.uid)
    out = topics_out(view, snapshot, rows, now=services.clock(), part=q, after=after, most=limit + 1, recorded=recorded)
    return out.model_copy(update={"topics": turn.page(out.topics, lambda topic: topic.name, limit)})


@router.get("/clusters/{name}/topics/{topic}")
def get_topic(request: Request, name: str, topic: str, services: Services, at: At = "") -> topic_api.TopicOut:
    """One topic: what is declared, what is observed, and what keeps them apart.

    With `at`, a position of the log or a time, what was declared then, and where the metric lake has its partitions.
    """
    if at:
        past = past_of(services, name, at)
        out = past_topic_out(past, services.brokers.past_placements.then(past.view.uid, past.moment), topic)
        if out is None:
            title = f"no topic called {topic} of {name} is known at position {past.position}"
            raise ApiError(404, "topic-not-found", title, next_step=f"kedge describe {name} --at {past.position}")
        return out
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    row = next((r for r in rows_of(request, services, view.uid, snapshot) if r.name == topic), None)
    if row is None and topic not in view.topics.by_name:
        then = f"kedge topics {name} lists them; one made a moment ago is in the next metadata."
        raise ApiError(404, "topic-not-found", f"{name} has no topic called {topic}", next_step=then)
    return with_learned(topic_out(view, topic, row), services.cluster.latest, view.uid, services.clock())


@router.get("/clusters/{name}/topics/{topic}/partitions")
def list_partitions(
    name: str,
    topic: str,
    services: Services,
    turn: Turning,
    after: AfterNumber = -1,
    limit: Most = MOST_ON_A_PAGE,
    ailing: Annotated[bool, Query(description="those alone that lack a replica or a leader")] = False,
) -> topic_api.PartitionsOut:
    """Where the partitions of a topic are, by number, as Kafka's metadata was read last."""
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    parts = snapshot.by_topic.get(topic, ()) if snapshot else ()
    if snapshot is None or not parts:
        why = "Kafka was not read yet" if snapshot is None else "one made a moment ago is in the next metadata"
        title = f"of {name} no partitions of a topic called {topic} are known"
        raise ApiError(404, "topic-not-found", title, detail=why, next_step=f"kedge topics {name} lists topics.")
    rows = partition_rows(replace(snapshot, partitions=parts), services.fleet.clusters.behind(view.uid))
    out = partitions_out(
        view,
        topic,
        [r for r in rows if not ailing or r.ails],
        age_s=max(0.0, (services.clock() - snapshot.at).total_seconds()),
        recorded=is_recorded(services, view.uid),
        after=after,
        most=limit + 1,
    )
    return out.model_copy(update={"partitions": turn.page(out.partitions, lambda p: p.partition, limit)})


@router.get("/clusters/{name}/ailing-partitions")
def list_unhealthy(
    name: str,
    services: Services,
    turn: Turning,
    q: PartOf = "",
    state: Annotated[Word, Query(description="those alone of which this is the worst to be said")] = "",
    after: AfterId = "",
    limit: Most = MOST_ON_A_PAGE,
) -> topic_api.UnhealthyPartitionsOut:
    """The partitions of all topics that lack their leader, their min ISR or a replica in sync, the worst first, as
    Kafka's metadata was read last. Those of Kafka's own topics are among them. What `after` names may be well again.
    """
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    place = place_of(after)
    if after and place is None:
        then = "`after` takes the `id` of the last partition of the page before."
        raise ApiError(422, "after-unknown", f"{after!r} is the id of no partition", next_step=then)
    chosen = chosen_unhealthy(unhealthy_partitions(snapshot) if snapshot else (), text=q, word=state)
    page = turn.page(behind(chosen.found, place), id_of, limit)
    return unhealthy_out(
        view,
        chosen,
        rows_in_order(snapshot, page, services.fleet.clusters.behind(view.uid)) if snapshot else (),
        age_s=max(0.0, (services.clock() - snapshot.at).total_seconds()) if snapshot else None,
        recorded=snapshot is not None and is_recorded(services, view.uid),
    )


@router.post("/clusters/{name}/topics/{topic}/adopt")
def adopt_topic(topic: str, body: topic_api.AdoptTopicIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Keep a topic that was made outside Kedge."""
    command = AdoptTopic(**head, topic=topic, reason=body.reason)
    return carry_out(services, command)


@router.post("/clusters/{name}/topics/{topic}/delete")
def delete_topic(
    topic: str, body: topic_api.DeleteTopicIn, services: Services, head: Heading
) -> command_api.CommandOut:
    """The tombstone of a topic; its name must be typed out."""
    command = DeleteTopic(
        **head,
        topic=topic,
        confirm=body.confirm,
        reason=body.reason,
        retain=body.retain,
    )
    return carry_out(services, command)


@router.post("/clusters/{name}/replication-factor")
def change_replication_factor(
    body: topic_api.ReplicationFactorIn, services: Services, rights: Caller, head: Heading
) -> command_api.CommandOut:
    """Give topics another number of replicas; with `dry_run` only say what would come of it."""
    command = ChangeReplicationFactor(
        **head,
        reason=body.reason,
        topics=tuple(body.topics),
        factor=body.factor,
        below_min_isr=body.below_min_isr,
    )
    return carry_out_or_say(services, rights, command, factor_asked, dry_run=body.dry_run)


@router.post("/clusters/{name}/replication-factor/cancel")
def cancel_replication_factor(
    body: topic_api.CancelReplicationFactorIn, services: Services, head: Heading
) -> command_api.CommandOut:
    """The batch in hand ends, nothing more begins, what moved stays."""
    return carry_out(services, CancelReplicationFactor(**head, reason=body.reason, topics=tuple(body.topics)))


def topics_seen(services: PortalServices, uid: ClusterUid) -> KafkaSnapshot | None:
    """Where topics are by the last look of this server, else by what another one, or this one before its start,
    recorded. Of the latter nothing but partitions is known. Raises StoreUnavailable.
    """
    return services.fleet.clusters.last_snapshot(uid) or services.brokers.placements.of(uid)


def is_recorded(services: PortalServices, uid: ClusterUid) -> bool:
    """Whether what `topics_seen` tells was not read by this server."""
    return services.fleet.clusters.last_snapshot(uid) is None


def rows_of(
    request: Request, services: PortalServices, uid: ClusterUid, snapshot: KafkaSnapshot | None
) -> Sequence[TopicRow]:
    """Every topic of the snapshot with what is written to it, for the API and the pages; none before the first one."""
    rows: RatedTopics = request.app.state.rated_topics
    return rows.of(uid, snapshot, services.fleet.clusters.traffic(uid)) if snapshot else ()
