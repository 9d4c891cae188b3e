"""/v1/search over everything a caller may read, and /v1/fleet: the list of clusters with its words and counts."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query

from controlplane.api.paging import MOST_ON_A_PAGE, After, AfterId, Most, Turning, by_name, following
from controlplane.api.presenters.fleet import FleetRow, fleet_rows, rows_like
from controlplane.api.read_models.cluster_words import Word
from controlplane.api.schemas import messages as message_api
from controlplane.api.schemas.search import FleetOut, FleetRowOut, FoundOut, SearchOut, WordOut
from controlplane.api.search import MOST_THINGS, Hit, SearchResult, search_all
from controlplane.api.services import Services
from controlplane.background.topic_names.store import TopicHit

router = APIRouter(prefix=message_api.API_PREFIX, tags=["fleet"])

Text = Annotated[str, Query(max_length=100, description="a part of a name, id or address; `*` and `/.../` of topics")]
Part = Annotated[str, Query(max_length=100, description="a part of the name, team or environment; empty: any")]
Health = Annotated[str, Query(max_length=20, description="a word of health, as in `Degraded`; empty: any")]


@router.get("/search")
def search(
    services: Services, turn: Turning, q: Text = "", after: AfterId = "", limit: Most = MOST_ON_A_PAGE
) -> SearchOut:
    """Clusters, VMs, broker ids, addresses and topics that hold the text, of all clusters the caller may
    read. Nothing is found for an empty text."""
    found = search_all(services, q, things=MOST_THINGS, topics=MOST_THINGS)
    every = [*(_thing(hit) for hit in found.things), *(_topic(hit) for hit in found.topics.hits)]
    return _search_out(found, turn.page(following(every, lambda one: one.id, after), lambda one: one.id, limit))


@router.get("/fleet")
def fleet(
    services: Services,
    turn: Turning,
    q: Part = "",
    health: Health = "",
    after: After = "",
    limit: Most = MOST_ON_A_PAGE,
) -> FleetOut:
    """The living clusters by name, each with its team, sync and health in a word, and what ails its partitions."""
    rows = rows_like(fleet_rows(services), text=q, health=health)
    found = by_name(rows, lambda row: row.cluster.name, after=after)
    found = turn.page(found, lambda row: row.cluster.name, limit)
    return FleetOut(clusters=[_row(row) for row in found], total=len(rows))


def _search_out(found: SearchResult, page: list[FoundOut]) -> SearchOut:
    return SearchOut(
        found=page,
        things=len(found.things),
        topics=found.topics.count,
        cut=found.more_things or found.topics.cut,
        refused=found.topics.refused,
        late=found.topics.late,
        recorded=found.recorded,
        unread=found.unread,
    )


def _thing(hit: Hit) -> FoundOut:
    return FoundOut(id=hit.id, kind=hit.kind, name=hit.name, cluster=hit.cluster, detail=hit.detail, page=hit.address)


def _topic(hit: TopicHit) -> FoundOut:
    where = f"/clusters/{hit.cluster}/topics/{quote(hit.topic, safe='')}"
    return FoundOut(
        id=f"topic/{hit.cluster}/{hit.topic}", kind="topic", name=hit.topic, cluster=hit.cluster, page=where
    )


def _row(row: FleetRow) -> FleetRowOut:
    return FleetRowOut.like(row, sync=_word(row.sync), health=_word(row.health), leaderless=row.offline)


def _word(word: Word) -> WordOut:
    return WordOut(word=word.text, reason=word.why)
