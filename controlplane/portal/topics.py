"""The topics of a cluster as its last metadata has them: a table, the same as CSV, and a page for each topic."""

from dataclasses import fields, replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.topics import state_of, topic_out, with_learned
from controlplane.api.problems import ApiError
from controlplane.api.read_models.partitions import chosen_unhealthy, unhealthy_partitions
from controlplane.api.read_models.topics import AILMENTS, SORTS, TopicRow, chosen_topics, partition_rows, rows_in_order
from controlplane.api.routes.topics import is_recorded, rows_of, topics_seen
from controlplane.api.services import Services
from controlplane.cluster.view import ClusterView
from controlplane.portal.cluster import head_of
from controlplane.portal.csv_rows import csv_answer
from controlplane.portal.frame import page
from planner.observed import KafkaSnapshot

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

MOST_ROWS = 500
"""Shown on one page; others follow it, the search narrows them down, the CSV has all."""
MOST_SKIPPED = 10_000_000

Text = Annotated[str, Query(max_length=250)]


@router.get("/topics")
def topics(
    request: Request,
    name: str,
    services: Services,
    rights: Caller,
    q: Text = "",
    sort: Text = "name",
    down: bool = False,
    internal: bool = False,
    ailing: bool = False,
    state: Text = "",
    skip: Annotated[int, Query(ge=0, le=MOST_SKIPPED)] = 0,
) -> Response:
    """The table. Topics of Kafka and Kedge themselves are there where they are asked for, or searched by their name.

    With `skip`, those after so many of them; the first ones where there are no more than that. With `ailing` the
    partitions that ail in their place, of every topic, those of Kafka itself too; `state`: those alone of one word.
    """
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    if ailing and snapshot is not None:
        return _unhealthy_page(request, services, rights, view, snapshot, q, state, skip)
    every = rows_of(request, services, view.uid, snapshot)
    shows = internal or q.strip().startswith("__")
    found = chosen_topics(every, text=q, sort=sort, down=down, internal=shows)
    begin = skip if skip < len(found) else 0
    rows = found[begin : begin + MOST_ROWS]
    return page(
        request,
        "topics.html",
        head=head_of(request, services, rights, view),
        tab="topics",
        rows=rows,
        states={r.name: state_of(view, r.name) for r in rows},
        found=len(found),
        begin=begin,
        most_rows=MOST_ROWS,
        total=len(every),
        internal=internal,
        kafkas_own=sum(r.internal for r in every),
        ails=len(unhealthy_partitions(snapshot)) if snapshot is not None else 0,
        snapshot=snapshot,
        recorded=is_recorded(services, view.uid),
        rates=services.fleet.clusters.traffic(view.uid).words(services.clock()),
        q=q,
        sort=sort if sort in SORTS else "name",
        down=down,
    )


def _unhealthy_page(
    request: Request,
    services: Services,
    rights: Caller,
    view: ClusterView,
    snapshot: KafkaSnapshot,
    q: str,
    state: str,
    skip: int,
) -> Response:
    every = unhealthy_partitions(snapshot)
    word = state if state in AILMENTS else ""
    chosen = chosen_unhealthy(every, text=q, word=word)
    found = chosen.found
    begin = skip if skip < len(found) else 0
    shown = found[begin : begin + MOST_ROWS]
    return page(
        request,
        "unhealthy.html",
        head=head_of(request, services, rights, view),
        tab="topics",
        rows=rows_in_order(snapshot, shown, services.fleet.clusters.behind(view.uid)),
        found=len(found),
        begin=begin,
        most_rows=MOST_ROWS,
        by_word=chosen.by_word,
        word=word,
        total=len(every),
        topics=len(snapshot.by_topic),
        snapshot=snapshot,
        recorded=is_recorded(services, view.uid),
        q=q,
        ours=frozenset(i.service_id for i in view.brokers()),
    )


@router.get("/topics.csv")
def topics_csv(
    request: Request, name: str, services: Services, q: Text = "", sort: Text = "name", down: bool = False
) -> Response:
    """All rows that match as comma-separated values. Without metadata there is nothing to put into it: 409."""
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    if snapshot is None:
        then = "Try again when its brokers are up: the cluster's page says what it waits for."
        raise ApiError(409, "kafka-unknown", f"Kafka of {name} was not read yet by any server", next_step=then)
    rows = chosen_topics(rows_of(request, services, view.uid, snapshot), text=q, sort=sort, down=down)
    return csv_answer(f"{view.name}-topics.csv", [f.name for f in fields(TopicRow)], rows)


@router.get("/topics/{topic}")
def topic_detail(
    request: Request, name: str, topic: str, services: Services, rights: Caller, ailing: bool = False
) -> Response:
    """One topic, a row a partition; with `ailing` those alone that lack a replica or a leader."""
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    alone = snapshot and replace(snapshot, partitions=snapshot.by_topic.get(topic, ()))
    every = partition_rows(alone, services.fleet.clusters.behind(view.uid)) if alone else []
    if snapshot is not None and not every:
        then = f"The topics of {name} are listed on its page; one made a moment ago is in the next metadata."
        raise ApiError(404, "topic-not-found", f"{name} has no topic called {topic}", next_step=then)
    shown = [r for r in every if r.ails] if ailing else every
    known = view.topics.by_name.get(topic)
    return page(
        request,
        "topic.html",
        head=head_of(request, services, rights, view),
        tab="topics",
        topic=topic,
        kept=with_learned(topic_out(view, topic, None), services.cluster.latest, view.uid, services.clock()),
        row=next((r for r in rows_of(request, services, view.uid, snapshot) if r.name == topic), None),
        rows=shown[:MOST_ROWS],
        found=len(shown),
        ails=sum(r.ails for r in every),
        snapshot=snapshot,
        recorded=is_recorded(services, view.uid),
        ailing=ailing,
        is_dying=known is not None and bool(known.tombstone),
        is_adoptable=not (snapshot and snapshot.owner_of(topic))
        and (known is None or not (known.owned or known.tombstone)),
        ours=frozenset(i.service_id for i in view.brokers()),
    )
