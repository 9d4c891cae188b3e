"""/v1/loop and /v1/events: how the loop does, and the whole log as far as a caller may read it."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.event_log import EventQuery, FoundEvents, browse, redacted_event
from controlplane.api.event_stream import AT_ONCE, EVENT_STREAM, Watch, event_messages, grown
from controlplane.api.feed import MAX_WAIT_S
from controlplane.api.moments import Moment
from controlplane.api.presenters.clusters import in_utc
from controlplane.api.presenters.loop import log_out, loop_out
from controlplane.api.problems import ApiError
from controlplane.api.read_models.event_tail import Tailer
from controlplane.api.schemas import messages as message_api
from controlplane.api.schemas.loop import LogOut, LoopOut
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import ClusterNotFound
from events.ids import ClusterUid

router = APIRouter(prefix=message_api.API_PREFIX, tags=["system"])

Word = Annotated[str, Query(max_length=200)]


@router.get("/loop")
def get_loop(services: Services, rights: Caller) -> LoopOut:
    """How the loop of this server does: its last beats, how far it is behind the log, timers, jobs, poisoned clusters.

    For administrators: it tells of every cluster.
    """
    return loop_of(services, rights)


@router.get(
    "/events",
    response_model=LogOut,
    responses={
        200: {
            "description": "a page of the log; to a program that accepts `text/event-stream`, the log as it grows",
            "content": {EVENT_STREAM: {"schema": {"type": "string"}}},
        },
        404: {"description": "there is no cluster of that name that the caller may read"},
    },
)
async def get_log(
    request: Request,
    services: Services,
    rights: Caller,
    cluster: Word = "",
    kind: Annotated[str, Query(alias="type", max_length=200, description="how the type begins, as in `drain.`")] = "",
    actor: Annotated[str, Query(max_length=200, description="a part of who did it")] = "",
    since: Moment | None = None,
    until: Moment | None = None,
    before: Annotated[int, Query(ge=0, description="only events below this position")] = 0,
    after: Annotated[int | None, Query(ge=0, description="only events above this position, oldest first")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    wait_s: Annotated[
        float, Query(ge=0, le=MAX_WAIT_S, description="with `after`: how long to wait for the first event")
    ] = 0.0,
    last_event_id: Annotated[str, Header(description="of a stream: goes before `after`")] = "",
) -> Response:
    """Events of all clusters a caller may read, newest first; with `after` oldest first.

    What concerns no single cluster is shown to those who may read everything. With `Accept: text/event-stream` the
    answer is a stream of what is recorded from then on, or after `Last-Event-ID` or `after`: each message is one event
    as in a page, its id the position. It ends with the message `over` when the token does, or its rights change.
    """
    asked = EventQuery(
        type=kind.strip(),
        actor=actor.strip(),
        since=in_utc(since),
        until=in_utc(until),
        before=before,
        after=after,
        limit=limit,
    )
    tailer: Tailer = request.app.state.tailer
    watch = Watch(rights, request.state.recheck, tailer.recheck_every_s)

    def read(asked: EventQuery) -> LogOut:
        return log_out(*log_of(services, rights, asked, cluster=cluster))

    streams = EVENT_STREAM in request.headers.get("accept", "")
    if (streams or wait_s) and tailer.is_too_much(rights.subject):
        then = "Close some of them; one stream tells of every cluster."
        raise ApiError(429, "too-many-streams", "too many streams and waiting calls of one person", next_step=then)
    if streams:
        is_position = last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 19
        begins_after = int(last_event_id) if is_position else after
        # The first look refuses what makes no sense, while the answer can still say so.
        await run_in_threadpool(read, replace(asked, limit=1))
        messages = event_messages(
            tailer, watch, lambda position: read(replace(asked, after=position, limit=AT_ONCE)), begins_after
        )
        return StreamingResponse(messages, media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})
    deadline, page = time.monotonic() + wait_s, await run_in_threadpool(read, asked)
    while after is not None and not page.events and (left_s := deadline - time.monotonic()) > 0:
        # What others may read and this caller may not makes the log longer too.
        if not await grown(tailer, watch, page.head, left_s):
            break
        page = await run_in_threadpool(read, asked)
    return Response(page.model_dump_json(), media_type="application/json")


def loop_of(services: PortalServices, rights: Rights) -> LoopOut:
    """For the API and the page. Raises Forbidden, StoreUnavailable."""
    rights.require_everywhere(Verb.ADMINISTER, "the loop")
    load = services.operations.load.figures(services.operations.database_trouble())
    return loop_out(
        services.operations.loop.status(),
        services.operations.leadership,
        services.fleet.clusters.views(),
        load,
        now=services.clock(),
    )


def log_of(
    services: PortalServices, rights: Rights, asked: EventQuery, *, cluster: str = ""
) -> tuple[FoundEvents, Mapping[ClusterUid, str]]:
    """A page of the log and the names of its clusters, as far as the caller may read; of one cluster by its name.

    Raises ClusterNotFound.
    """
    services.fleet.clusters.catch_up()
    names = {view.uid: view.name for view in services.fleet.clusters.views()}
    only = [uid for uid, name in names.items() if name == cluster] if cluster else None
    if only == []:
        raise ClusterNotFound(cluster)
    others = rights.may_everywhere(Verb.READ)
    found = browse(services.store, replace(asked, clusters=names.keys(), others=others, only=only))
    without_others = services.cluster.without_others()
    return replace(found, events=[redacted_event(event, without_others) for event in found.events]), names
